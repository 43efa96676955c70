#include "server/dispatch/dispatcher.h"

#include "core/base/checksum.h"
#include "core/base/error.h"
#include "core/base/mutex.h"
#include "core/base/random.h"
#include "core/base/status_macros.h"
#include "server/dispatch/connector_table.h"
#include "server/dispatch/drain.h"
#include "server/dispatch/orphans.h"
#include "server/dispatch/pipeline_fences.h"
#include "server/dispatch/reigns.h"

#include <absl/strings/str_cat.h>

#include <map>
#include <utility>

namespace penstock::server {
namespace {

using core::CommandHeader;
using core::Connector;
using core::Fence;
using core::MakeError;
using core::Reason;
using ConnectorPtr = std::shared_ptr<Connector>;
template <typename T>
using Reply = core::Control::Reply<T>;

absl::Status Superseded(const Fence& fence) {
  return MakeError(Reason::SUPERSEDED,
                   absl::StrCat("answering controller '", fence.controller_id,
                                "' of pipeline '", fence.pipeline,
                                "': a higher epoch than ", fence.epoch,
                                " took over meanwhile; end, or take a new "
                                "epoch"));
}

absl::Status GoingAway() {
  return MakeError(Reason::SHUTTING_DOWN,
                   "answering a command: this worker is going away");
}

// A pipeline that has connectors is never forgotten. Whoever writes looks
// again, so that the last word is true whoever else writes.
void NoteUse(PipelineFences& fences, const ConnectorTable& table,
             const std::string& pipeline) {
  bool is_used = table.IsUsed(pipeline);
  while (true) {
    fences.SetInUse(pipeline, is_used);
    const bool now = table.IsUsed(pipeline);
    if (now == is_used) return;
    is_used = now;
  }
}

// What an open needs.
// Shared by: the dispatcher and the opens that wait for a takeover.
struct Opener {
  const core::ConnectorRuntime runtime;
  DispatchObserver* const observer;  // May be null.
  // Shared by: the dispatcher and its commands in flight.
  const std::shared_ptr<ConnectorTable> table;
  const std::shared_ptr<PipelineFences> fences;
  const std::shared_ptr<Orphans> orphans;
  const std::shared_ptr<Failures> failures;
  core::Mutex random_mu;
  core::Random random ABSL_GUARDED_BY(random_mu);

  void Open(core::OpenRequest request, Reply<core::OpenReply> reply);
};

core::ConnectorRuntime Measured(core::ConnectorRuntime runtime) {
  runtime.timings = std::make_shared<core::Timings>();
  return runtime;
}

// A session: its controller is there while it is held.
// Owner: shared, by the session. Threads: confined to it.
class Stay {
 public:
  Stay(std::shared_ptr<PipelineFences> fences, std::string pipeline,
       Reigns::Token token)
      : fences_(std::move(fences)),
        pipeline_(std::move(pipeline)),
        token_(std::move(token)) {
    fences_->Stay(pipeline_);
  }
  Stay(const Stay&) = delete;
  Stay& operator=(const Stay&) = delete;
  ~Stay() { fences_->Leave(pipeline_); }

 private:
  const std::shared_ptr<PipelineFences> fences_;
  const std::string pipeline_;
  const Reigns::Token token_;
};

class DispatcherImpl final : public Dispatcher {
 public:
  DispatcherImpl(DispatcherOptions options, core::ConnectorRuntime runtime,
                 std::unique_ptr<FenceStore> store,
                 std::map<std::string, FenceRecord> records,
                 DispatchObserver* observer)
      : options_(options),
        runtime_(Measured(std::move(runtime))),
        observer_(observer),
        table_(std::make_shared<ConnectorTable>(
            options.connectors_max, options.memory_max, options.replies_max)),
        fences_(std::make_shared<PipelineFences>(
            PipelineFences::Options{.grace = options.fence_grace},
            std::move(store), std::move(records), runtime_.io,
            [table = table_, reigns = reigns_](const std::string& pipeline) {
              for (const auto& connector : table->OfPipeline(pipeline)) {
                connector->Supersede();
              }
              reigns->End(pipeline);
            })),
        orphans_(std::make_shared<Orphans>(table_, fences_, runtime_.executor,
                                           options.orphan_timeout)),
        opener_(new Opener{.runtime = runtime_,
                           .observer = observer_,
                           .table = table_,
                           .fences = fences_,
                           .orphans = orphans_,
                           .failures = failures_,
                           .random_mu = {},
                           .random = core::Random(options.random_seed)}) {}
  ~DispatcherImpl() override { Shutdown(); }

