#include "tests/support/fake_target.h"

#include "core/base/error.h"

#include <absl/strings/str_cat.h>

#include <map>
#include <utility>

namespace penstock::core {
namespace {

using Operation = FakeDatabase::Operation;

// Views of what one batch consists of.
struct Batch {
  StepRange steps;
  std::string id;
  std::vector<ChunkId> chunks;
  absl::Time deadline;
  std::vector<absl::string_view> frames;
  std::vector<FakeDatabase::Message> messages;
};

absl::Status WrongOrder(absl::string_view call) {
  return MakeError(Reason::INTERNAL,
                   absl::StrCat(call, " where it is not allowed"));
}

}  // namespace

struct FakeTarget::State {
  explicit State(FakeDatabase& db) : database(db) {}

  absl::Status Do(Operation operation, ShardIndex shard,
                  absl::AnyInvocable<absl::Status()> effect) {
    const std::optional<FakeDatabase::Fault> fault =
        database.Meet({.operation = operation,
                       .table = table,
                       .shard = shard,
                       .writer = open.writer});
    if (fault.has_value() && !fault->lost) return fault->status;
    absl::Status status = effect();
    if (fault.has_value() && status.ok()) return fault->status;
    return status;
  }

  FakeDatabase::Transaction MakeTransaction(const Batch& batch) const {
    FakeDatabase::Transaction transaction{.writer = open.writer,
                                          .steps = batch.steps,
                                          .id = batch.id,
                                          .chunks = batch.chunks,
                                          .deadline = batch.deadline,
                                          .frames = {},
                                          .messages = batch.messages};
    for (const absl::string_view frame : batch.frames) {
      transaction.frames.emplace_back(frame);
    }
    return transaction;
  }
  absl::Status Commit(ShardIndex shard, const Batch& batch) {
    return database.Commit(table, shard, open.level, MakeTransaction(batch));
  }
  absl::Status Probe(ShardIndex shard, const Batch& batch) {
    return database.Probe(table, shard, open.level, MakeTransaction(batch));
  }

  FakeDatabase& database;
  // Constant after Open.
  std::string table;
  OutputOpen open;

  Mutex mu;
  std::map<ShardIndex, Batch> staged ABSL_GUARDED_BY(mu);
  bool holding ABSL_GUARDED_BY(mu) = false;
  std::vector<absl::AnyInvocable<void()>> held ABSL_GUARDED_BY(mu);
};

class FakeTarget::Endpoint final : public OutputEndpoint {
 public:
  Endpoint(std::shared_ptr<State> state, const Options& options,
           ShardIndex shard)
      : state_(std::move(state)), options_(options), shard_(shard) {}

  absl::Status Connect(AsyncErrorCallback /*on_error*/) override {
    return absl::OkStatus();
  }
  size_t MaxBufferSizeBytes() const override {
    return options_.buffer_bytes_max;
  }

  absl::Status BatchStart(const OutputBatch& started) override {
    batch_.reset();
    {
      MutexLock lock(state_->mu);
      state_->staged.erase(shard_);
    }
    return state_->Do(Operation::kBatchStart, shard_, [&] {
      batch_.emplace();
      batch_->steps = started.steps;
      batch_->id = std::string(started.id);
      batch_->chunks.assign(started.chunks.begin(), started.chunks.end());
      batch_->deadline = started.deadline;
      return absl::OkStatus();
    });
  }

  absl::Status PushBuffer(absl::string_view buffer) override {
    if (!batch_.has_value()) return WrongOrder("push_buffer");
    if (buffer.size() > options_.buffer_bytes_max) {
      batch_.reset();
      return MakeError(Reason::RECORD_TOO_LARGE, "the buffer is too large");
    }
    return Push([&] { batch_->frames.push_back(buffer); });
  }

  absl::Status PushKey(std::optional<absl::string_view> key,
                       std::optional<absl::string_view> value,
                       std::span<const MessageHeader> headers) override {
    if (!batch_.has_value()) return WrongOrder("push_key");
    return Push([&] {
      FakeDatabase::Message message;
      if (key.has_value()) message.key.emplace(*key);
      if (value.has_value()) message.value.emplace(*value);
      for (const MessageHeader& header : headers) {
        auto& added = message.headers.emplace_back(header.first, std::nullopt);
        if (header.second.has_value()) added.second.emplace(*header.second);
      }
      batch_->messages.push_back(std::move(message));
    });
  }

  absl::Status BatchEnd() override {
    if (!batch_.has_value()) return WrongOrder("batch_end");
    const Batch batch = *std::exchange(batch_, std::nullopt);
    return state_->Do(Operation::kBatchEnd, shard_, [&]() -> absl::Status {
      if (!options_.separate_committer) return state_->Commit(shard_, batch);
      MutexLock lock(state_->mu);
      state_->staged[shard_] = batch;
      return absl::OkStatus();
    });
  }

