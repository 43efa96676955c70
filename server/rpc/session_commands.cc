#include "server/rpc/session_commands.h"

#include "core/base/error.h"
#include "proto/penstock/v1/status.pb.h"
#include "proto/wire/header.h"
#include "proto/wire/session_lane.h"
#include "proto/wire/status.h"
#include "proto/wire/step.h"

#include <absl/strings/str_cat.h>

#include <utility>

namespace penstock::server {
namespace {

// When to ask again where too much waits.
constexpr absl::Duration kRetryDelay = absl::Milliseconds(100);

absl::Status Wrong(absl::string_view what) {
  return core::MakeError(core::Reason::INVALID_REQUEST,
                         absl::StrCat("reading a Session: ", what));
}

absl::Status TooMuch(absl::string_view what) {
  return core::WithRetryDelay(
      core::MakeError(core::Reason::BUDGET_EXCEEDED,
                      absl::StrCat("taking a command of a Session: ", what,
                                   "; ask again later")),
      kRetryDelay);
}

}  // namespace

template <typename Response>
Commands::Answer<Response> SessionCommands::AnswerOf(
    uint64_t id, Response* (v1::SessionReply::*arm)()) {
  ++tally_->unanswered;
  return [outbound = outbound_, use = use_, tally = tally_, id,
          arm](absl::StatusOr<Response> response) mutable {
    v1::WorkerMessage message;
    v1::SessionReply& reply = *message.mutable_reply();
    reply.set_id(id);
    if (response.ok()) {
      *(reply.*arm)() = *std::move(response);
    } else {
      *reply.mutable_error() = wire::StatusToProto(response.status());
    }
    outbound->Push(std::move(message));
    // Behind it: whoever counts this finds the answer.
    if (--tally->unanswered == 0 && tally->has_ended) outbound->Wake();
    use.reset();
  };
}

void SessionCommands::SetFence(const core::Fence& fence) {
  fence_ = wire::ToProto(fence);
}

void SessionCommands::Fail(uint64_t id, const absl::Status& status) {
  v1::WorkerMessage message;
  message.mutable_reply()->set_id(id);
  *message.mutable_reply()->mutable_error() = wire::StatusToProto(status);
  outbound_->Push(std::move(message));
}

absl::Status SessionCommands::OnCommand(v1::SessionCommand& command) {
  if (command.id() <= last_id_) {
    return Wrong(absl::StrCat("the id ", command.id(), " of a command follows ",
                              last_id_, "; ids rise"));
  }
  last_id_ = command.id();
  const std::string* const connector = wire::OrderedConnector(command);
  const bool is_upload = command.has_replay() || command.has_open_connector();
  if (connector == nullptr || is_upload) {
    Begin(command);
    return absl::OkStatus();
  }
  const auto waiting = waiting_.find(*connector);
  if (waiting == waiting_.end()) {
    Begin(command);
  } else if (waiting->second.size() >= kWaitingMax) {
    Fail(command.id(), TooMuch("64 others of its connector wait for data of "
                               "one before them"));
  } else {
    const uint64_t id = command.id();
    waiting->second.push_back({.id = id, .command = std::move(command)});
  }
  return absl::OkStatus();
}

absl::Status SessionCommands::OnFragment(const v1::CommandFragment& fragment) {
  const auto found = uploads_.find(fragment.id());
  if (found == uploads_.end()) {
    // Its command was answered with an error before.
    if (fragment.id() <= last_id_) return absl::OkStatus();
    return Wrong(absl::StrCat("a fragment of command ", fragment.id(),
                              " came before its command"));
  }
  Upload& upload = found->second;
  if (upload.failed.ok()) {
    upload.failed = upload.assembler.Add(fragment.fragment());
  }
  if (upload.failed.ok() && !upload.assembler.complete()) {
    return absl::OkStatus();
  }
  upload.is_whole = true;
  if (upload.open.has_value()) {
    RunUpload(fragment.id());
  } else {
    RunWaiting(std::string(upload.connector));
  }
  return absl::OkStatus();
}

void SessionCommands::OnEnd() {
  tally_->has_ended = true;
  const absl::Status cut = Wrong(
      "it was closed before all data of this command, or of one before "
      "it, had come");
  // A Replay stands in its connector's lane, and what is behind it was asked
  // for on top of it.
  for (const auto& [connector, lane] : waiting_) {
    for (const Waiting& one : lane) Fail(one.id, cut);
  }
  for (const auto& [id, upload] : uploads_) {
    if (upload.open.has_value()) Fail(id, cut);
  }
  waiting_.clear();
  uploads_.clear();
  announced_ = 0;
}

absl::Status SessionCommands::AddUpload(uint64_t id, const wire::Part& part,
                                        Upload upload) {
  if (announced_ + part.length > kFragmentBytesMax) {
    return TooMuch(absl::StrCat("it announces ", part.length, " bytes beside ",
                                announced_, " that are not used yet"));
  }
  announced_ += part.length;
  upload.announced = part.length;
  upload.is_whole = upload.assembler.complete();
  uploads_.emplace(id, std::move(upload));
  return absl::OkStatus();
}

void SessionCommands::BeginOpen(uint64_t id,
                                const v1::OpenConnectorStart& start) {
  auto decoded = wire::FromProto(start);
  if (!decoded.ok()) return Fail(id, decoded.status());
  if (!decoded->position.has_value()) {
    return commands_.Open(
        std::move(decoded->request),
        AnswerOf(id, &v1::SessionReply::mutable_open_connector));
  }
  const wire::Part part = *decoded->position;
  const absl::Status added =
      AddUpload(id, part,
                {.connector = decoded->request.spec.name,
                 .open = *std::move(decoded),
                 .replay = std::nullopt,
                 .assembler = wire::FragmentAssembler(part),
                 .failed = absl::OkStatus()});
  if (!added.ok()) return Fail(id, added);
  if (uploads_.at(id).is_whole) RunUpload(id);
}

void SessionCommands::BeginReplay(uint64_t id, const v1::ReplayStart& start) {
  auto decoded = wire::FromProto(start);
  if (!decoded.ok()) return Fail(id, decoded.status());
  const std::string connector = decoded->header.ref.connector;
  auto& waiting = waiting_[connector];
  const wire::Part part = decoded->step.replay_data.value_or(wire::Part{});
  const bool has_data = decoded->step.replay_data.has_value();
  absl::Status added;
  if (waiting.size() >= kWaitingMax) {
    added = TooMuch("64 others of its connector wait");
  } else {
    added = AddUpload(id, part,
                      {.connector = connector,
                       .open = std::nullopt,
                       .replay = *std::move(decoded),
                       .assembler = wire::FragmentAssembler(part),
                       .failed = absl::OkStatus()});
  }
  if (added.ok()) {
    waiting.push_back({.id = id, .command = std::nullopt});
    if (!has_data) uploads_.at(id).is_whole = true;
  } else {
    Fail(id, added);
  }
  RunWaiting(connector);
}

void SessionCommands::RunWaiting(const std::string& connector) {
  const auto found = waiting_.find(connector);
  std::deque<Waiting>& waiting = found->second;
  while (!waiting.empty()) {
    Waiting& next = waiting.front();
    if (next.command.has_value()) {
      Run(*next.command);
    } else {
      const auto upload = uploads_.find(next.id);
      if (!upload->second.is_whole) return;
      RunUpload(next.id);
    }
    waiting.pop_front();
  }
  waiting_.erase(found);
}

void SessionCommands::RunUpload(uint64_t id) {
  const auto found = uploads_.find(id);
  Upload upload = std::move(found->second);
  uploads_.erase(found);
  announced_ -= upload.announced;
  if (!upload.failed.ok()) return Fail(id, upload.failed);
  const bool has_data =
      upload.open.has_value() || upload.replay->step.replay_data.has_value();
  std::string data;
  if (has_data) {
    auto whole = std::move(upload.assembler).Finish();
    if (!whole.ok()) return Fail(id, whole.status());
    data = *std::move(whole);
  }
  if (upload.open.has_value()) {
    upload.open->request.position = std::move(data);
    return commands_.Open(
        std::move(upload.open->request),
        AnswerOf(id, &v1::SessionReply::mutable_open_connector));
  }
  wire::DecodedReplay& replay = *upload.replay;
  if (has_data) wire::FillReplayData(std::move(data), replay.step);
  commands_.Replay(std::move(replay.header),
                   {.result = std::move(replay.step.result),
                    .previous_steps = replay.previous_steps},
                   AnswerOf(id, &v1::SessionReply::mutable_replay));
}

void SessionCommands::Begin(v1::SessionCommand& command) {
  if (command.has_open_connector()) {
    *command.mutable_open_connector()->mutable_fence() = fence_;
    return BeginOpen(command.id(), command.open_connector());
  }
  if (command.has_replay()) {
    *command.mutable_replay()->mutable_fence() = fence_;
    return BeginReplay(command.id(), command.replay());
  }
  Run(command);
}

void SessionCommands::Run(v1::SessionCommand& command) {
  using Reply = v1::SessionReply;
  const uint64_t id = command.id();
  const auto run = [&](auto* request, auto method, auto arm) {
    if constexpr (requires { request->mutable_fence(); }) {
      *request->mutable_fence() = fence_;
    }
    (commands_.*method)(*request, AnswerOf(id, arm));
  };
  switch (command.command_case()) {
    case v1::SessionCommand::kDeleteConnector:
      return run(command.mutable_delete_connector(), &Commands::Delete,
                 &Reply::mutable_delete_connector);
    case v1::SessionCommand::kGetConnector:
      return run(command.mutable_get_connector(), &Commands::Get,
                 &Reply::mutable_get_connector);
    case v1::SessionCommand::kExtend:
      return run(command.mutable_extend(), &Commands::Extend,
                 &Reply::mutable_extend);
    case v1::SessionCommand::kPause:
      return run(command.mutable_pause(), &Commands::Pause,
                 &Reply::mutable_pause);
    case v1::SessionCommand::kQueue:
      return run(command.mutable_queue(), &Commands::Queue,
                 &Reply::mutable_queue);
    case v1::SessionCommand::kRelease:
      return run(command.mutable_release(), &Commands::Release,
                 &Reply::mutable_release);
    case v1::SessionCommand::kPrepareCheckpoint:
      return run(command.mutable_prepare_checkpoint(),
                 &Commands::PrepareCheckpoint,
                 &Reply::mutable_prepare_checkpoint);
    case v1::SessionCommand::kCommitCheckpoint:
      return run(command.mutable_commit_checkpoint(),
                 &Commands::CommitCheckpoint,
                 &Reply::mutable_commit_checkpoint);
    case v1::SessionCommand::kDisconnect:
      return run(command.mutable_disconnect(), &Commands::Disconnect,
                 &Reply::mutable_disconnect);
    case v1::SessionCommand::kOpenConnector:
    case v1::SessionCommand::kReplay:
    case v1::SessionCommand::COMMAND_NOT_SET:
      break;
  }
  Fail(id, core::MakeError(core::Reason::UNSUPPORTED,
                           "taking a command of a Session: this worker does "
                           "not know it; use its unary twin, if there is one"));
}

}  // namespace penstock::server