  void Open(core::OpenRequest request, Reply<core::OpenReply> reply) override;
  void Delete(CommandHeader header, core::DisconnectRequest request,
              Reply<core::DisconnectReply> reply) override;
  void Replay(CommandHeader header, core::ReplayRequest request,
              Reply<core::ReplayReply> reply) override {
    Command<core::ReplayReply>(
        std::move(header), std::move(reply),
        [request = std::move(request)](const ConnectorPtr& connector,
                                       auto answer) mutable {
          connector->Replay(std::move(request), std::move(answer));
        });
  }
  void Extend(CommandHeader header, Done done) override {
    Once(std::move(header), "extend", std::move(done),
         [](const ConnectorPtr& connector, Done answer) {
           connector->Extend(std::move(answer));
         });
  }
  void Pause(CommandHeader header, Done done) override {
    Once(std::move(header), "pause", std::move(done),
         [](const ConnectorPtr& connector, Done answer) {
           connector->Pause(std::move(answer));
         });
  }
  void Queue(CommandHeader header, core::QueueRequest request,
             Reply<core::QueueReply> reply) override {
    Command<core::QueueReply>(std::move(header), std::move(reply),
                              [request = std::move(request)](
                                  const ConnectorPtr& connector, auto answer) {
                                connector->Queue(request, std::move(answer));
                              });
  }
  void Release(CommandHeader header, Done done) override {
    if (!header.released_steps.has_value()) {
      done(MakeError(Reason::INVALID_REQUEST,
                     "releasing steps: `released_steps` is required"));
      return;
    }
    CommandDone(std::move(header), std::move(done),
                [](const ConnectorPtr& /*connector*/, Done answer) {
                  answer(absl::OkStatus());
                });
  }
  void PrepareCheckpoint(CommandHeader header,
                         core::PrepareCheckpointRequest request,
                         Reply<core::PrepareCheckpointReply> reply) override {
    Command<core::PrepareCheckpointReply>(
        std::move(header), std::move(reply),
        [request](const ConnectorPtr& connector, auto answer) {
          connector->PrepareCheckpoint(request, std::move(answer));
        });
  }
  void CommitCheckpoint(CommandHeader header,
                        core::CommitCheckpointRequest request,
                        Done done) override {
    CommandDone(std::move(header), std::move(done),
                [request](const ConnectorPtr& connector, Done answer) {
                  connector->CommitCheckpoint(request, std::move(answer));
                });
  }
  void Disconnect(CommandHeader header, core::DisconnectRequest request,
                  Reply<core::DisconnectReply> reply) override {
    Command<core::DisconnectReply>(
        std::move(header), std::move(reply),
        [request](const ConnectorPtr& connector, auto answer) {
          connector->Disconnect(request, std::move(answer));
        });
  }
  void Get(std::string name, Reply<core::ConnectorStatus> reply) override {
    const auto connector = table_->Find(name);
    if (connector == nullptr) return reply(ConnectorTable::NoSuch(name));
    core::ConnectorStatus status = connector->Status();
    status.errors = connector->Errors(SIZE_MAX);
    reply(std::move(status));
  }
  void List(Reply<std::vector<core::ConnectorStatus>> reply) override {
    reply(Statuses());
  }

