#include "tests/support/fake_state_store.h"

#include "core/base/error.h"

#include <absl/functional/any_invocable.h>
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <deque>
#include <utility>
#include <variant>

namespace penstock::client {
namespace {

using core::MakeError;
using core::Reason;

absl::Status Invalid(absl::string_view what, const std::string& connector) {
  return MakeError(Reason::INVALID_REQUEST,
                   absl::StrCat("storing connector '", connector, "': ", what));
}

absl::Status Add(const StoreTransaction::AddConnector& add,
                 StoredPipeline& state) {
  auto [entry, is_new] = state.connectors.try_emplace(add.connector);
  StoredConnector& stored = entry->second;
  if (is_new) {
    stored.base_steps = add.base_steps;
    stored.reserved_steps = add.base_steps;
  } else if (stored.opened && stored.spec_bytes != add.spec_bytes) {
    return MakeError(Reason::ALREADY_EXISTS,
                     absl::StrCat("adding connector '", add.connector,
                                  "': it is there with another spec"));
  }
  stored.spec_bytes = add.spec_bytes;
  return absl::OkStatus();
}

absl::Status Journal(const StoreTransaction::JournalStep& row,
                     StoredConnector& stored) {
  const core::Step step = row.result.step;
  if (step < stored.base_steps || step >= stored.reserved_steps) {
    return Invalid("the step is below base or was never reserved",
                   row.connector);
  }
  const auto place = std::lower_bound(
      stored.journal.begin(), stored.journal.end(), step,
      [](const core::StepResult& a, core::Step b) { return a.step < b; });
  if (place != stored.journal.end() && place->step == step) {
    if (*place == row.result) return absl::OkStatus();
    return MakeError(Reason::ALREADY_EXISTS,
                     absl::StrCat("journaling step ", step, " of connector '",
                                  row.connector, "': it has other content"));
  }
  stored.journal.insert(place, row.result);
  return absl::OkStatus();
}

absl::Status TakeCheckpoint(const StoreTransaction::Checkpoint& checkpoint,
                            StoredConnector& stored) {
  if (checkpoint.base_steps < stored.base_steps ||
      checkpoint.base_steps > stored.reserved_steps) {
    return Invalid("a checkpoint goes back, or above what was reserved",
                   checkpoint.connector);
  }
  std::erase_if(stored.journal, [&](const core::StepResult& row) {
    return row.step < checkpoint.base_steps;
  });
  if (stored.spec_bytes != checkpoint.spec_bytes && !stored.journal.empty()) {
    return Invalid("the spec changes under journaled steps",
                   checkpoint.connector);
  }
  stored.base_steps = checkpoint.base_steps;
  stored.position = checkpoint.position;
  stored.spec_bytes = checkpoint.spec_bytes;
  return absl::OkStatus();
}

}  // namespace

absl::Status ApplyTransaction(const StoreTransaction& transaction,
                              StoredPipeline& state) {
  StoredPipeline next = state;
  absl::Status status;
  const auto each = [&](const auto& changes, auto apply) {
    for (const auto& change : changes) {
      if (!status.ok()) return;
      const auto found = next.connectors.find(change.connector);
      if (found == next.connectors.end()) {
        status = MakeError(Reason::NO_SUCH_CONNECTOR,
                           absl::StrCat("storing: there is no connector '",
                                        change.connector, "'"));
      } else {
        status = apply(change, found->second);
      }
    }
  };
  for (const auto& add : transaction.add_connectors) {
    if (status.ok()) status = Add(add, next);
  }
  each(transaction.reserve_steps, [](const auto& change, auto& stored) {
    stored.reserved_steps =
        std::max(stored.reserved_steps, change.reserved_steps);
    return absl::OkStatus();
  });
  each(transaction.reserve_writers, [](const auto& change, auto& stored) {
    stored.open_number = std::max(stored.open_number, change.open_number);
    return absl::OkStatus();
  });
  each(transaction.opened, [](const auto& change, auto& stored) {
    stored.opened = true;
    stored.position = change.position;
    return absl::OkStatus();
  });
  each(transaction.journal, Journal);
  each(transaction.checkpoints, TakeCheckpoint);
  each(transaction.replace_specs, [](const auto& change, auto& stored) {
    stored.spec_bytes = change.spec_bytes;
    return absl::OkStatus();
  });
  each(transaction.user_paused, [](const auto& change, auto& stored) {
    stored.user_paused = change.paused;
    return absl::OkStatus();
  });
  if (status.ok()) state = std::move(next);
  return status;
}

struct FakeStateStore::Handle : std::enable_shared_from_this<Handle> {
  using Answer = absl::AnyInvocable<void()>;
  // Takes effect when called; what it returns answers.
  using Call = absl::AnyInvocable<Answer()>;

