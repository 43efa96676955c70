#include "client/cli/hand.h"

#include "client/cli/await.h"
#include "client/controller/reconcile.h"
#include "core/base/error.h"
#include "core/base/status_macros.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <utility>

namespace penstock::client {
namespace {

const PipelineConnector* Find(const ControllerOptions& options,
                              const std::string& connector) {
  for (const PipelineConnector& each : options.connectors) {
    if (each.name == connector) return &each;
  }
  return nullptr;
}

absl::Status CheckIncarnation(const ControllerOptions& options,
                              const StoredPipeline& stored) {
  if (options.incarnation.value_or(stored.incarnation) == stored.incarnation) {
    return absl::OkStatus();
  }
  return core::MakeError(
      core::Reason::INVALID_CONFIG,
      absl::StrCat("driving pipeline '", options.pipeline,
                   "': the store has incarnation '", stored.incarnation,
                   "', the pipeline file '", *options.incarnation,
                   "'; this is another pipeline's store"),
      {{"field", "incarnation"}});
}

}  // namespace

absl::StatusOr<Hand> Hand::Take(core::Control& control, StateStore& store,
                                const ControllerOptions& options,
                                const std::string& connector) {
  const PipelineConnector* const configured = Find(options, connector);
  if (configured == nullptr) {
    return core::MakeError(core::Reason::INVALID_CONFIG,
                           absl::StrCat("pipeline '", options.pipeline,
                                        "' has no connector '", connector, "'"),
                           {{"field", "connectors"}});
  }
  ASSIGN_OR_RETURN(StoredPipeline stored,
                   Await<StoredPipeline>([&](auto reply) {
                     store.TakeLeadership(std::move(reply));
                   }));
  RETURN_IF_ERROR(CheckIncarnation(options, stored));
  return Hand(control, store, options, *configured, std::move(stored));
}

Hand::Hand(core::Control& control, StateStore& store, ControllerOptions options,
           const PipelineConnector& configured, StoredPipeline stored)
    : control_(control),
      store_(store),
      options_(std::move(options)),
      fence_({.pipeline = options_.pipeline,
              .controller_id = options_.controller_id,
              .epoch = stored.epoch,
              .nonce = options_.nonce}),
      incarnation_(std::move(stored.incarnation)),
      name_(configured.name),
      level_asked_(configured.level),
      configured_(configured.spec_bytes),
      stored_(std::move(stored.connectors[name_])),
      journal_(stored_.base_steps, stored_.position,
               std::exchange(stored_.journal, {})) {}

core::CommandHeader Hand::Header() const {
  return {.fence = fence_,
          .ref = {.connector = name_, .instance = status_.instance},
          .released_steps = std::nullopt,
          .request_id = {}};
}

core::CommandHeader Hand::NewHeader() {
  core::CommandHeader header = Header();
  header.request_id = absl::StrCat(options_.nonce, "-", ++requests_);
  return header;
}

absl::Status Hand::Commit(StoreTransaction transaction) {
  return AwaitStatus([&](auto done) {
    store_.Commit(fence_.epoch, std::move(transaction), std::move(done));
  });
}

bool Hand::IsExactlyOnce() const {
  return status_.level == core::FtModel::kExactlyOnce;
}

absl::Status Hand::MakeRoom(bool reopen) {
  if (reopen) {
    // Whatever life there is.
    RETURN_IF_ERROR(Await<core::DisconnectReply>([&](auto reply) {
                      control_.Delete(
                          NewHeader(),
                          {.deadline = options_.disconnect_deadline},
                          std::move(reply));
                    }).status());
  } else {
    const absl::Status found = Await<core::ConnectorStatus>([&](auto reply) {
                                 control_.Get(name_, std::move(reply));
                               }).status();
    if (found.ok()) {
      return core::MakeError(
          core::Reason::ALREADY_EXISTS,
          absl::StrCat("opening connector '", name_,
                       "': it is open already; go on with it, or --reopen"),
          {{"connector", name_}});
    }
    if (!core::HasReason(found, core::Reason::NO_SUCH_CONNECTOR)) return found;
  }
  ControllerOptions options = options_;
  std::erase_if(options.connectors, [this](const PipelineConnector& each) {
    return each.name != name_;
  });
  StoredPipeline pipeline;
  // One that was never stored is new.
  if (!stored_.spec_bytes.empty()) {
    stored_.journal = Rows();
    pipeline.connectors.emplace(name_, stored_);
  }
  ASSIGN_OR_RETURN(StoreTransaction reconciled, Reconcile(options, pipeline));
  if (!reconciled.IsEmpty()) {
    RETURN_IF_ERROR(Commit(std::move(reconciled)));
  }
  stored_ = std::move(pipeline.connectors[name_]);
  stored_.journal.clear();
  return absl::OkStatus();
}

std::vector<core::StepResult> Hand::Rows() const {
  std::vector<core::StepResult> rows;
  core::Step step = journal_.base_steps();
  while (const auto row = journal_.At(step)) {
    rows.push_back(*row);
    step = row->step + 1;
  }
  return rows;
}

absl::StatusOr<Hand::Opened> Hand::Open(bool reopen) {
  RETURN_IF_ERROR(MakeRoom(reopen));
  const uint64_t open_number = stored_.open_number + 1;
  StoreTransaction reserve;
  reserve.reserve_writers.push_back({name_, open_number});
  RETURN_IF_ERROR(Commit(std::move(reserve)));
  stored_.open_number = open_number;
  core::OpenRequest request;
  request.fence = fence_;
  request.request_id = NewHeader().request_id;
  request.spec.name = name_;
  request.spec.level = level_asked_;
  request.spec_bytes = stored_.spec_bytes;
  request.incarnation = incarnation_;
  request.writer = {fence_.epoch, open_number};
  request.base_steps = journal_.base_steps();
  request.first_open = !stored_.opened;
  request.position = journal_.position();
  request.journaled_steps = journal_.journaled_steps();
  ASSIGN_OR_RETURN(core::OpenReply opened,
                   Await<core::OpenReply>([&](auto reply) {
                     control_.Open(std::move(request), std::move(reply));
                   }));
  status_.instance = opened.instance;
  if (!stored_.opened) {
    StoreTransaction transaction;
    transaction.opened.push_back({name_, opened.position});
    RETURN_IF_ERROR(Commit(std::move(transaction)));
    stored_.opened = true;
  }
  // To be said again after every open.
  RETURN_IF_ERROR(AwaitStatus([&](auto done) {
    control_.CommitCheckpoint(Header(), {.steps = journal_.base_steps()},
                              std::move(done));
  }));
  return Opened{.reply = std::move(opened), .steps_to_replay = journal_.rows()};
}

absl::Status Hand::Look() {
  if (!stored_.opened) {
    return core::MakeError(
        core::Reason::ILLEGAL_TRANSITION,
        absl::StrCat("commanding connector '", name_,
                     "': no open of it was stored; open it, with --reopen if "
                     "it lives"),
        {{"connector", name_}});
  }
  ASSIGN_OR_RETURN(status_, Await<core::ConnectorStatus>([&](auto reply) {
                     control_.Get(name_, std::move(reply));
                   }));
  const std::vector<core::Step> retained = status_.retained_steps;
  for (const core::Step step : retained) {
    if (step < journal_.journaled_steps()) continue;
    core::QueueRequest again;
    again.step = step;
    again.previous_steps = journal_.journaled_steps();
    RETURN_IF_ERROR(Ask(again).status());
  }
  return absl::OkStatus();
}

absl::StatusOr<core::QueueReply> Hand::Ask(const core::QueueRequest& request) {
  ASSIGN_OR_RETURN(core::QueueReply answer,
                   Await<core::QueueReply>([&](auto reply) {
                     control_.Queue(Header(), request, std::move(reply));
                   }));
  if (answer.result != nullptr) {
    RETURN_IF_ERROR(Journal(answer.result));
  }
  return answer;
}

absl::Status Hand::Journal(std::shared_ptr<const core::StepResult> result) {
  if (!IsExactlyOnce()) {
    // Nothing is replayed; the worker keeps it until it is released.
    journal_.Note(*result);
    return absl::OkStatus();
  }
  StoreTransaction transaction;
  transaction.journal.push_back({name_, *result});
  RETURN_IF_ERROR(Commit(std::move(transaction)));
  journal_.Append(std::move(result));
  return absl::OkStatus();
}

absl::StatusOr<std::optional<Hand::Replayed>> Hand::ReplayNext() {
  RETURN_IF_ERROR(Look());
  const auto row = journal_.At(status_.made_steps);
  if (row == nullptr) return std::nullopt;
  ASSIGN_OR_RETURN(
      core::ReplayReply replayed, Await<core::ReplayReply>([&](auto reply) {
        control_.Replay(Header(),
                        {.result = *row, .previous_steps = status_.made_steps},
                        std::move(reply));
      }));
  return Replayed{.step = row->step, .reply = replayed};
}

absl::Status Hand::SetPaused(bool paused) {
  StoreTransaction transaction;
  transaction.user_paused.push_back({name_, paused});
  return Commit(std::move(transaction));
}

absl::Status Hand::Extend() {
  RETURN_IF_ERROR(Look());
  if (const auto row = journal_.At(status_.made_steps); row != nullptr) {
    return core::MakeError(
        core::Reason::ILLEGAL_TRANSITION,
        absl::StrCat("extending connector '", name_, "': step ", row->step,
                     " is journaled and was not replayed; replay first"),
        {{"verb", "extend"}});
  }
  RETURN_IF_ERROR(AwaitStatus(
      [&](auto done) { control_.Extend(NewHeader(), std::move(done)); }));
  return SetPaused(false);
}

absl::Status Hand::Pause() {
  RETURN_IF_ERROR(Look());
  RETURN_IF_ERROR(AwaitStatus(
      [&](auto done) { control_.Pause(NewHeader(), std::move(done)); }));
  return SetPaused(true);
}

absl::StatusOr<core::QueueReply> Hand::Queue(core::QueueRequest request) {
  RETURN_IF_ERROR(Look());
  request.previous_steps = std::max(status_.made_steps, journal_.base_steps());
  request.step = std::max(stored_.reserved_steps, request.previous_steps);
  StoreTransaction reserve;
  reserve.reserve_steps.push_back({name_, request.step + 1});
  RETURN_IF_ERROR(Commit(std::move(reserve)));
  stored_.reserved_steps = request.step + 1;
  return Ask(request);
}

absl::StatusOr<core::Step> Hand::Release() {
  RETURN_IF_ERROR(Look());
  core::CommandHeader header = Header();
  header.released_steps =
      IsExactlyOnce() ? journal_.journaled_steps() : status_.made_steps;
  const core::Step released = *header.released_steps;
  RETURN_IF_ERROR(AwaitStatus([&](auto done) {
    control_.Release(std::move(header), std::move(done));
  }));
  return released;
}

absl::StatusOr<Hand::Checkpointed> Hand::Checkpoint(absl::Duration deadline) {
  RETURN_IF_ERROR(Look());
  if (!journal_.cut().has_value() &&
      status_.made_steps > journal_.base_steps()) {
    return core::MakeError(
        core::Reason::NOT_COMPLETED,
        absl::StrCat("taking a checkpoint of connector '", name_,
                     "': no step above ", journal_.base_steps(),
                     " is known that it could stand at: the last one is a "
                     "barrier or, below exactly_once, was released before; "
                     "queue another one"));
  }
  const ConnectorJournal::Cut cut =
      journal_.cut().value_or(ConnectorJournal::Cut{
          journal_.base_steps(), journal_.position().value_or("null")});
  Checkpointed result{.steps = cut.steps, .reply = {}};
  ASSIGN_OR_RETURN(
      result.reply, Await<core::PrepareCheckpointReply>([&](auto reply) {
        control_.PrepareCheckpoint(Header(),
                                   {.steps = cut.steps, .deadline = deadline},
                                   std::move(reply));
      }));
  if (!result.reply.ready) return result;
  StoreTransaction transaction;
  transaction.checkpoints.push_back(
      {name_, cut.steps, cut.position, stored_.spec_bytes});
  RETURN_IF_ERROR(Commit(std::move(transaction)));
  RETURN_IF_ERROR(AwaitStatus([&](auto done) {
    control_.CommitCheckpoint(Header(), {.steps = cut.steps}, std::move(done));
  }));
  return result;
}

absl::StatusOr<core::DisconnectReply> Hand::Disconnect(
    absl::Duration deadline) {
  RETURN_IF_ERROR(Look());
  ASSIGN_OR_RETURN(core::DisconnectReply disconnected,
                   Await<core::DisconnectReply>([&](auto reply) {
                     control_.Disconnect(NewHeader(), {.deadline = deadline},
                                         std::move(reply));
                   }));
  RETURN_IF_ERROR(Await<core::DisconnectReply>([&](auto reply) {
                    control_.Delete(NewHeader(), {.deadline = deadline},
                                    std::move(reply));
                  }).status());
  return disconnected;
}

}  // namespace penstock::client