  void Lead(Fence fence, absl::AnyInvocable<void()> over,
            Reply<std::shared_ptr<const void>> begun) override {
    fences_->Enter(fence,
                   [fences = fences_, reigns = reigns_, fence,
                    over = std::move(over), begun = std::move(begun)](
                       absl::StatusOr<PipelineFences::Pass> pass) mutable {
                     if (!pass.ok()) return begun(pass.status());
                     // While the pass is held no takeover ends.
                     begun(std::make_shared<Stay>(
                         fences, fence.pipeline,
                         reigns->Add(fence.pipeline, std::move(over))));
                   });
  }
  void Drain(absl::Duration deadline,
             absl::AnyInvocable<void(std::vector<core::DrainedConnector>)> done)
      override {
    DrainAll(table_->BeginDrain(), runtime_.executor, deadline,
             std::move(done));
  }
  void Admit(CommandHeader header, Done done) override {
    CommandDone(std::move(header), std::move(done),
                [](const ConnectorPtr& /*connector*/, Done answer) {
                  answer(absl::OkStatus());
                });
  }
  void Update(CommandHeader header, core::UpdateRequest request,
              Reply<core::UpdateReply> reply) override;
  void DrainConnector(CommandHeader header, absl::Duration deadline,
                      Reply<core::DrainedConnector> reply) override {
    const Fence fence = header.fence;
    Command<core::DrainedConnector>(
        std::move(header), std::move(reply),
        [fences = fences_, fence, deadline, &executor = runtime_.executor](
            const ConnectorPtr& connector, auto answer) mutable {
          DrainOne(connector, {fences, fence}, executor, deadline,
                   std::move(answer));
        });
  }
  bool draining() const override { return table_->is_draining(); }
  void Shutdown() override {
    fences_->Close();
    table_->Clear(GoingAway());
  }
  std::shared_ptr<const core::StepResult> Retained(
      const std::string& name, core::Step step) const override {
    const auto connector = table_->Find(name);
    return connector == nullptr ? nullptr : connector->Retained(step);
  }
  std::vector<core::ConnectorStatus> Statuses() const override {
    std::vector<core::ConnectorStatus> statuses;
    for (const auto& connector : table_->All()) {
      statuses.push_back(connector->Status());
    }
    return statuses;
  }
  std::optional<core::ConnectorStatus> StatusOf(
      const std::string& name) const override {
    const auto connector = table_->Find(name);
    if (connector == nullptr) return std::nullopt;
    return connector->Status();
  }
  const core::Timings& timings() const override { return *runtime_.timings; }
  FailureCounts failures() const override { return failures_->counts(); }
  uint64_t memory_max() const override { return options_.memory_max; }
  uint64_t memory_committed() const override {
    return table_->memory_committed();
  }
  std::shared_ptr<Connector> Find(const std::string& name) const override {
    return table_->Find(name);
  }

 private:
  // Runs `run(connector, answer)` once fence, connector, owner and instance
  // agree and the release that came along took effect. An answer that arrives
  // after a takeover becomes SUPERSEDED.
  template <typename T, typename Run>
  void Command(CommandHeader header, Reply<T> reply, Run run) {
    const Fence fence = header.fence;
    fences_->Enter(
        fence, [fences = fences_, table = table_, header = std::move(header),
                reply = std::move(reply), run = std::move(run)](
                   absl::StatusOr<PipelineFences::Pass> pass) mutable {
          if (!pass.ok()) return reply(pass.status());
          auto found = table->Resolve(header.fence.pipeline, header.ref);
          if (!found.ok()) return reply(found.status());
          auto answer = [fences, fence = header.fence,
                         reply = std::move(reply)](auto result) mutable {
            if (!fences->IsCurrent(fence)) return reply(Superseded(fence));
            reply(std::move(result));
          };
          const std::shared_ptr<Connector> connector = *std::move(found);
          // One without a release goes the same way, so that it overtakes none
          // that has one. The pass is held until the command is handed over,
          // too. Weak: the connector holds this callback.
          connector->Release(
              header.released_steps.value_or(0),
              [weak = std::weak_ptr(connector), run = std::move(run),
               answer = std::move(answer),
               pass = *std::move(pass)](absl::Status released) mutable {
                const std::shared_ptr<Connector> still = weak.lock();
                if (released.ok() && still == nullptr) released = GoingAway();
                if (!released.ok()) {
                  return answer(absl::StatusOr<T>(std::move(released)));
                }
                run(still, Reply<T>(std::move(answer)));
              });
        });
  }