  // What becomes of one call.
  struct Fate {
    bool takes_effect = true;
    // What is answered instead of the truth, unless OK.
    absl::Status fault;
  };

  Handle(core::Executor& used_executor, FakeStoreDisk& used_disk)
      : executor(used_executor), disk(used_disk) {}

  void Add(Call call) {
    calls.push_back(std::move(call));
    RunFirst();
  }

  Fate NextFate() {
    if (failures > 0) {
      --failures;
      return {.takes_effect = false, .fault = failure};
    }
    if (lost_answers > 0) {
      --lost_answers;
      return {.takes_effect = true,
              .fault = MakeError(Reason::UNAVAILABLE,
                                 "the store's answer was lost")};
    }
    return {};
  }

  void RunFirst() {
    if (held || running || calls.empty()) return;
    running = true;
    executor.ScheduleAfter(delay, [weak = weak_from_this()] {
      const auto self = weak.lock();
      if (self == nullptr) return;
      Answer answer = self->calls.front()();
      self->executor.ScheduleAfter(
          self->delay, [weak, answer = std::move(answer)]() mutable {
            const auto handle = weak.lock();
            if (handle == nullptr) return;
            handle->calls.pop_front();
            handle->running = false;
            handle->RunFirst();
            answer();
          });
    });
  }

  core::Executor& executor;
  FakeStoreDisk& disk;
  std::deque<Call> calls;
  // The first call is under way.
  bool running = false;
  absl::Duration delay = absl::ZeroDuration();
  int failures = 0;
  absl::Status failure;
  int lost_answers = 0;
  bool held = false;
};

void FakeStoreDisk::Count(const StoreTransaction& transaction) {
  ++commits;
  uint64_t bytes = 0;
  for (const StoreTransaction::JournalStep& row : transaction.journal) {
    const auto* const replay =
        std::get_if<core::Resume::Replay>(&row.result.resume.kind());
    if (replay != nullptr) bytes += replay->replay.size();
  }
  journal_bytes_max = std::max(journal_bytes_max, bytes);
}

FakeStateStore::FakeStateStore(core::Executor& executor, FakeStoreDisk& disk)
    : handle_(std::make_shared<Handle>(executor, disk)) {}
FakeStateStore::~FakeStateStore() = default;

void FakeStateStore::TakeLeadership(Reply<StoredPipeline> reply) {
  handle_->Add([handle = handle_.get(),
                reply = std::move(reply)]() mutable -> Handle::Answer {
    Handle::Fate fate = handle->NextFate();
    if (fate.takes_effect) {
      ++handle->disk.state.epoch;
      ++handle->disk.commits;
    }
    absl::StatusOr<StoredPipeline> answer = handle->disk.state;
    if (!fate.fault.ok()) answer = std::move(fate.fault);
    return [reply = std::move(reply), answer = std::move(answer)]() mutable {
      reply(std::move(answer));
    };
  });
}

void FakeStateStore::Commit(uint64_t epoch, StoreTransaction transaction,
                            Done done) {
  handle_->Add([handle = handle_.get(), epoch,
                transaction = std::move(transaction),
                done = std::move(done)]() mutable -> Handle::Answer {
    Handle::Fate fate = handle->NextFate();
    absl::Status answer;
    if (fate.takes_effect) {
      StoredPipeline& state = handle->disk.state;
      answer = state.epoch == epoch
                   ? ApplyTransaction(transaction, state)
                   : MakeError(Reason::STALE_EPOCH,
                               absl::StrCat("committing in epoch ", epoch,
                                            ": epoch ", state.epoch, " leads"));
      if (answer.ok()) handle->disk.Count(transaction);
    }
    if (!fate.fault.ok()) answer = std::move(fate.fault);
    return [done = std::move(done), answer = std::move(answer)]() mutable {
      done(std::move(answer));
    };
  });
}

void FakeStateStore::ReadEpoch(Reply<uint64_t> reply) {
  handle_->Add([handle = handle_.get(),
                reply = std::move(reply)]() mutable -> Handle::Answer {
    absl::StatusOr<uint64_t> answer = handle->disk.state.epoch;
    Handle::Fate fate = handle->NextFate();
    if (!fate.fault.ok()) answer = std::move(fate.fault);
    return [reply = std::move(reply), answer = std::move(answer)]() mutable {
      reply(std::move(answer));
    };
  });
}

void FakeStateStore::SetDelay(absl::Duration delay) { handle_->delay = delay; }
void FakeStateStore::FailNext(int count, absl::Status status) {
  handle_->failures = count;
  handle_->failure = std::move(status);
}
void FakeStateStore::LoseAnswers(int count) { handle_->lost_answers = count; }
void FakeStateStore::Hold(bool hold) {
  handle_->held = hold;
  handle_->RunFirst();
}
size_t FakeStateStore::pending() const { return handle_->calls.size(); }

}  // namespace penstock::client
