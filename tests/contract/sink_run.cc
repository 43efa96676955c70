#include "core/base/check.h"
#include "core/base/clock.h"
#include "core/base/mutex.h"
#include "core/base/status_macros.h"
#include "tests/contract/sink_suite.h"

#include <absl/strings/str_cat.h>

#include <utility>

namespace penstock::core {

struct SinkRun::Answers {
  Mutex mu;
  CondVar came;
  size_t outstanding ABSL_GUARDED_BY(mu) = 0;
  std::map<ShardIndex, std::vector<absl::Status>> answers ABSL_GUARDED_BY(mu);
};

std::string SinkDriverName(
    const testing::TestParamInfo<SinkDriverFactory>& info) {
  return info.param.name;
}

std::ostream& operator<<(std::ostream& out, const SinkDriverFactory& factory) {
  return out << factory.name;
}

SinkRun::SinkRun(SinkDriver& driver, const OutputOpen& open)
    : driver_(driver),
      target_(driver.Make()),
      opened_(target_->Open(open)),
      encoder_(opened_.ok() ? target_->MakeEncoder() : nullptr),
      answers_(std::make_shared<Answers>()) {}

SinkRun::~SinkRun() { Close(); }

void SinkRun::Close() {
  if (std::exchange(closed_, true)) return;
  Settle();
  const absl::Status closed = target_->Close();
  EXPECT_TRUE(closed.ok()) << closed;
  endpoints_.clear();
}

OutputEndpoint& SinkRun::endpoint(ShardIndex shard) {
  std::unique_ptr<OutputEndpoint>& endpoint = endpoints_[shard];
  if (endpoint == nullptr) {
    auto made = target_->MakeEndpoint(shard);
    CHECK_OK(made);
    endpoint = *std::move(made);
    const absl::Status connected = endpoint->Connect(
        [](bool /*fatal*/, const absl::Status& error, absl::string_view tag) {
          ADD_FAILURE() << tag << ": " << error;
        });
    EXPECT_TRUE(connected.ok()) << connected;
  }
  return *endpoint;
}

absl::Status SinkRun::Start(ShardIndex shard, StepRange steps) {
  return endpoint(shard).BatchStart({.steps = steps});
}

absl::Status SinkRun::Push(ShardIndex shard, const Rows& rows) {
  for (const std::string& row : rows) {
    if (target_->Frames() == FrameKind::kConcatenated) {
      frames_.push_back(FrameOf(row));
      RETURN_IF_ERROR(endpoint(shard).PushBuffer(frames_.back()));
    } else {
      frames_.push_back(row);
      RETURN_IF_ERROR(
          endpoint(shard).PushKey(std::nullopt, frames_.back(), {}));
    }
  }
  return absl::OkStatus();
}

std::string SinkRun::FrameOf(const std::string& row) {
  if (encoder_ == nullptr) return absl::StrCat(row, "\n");
  FrameBuffer frame;
  CHECK_OK(encoder_->Encode({.value = row}, frame));
  return std::string(frame.view());
}

std::string SinkRun::RowOfFrameBytes(size_t bytes) {
  return std::string(bytes - FrameOf("").size(), 'x');
}

absl::Status SinkRun::End(ShardIndex shard) {
  return endpoint(shard).BatchEnd();
}

absl::Status SinkRun::Probe(ShardIndex shard, StepRange steps,
                            const Rows& rows) {
  RETURN_IF_ERROR(Start(shard, steps));
  RETURN_IF_ERROR(Push(shard, rows));
  return endpoint(shard).BatchProbe();
}

void SinkRun::BeginCommit(ShardIndex shard, StepRange steps) {
  {
    MutexLock lock(answers_->mu);
    ++answers_->outstanding;
  }
  target_->Committer().Commit(
      shard, steps, [answers = answers_, shard](absl::Status status) {
        MutexLock lock(answers->mu);
        answers->answers[shard].push_back(std::move(status));
        --answers->outstanding;
        answers->came.NotifyAll();
      });
}

void SinkRun::Settle() {
  driver_.Pump();
  MutexLock lock(answers_->mu);
  const bool settled = answers_->came.WaitUntil(
      answers_->mu, RealClock().SteadyNow() + absl::Seconds(20), [this] {
        answers_->mu.AssertHeld();
        return answers_->outstanding == 0;
      });
  EXPECT_TRUE(settled) << "no answer to a commit";
}

std::map<ShardIndex, std::vector<absl::Status>> SinkRun::TakeAnswers() {
  MutexLock lock(answers_->mu);
  return std::exchange(answers_->answers, {});
}

absl::Status SinkRun::Commit(ShardIndex shard, StepRange steps) {
  TakeAnswers();
  BeginCommit(shard, steps);
  Settle();
  const std::vector<absl::Status> answers = TakeAnswers()[shard];
  EXPECT_EQ(answers.size(), 1) << "answers to one commit";
  if (answers.empty()) return absl::DeadlineExceededError("no answer");
  return answers.front();
}

absl::Status SinkRun::EndAndCommit(ShardIndex shard, StepRange steps) {
  RETURN_IF_ERROR(End(shard));
  return Commit(shard, steps);
}

absl::Status SinkRun::Write(ShardIndex shard, StepRange steps,
                            const Rows& rows) {
  RETURN_IF_ERROR(Start(shard, steps));
  RETURN_IF_ERROR(Push(shard, rows));
  return End(shard);
}

absl::Status SinkRun::WriteAndCommit(ShardIndex shard, StepRange steps,
                                     const Rows& rows) {
  RETURN_IF_ERROR(Write(shard, steps, rows));
  return Commit(shard, steps);
}

}  // namespace penstock::core