  struct Nothing {};
  template <typename Run>
  void CommandDone(CommandHeader header, Done done, Run run) {
    Command<Nothing>(
        std::move(header),
        [done = std::move(done)](absl::StatusOr<Nothing> result) mutable {
          done(result.status());
        },
        [run = std::move(run)](const ConnectorPtr& connector,
                               Reply<Nothing> answer) mutable {
          run(connector,
              [answer = std::move(answer)](absl::Status status) mutable {
                if (!status.ok()) return answer(std::move(status));
                answer(Nothing{});
              });
        });
  }

  // A command that is idempotent by its request id (rule 8). `reply`: what is
  // kept of its success, once `run` has answered.
  template <typename Run>
  void Once(CommandHeader header, absl::string_view verb, Done done, Run run,
            std::shared_ptr<std::string> kept_reply = nullptr) {
    if (header.request_id.empty()) {
      return CommandDone(std::move(header), std::move(done), std::move(run));
    }
    const std::string id = header.request_id;
    const core::ConnectorRef ref = header.ref;
    const uint64_t body = core::Checksum64(absl::StrCat(
        verb, "\n", ref.instance, "\n",
        header.released_steps.has_value() ? absl::StrCat(*header.released_steps)
                                          : ""));
    CommandDone(
        std::move(header), std::move(done),
        [table = table_, id, ref, body, run = std::move(run),
         kept_reply = std::move(kept_reply)](const ConnectorPtr& connector,
                                             Done answer) mutable {
          switch (table->BeginOnce(ref.connector, id, body, answer)) {
            case ReplyCache::Outcome::kWaits:
              return;
            case ReplyCache::Outcome::kRepeat:
              return answer(absl::OkStatus());
            case ReplyCache::Outcome::kReused:
              return answer(MakeError(
                  Reason::REQUEST_ID_REUSED,
                  absl::StrCat("request id '", id,
                               "' was used for another request; draw a new "
                               "one for each request")));
            case ReplyCache::Outcome::kRun:
              break;
          }
          run(connector,
              [table, id, ref, kept_reply = std::move(kept_reply),
               answer = std::move(answer)](absl::Status status) mutable {
                auto waiting =
                    table->FinishOnce(ref.connector, id, status.ok(),
                                      kept_reply == nullptr ? "" : *kept_reply);
                for (Done& other : waiting) other(status);
                answer(std::move(status));
              });
        });
  }

  const DispatcherOptions options_;
  const core::ConnectorRuntime runtime_;
  DispatchObserver* const observer_;  // May be null.
  // Shared by: this dispatcher and its commands in flight.
  const std::shared_ptr<ConnectorTable> table_;
  const std::shared_ptr<Reigns> reigns_ = std::make_shared<Reigns>();
  const std::shared_ptr<PipelineFences> fences_;
  // Shared by: the opens that wait for a takeover.
  const std::shared_ptr<Orphans> orphans_;
  const std::shared_ptr<Failures> failures_ = std::make_shared<Failures>();
  const std::shared_ptr<Opener> opener_;
};

// Forwards what one connector reports, under its name.
class NamedObserver final : public core::ConnectorObserver {
 public:
  NamedObserver(std::string name, std::string pipeline,
                DispatchObserver* observer, std::shared_ptr<Failures> failures)
      : name_(std::move(name)),
        pipeline_(std::move(pipeline)),
        observer_(observer),
        failures_(std::move(failures)) {}
  void OnChanged() override {
    if (observer_ != nullptr) observer_->OnChanged(name_);
  }
  void OnState(const std::string& instance, core::ConnectorState previous,
               core::ConnectorState state) override {
    if (state == core::ConnectorState::kFailed) ++failures_->connectors;
    if (observer_ == nullptr) return;
    observer_->OnState(name_, instance, pipeline_, previous, state);
  }
  void OnError(const core::ErrorEntry& error) override {
    if (observer_ != nullptr) observer_->OnError(name_, error);
  }
  void OnParseErrors(const std::vector<core::ParseError>& errors) override {
    if (observer_ != nullptr) observer_->OnParseErrors(name_, errors);
  }
  void OnTransaction(bool started, std::optional<std::string> label) override {
    if (observer_ != nullptr) {
      observer_->OnTransaction(name_, started, std::move(label));
    }
  }