  absl::Status BatchProbe() override {
    if (!options_.tells_rows_apart) return OutputEndpoint::BatchProbe();
    if (!batch_.has_value()) return WrongOrder("batch_probe");
    const Batch batch = *std::exchange(batch_, std::nullopt);
    return state_->Do(Operation::kBatchProbe, shard_,
                      [&] { return state_->Probe(shard_, batch); });
  }

  bool IsFaultTolerant() const override { return options_.level.has_value(); }

 private:
  absl::Status Push(absl::AnyInvocable<void()> add) {
    absl::Status status = state_->Do(Operation::kPush, shard_, [&] {
      add();
      return absl::OkStatus();
    });
    if (!status.ok()) batch_.reset();
    return status;
  }

  const std::shared_ptr<State> state_;
  const Options options_;
  const ShardIndex shard_;
  std::optional<Batch> batch_;
};

class FakeTarget::SeparateCommitter final : public OutputCommitter {
 public:
  SeparateCommitter(std::shared_ptr<State> state, Executor* executor)
      : state_(std::move(state)), executor_(executor) {}

  void Commit(ShardIndex shard, StepRange steps, Done done) override {
    if (executor_ == nullptr) {
      Run(*state_, shard, steps, std::move(done));
      return;
    }
    executor_->Schedule(
        [state = state_, shard, steps, done = std::move(done)]() mutable {
          Run(*state, shard, steps, std::move(done));
        });
  }

 private:
  static void Run(State& state, ShardIndex shard, StepRange steps, Done done) {
    absl::Status status = state.Do(Operation::kCommit, shard, [&] {
      Batch batch;
      {
        MutexLock lock(state.mu);
        const auto staged = state.staged.find(shard);
        if (staged == state.staged.end()) return WrongOrder("commit");
        batch = std::move(staged->second);
        state.staged.erase(staged);
      }
      if (!(batch.steps == steps)) return WrongOrder("commit of other steps");
      return state.Commit(shard, batch);
    });
    {
      MutexLock lock(state.mu);
      if (state.holding) {
        state.held.push_back(
            [done = std::move(done), status = std::move(status)]() mutable {
              done(std::move(status));
            });
        return;
      }
    }
    done(std::move(status));
  }

  const std::shared_ptr<State> state_;
  Executor* const executor_;
};

FakeTarget::FakeTarget(FakeDatabase& database, Options options)
    : state_(std::make_shared<State>(database)), options_(options) {
  if (options_.separate_committer) {
    committer_ =
        std::make_unique<SeparateCommitter>(state_, options_.commit_executor);
  }
}

FakeTarget::~FakeTarget() = default;

std::optional<FtModel> FakeTarget::FaultTolerance() const {
  return options_.level;
}

FrameKind FakeTarget::Frames() const { return options_.frames; }

bool FakeTarget::TellsRowsApart() const { return options_.tells_rows_apart; }

std::unique_ptr<RowEncoder> FakeTarget::MakeEncoder() const {
  return options_.make_encoder ? options_.make_encoder() : nullptr;
}

absl::StatusOr<std::vector<Step>> FakeTarget::Open(const OutputOpen& open) {
  state_->open = open;
  state_->table = FakeDatabase::TableName(open.pipeline, open.connector);
  std::vector<Step> progress;
  absl::Status status = state_->Do(Operation::kOpen, 0, [&] {
    absl::StatusOr<std::vector<Step>> opened = state_->database.Open(open);
    if (opened.ok()) progress = *std::move(opened);
    return opened.status();
  });
  if (!status.ok()) return status;
  return progress;
}

absl::StatusOr<std::unique_ptr<OutputEndpoint>> FakeTarget::MakeEndpoint(
    ShardIndex shard) {
  return std::make_unique<Endpoint>(state_, options_, shard);
}

OutputCommitter& FakeTarget::Committer() {
  if (committer_ != nullptr) return *committer_;
  return commit_in_batch_end_;
}

absl::Status FakeTarget::Close() { return absl::OkStatus(); }

void FakeTarget::HoldAnswers() {
  MutexLock lock(state_->mu);
  state_->holding = true;
}

void FakeTarget::AnswerAll() {
  std::vector<absl::AnyInvocable<void()>> answers;
  {
    MutexLock lock(state_->mu);
    state_->holding = false;
    answers.swap(state_->held);
  }
  for (auto& answer : answers) answer();
}

size_t FakeTarget::held_answers() const {
  MutexLock lock(state_->mu);
  return state_->held.size();
}

}  // namespace penstock::core