 private:
  const std::string name_;
  const std::string pipeline_;
  DispatchObserver* const observer_;
  const std::shared_ptr<Failures> failures_;
};

// Disconnects a connector whose deletion has begun; answers all who wait.
void Remove(const std::shared_ptr<PipelineFences>& fences,
            const std::shared_ptr<ConnectorTable>& table,
            DispatchObserver* observer, const std::string& name,
            const std::string& pipeline,
            const std::shared_ptr<Connector>& connector,
            core::DisconnectRequest request) {
  connector->Disconnect(request,
                        [fences, table, observer, name, pipeline,
                         instance = connector->instance()](
                            absl::StatusOr<core::DisconnectReply> result) {
                          auto waiting = table->FinishDelete(name);
                          NoteUse(*fences, *table, pipeline);
                          if (observer != nullptr)
                            observer->OnRemoved(name, instance);
                          for (auto& reply : waiting) reply(result);
                        });
}

void DispatcherImpl::Open(core::OpenRequest request,
                          Reply<core::OpenReply> reply) {
  if (draining()) {
    reply(MakeError(Reason::SHUTTING_DOWN,
                    absl::StrCat("opening connector '", request.spec.name,
                                 "': this worker is draining; use another")));
    return;
  }
  const Fence fence = request.fence;
  fences_->Enter(fence, [opener = opener_, request = std::move(request),
                         reply = std::move(reply)](
                            absl::StatusOr<PipelineFences::Pass> pass) mutable {
    if (!pass.ok()) return reply(pass.status());
    opener->Open(std::move(request), std::move(reply));
  });
}

void Opener::Open(core::OpenRequest request, Reply<core::OpenReply> reply) {
  const Fence fence = request.fence;
  const std::string name = request.spec.name;
  auto answer = [fences = fences, fence, reply = std::move(reply)](
                    absl::StatusOr<core::OpenReply> result) mutable {
    if (!fences->IsCurrent(fence)) return reply(Superseded(fence));
    reply(std::move(result));
  };
  Reply<core::OpenReply> joined(std::move(answer));
  auto begun = table->BeginOpen(request, joined);
  if (!begun.ok()) {
    // A name in use is nothing that stays so.
    if (core::HasReason(begun.status(), Reason::MEMORY_REFUSED)) {
      failures->NoteOpen(begun.status());
    }
    return joined(begun.status());
  }
  if (*begun != ConnectorTable::OpenOutcome::kRun) return;

  NoteUse(*fences, *table, fence.pipeline);
  core::ConnectorRuntime seeded = runtime;
  {
    core::MutexLock lock(random_mu);
    seeded.random_seed = random.Next64();
  }
  auto connector =
      Connector::Create(seeded, std::move(request),
                        std::make_unique<NamedObserver>(name, fence.pipeline,
                                                        observer, failures));
  // Weak: the connector holds it.
  auto finish = [table = table, fences = fences, orphans = orphans,
                 failures = failures, weak = std::weak_ptr(connector), name,
                 fence, observer = observer, joined = std::move(joined)](
                    absl::StatusOr<core::OpenReply> result) mutable {
    auto opened = table->FinishOpen(name, result);
    failures->NoteOpen(result.status());
    if (const auto open = weak.lock(); open != nullptr && result.ok()) {
      orphans->Watch(*open);
    }
    NoteUse(*fences, *table, fence.pipeline);
    if (result.ok() && observer != nullptr) observer->OnOpened(name);
    for (auto& other : opened.waiting) other(result);
    for (auto& other : opened.deletes) other(core::DisconnectReply{});
    joined(std::move(result));
    if (opened.delete_now != nullptr) {
      Remove(fences, table, observer, name, fence.pipeline, opened.delete_now,
             {});
    }
  };
  // A drain, or the end, may have begun since the open was admitted.
  const absl::Status set = table->SetConnector(name, connector);
  if (!set.ok()) return finish(set);
  connector->Open(std::move(finish));
}

void DispatcherImpl::Update(CommandHeader header, core::UpdateRequest request,
                            Reply<core::UpdateReply> reply) {
  if (request.validate_only) {
    return Command<core::UpdateReply>(
        std::move(header), std::move(reply),
        [request = std::move(request)](const ConnectorPtr& connector,
                                       auto answer) mutable {
          connector->Update(std::move(request), std::move(answer));
        });
  }
  const std::string verb = absl::StrCat("update\n", request.spec_bytes);
  const auto before = std::make_shared<std::string>();
  // Whichever call ran: the reply of the first is that of all.
  auto done = [table = table_, connector = header.ref.connector,
               id = header.request_id, before,
               reply = std::move(reply)](absl::Status status) mutable {
    if (!status.ok()) return reply(std::move(status));
    std::string kept = table->ReplyOf(connector, id);
    reply(core::UpdateReply{kept.empty() ? *before : std::move(kept)});
  };
  Once(
      std::move(header), verb, std::move(done),
      [orphans = orphans_, before, request = std::move(request)](
          const ConnectorPtr& connector, Done answer) mutable {
        connector->Update(
            std::move(request),
            [orphans, before, weak = std::weak_ptr(connector),
             answer = std::move(answer)](
                absl::StatusOr<core::UpdateReply> updated) mutable {
              if (!updated.ok()) return answer(updated.status());
              *before = std::move(updated->before);
              if (const auto still = weak.lock()) orphans->Watch(*still);
              answer(absl::OkStatus());
            });
      },
      before);
}

void DispatcherImpl::Delete(CommandHeader header,
                            core::DisconnectRequest request,
                            Reply<core::DisconnectReply> reply) {
  const Fence fence = header.fence;
  fences_->Enter(fence, [fences = fences_, table = table_, observer = observer_,
                         header = std::move(header), request,
                         reply = std::move(reply)](
                            absl::StatusOr<PipelineFences::Pass> pass) mutable {
    if (!pass.ok()) return reply(pass.status());
    auto removal = table->BeginDelete(header.fence.pipeline, header.ref, reply);
    if (!removal.ok()) return reply(removal.status());
    // Already gone is success; being opened or deleted: `reply` waits there.
    if (removal->outcome == ConnectorTable::DeleteOutcome::kGone) {
      return reply(core::DisconnectReply{});
    }
    if (removal->outcome == ConnectorTable::DeleteOutcome::kWaits) {
      // Whoever deletes waits for no system outside.
      if (removal->connector != nullptr) removal->connector->GiveUpOpen();
      return;
    }
    table->WaitForDelete(header.ref.connector, std::move(reply));
    Remove(fences, table, observer, header.ref.connector, header.fence.pipeline,
           removal->connector, request);
  });
}

}  // namespace

absl::StatusOr<std::unique_ptr<Dispatcher>> Dispatcher::Create(
    DispatcherOptions options, core::ConnectorRuntime runtime,
    std::unique_ptr<FenceStore> fences, DispatchObserver* observer) {
  ASSIGN_OR_RETURN(auto records, fences->Load());
  return std::make_unique<DispatcherImpl>(options, std::move(runtime),
                                          std::move(fences), std::move(records),
                                          observer);
}

}  // namespace penstock::server
