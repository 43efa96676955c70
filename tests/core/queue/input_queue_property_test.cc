// INV-8 and order over random operations.
#include "core/queue/input_queue.h"

#include "core/base/random.h"
#include "tests/support/make_batch.h"
#include "tests/support/recording_consumer.h"
#include "tests/support/test_rng.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

using testing::IsEmpty;

// Pushes at random and remembers what must come out.
class Workload {
 public:
  explicit Workload(Random& random) : random_(random) {}

  std::vector<std::string> MakeValues() {
    std::vector<std::string> values;
    const uint64_t count = random_.Uniform(6);
    for (uint64_t i = 0; i < count; ++i) {
      values.push_back(absl::StrCat(values_.size(), "-",
                                    std::string(random_.Uniform(20), 'x')));
      values_.push_back(values.back());
    }
    return values;
  }

  RecordingConsumer::Limits MakeLimits() {
    RecordingConsumer::Limits limits;
    if (random_.Bernoulli(0.7)) limits.batch_records_max = random_.Uniform(12);
    if (random_.Bernoulli(0.3)) limits.batch_bytes_max = random_.Uniform(200);
    limits.queued_bytes_max = random_.Uniform(4000);
    return limits;
  }

  std::optional<size_t> MakeAdmission() {
    if (random_.Bernoulli(0.5)) return std::nullopt;
    return random_.Uniform(4);
  }

  // Everything pushed, in order.
  const std::vector<std::string>& values() const { return values_; }

 private:
  Random& random_;
  std::vector<std::string> values_;
};

std::vector<std::string> AllValues(
    const RecordingConsumer::Transcript& transcript) {
  std::vector<std::string> values;
  for (const RecordingConsumer::RecordedStep& step : transcript.steps) {
    for (const OwnedRecord& record : step.records) {
      values.push_back(*record.value);
    }
  }
  return values;
}

template <typename Queue>
void ExpectBalanced(const RecordingConsumer& consumer, const Queue& queue) {
  const RecordingConsumer::Transcript seen = consumer.transcript();
  ASSERT_EQ(seen.buffered, seen.extended + queue.QueuedSize()) << "INV-8";
  ASSERT_EQ(queue.QueuedSize().records == 0, queue.QueuedBytes() == 0);
  ASSERT_THAT(seen.violations, IsEmpty());
}

TEST(InputQueuePropertyTest, FlushWithAuxConservesRecordsAuxAndOrder) {
  Random random = TestRandom();
  for (int round = 0; round < 100; ++round) {
    RecordingConsumer consumer;
    InputQueue<size_t> queue(consumer);
    Workload workload(random);
    size_t next_aux = 0;
    std::vector<size_t> aux;
    for (int op = 0; op < 60; ++op) {
      if (random.Bernoulli(0.6)) {
        queue.PushWithAux(MakeValueBatch(workload.MakeValues()), {},
                          absl::UnixEpoch(), next_aux++);
      } else {
        consumer.SetLimits(workload.MakeLimits());
        consumer.AdmitAtMost(workload.MakeAdmission());
        const FlushResult<size_t> result = queue.FlushWithAux();
        for (const auto& entry : result.aux) aux.push_back(entry.second);
        consumer.Extended(result.total, std::nullopt, {});
        ASSERT_EQ(consumer.transcript().steps.back().hash, result.hash);
      }
      ExpectBalanced(consumer, queue);
    }
    consumer.SetLimits({});
    consumer.AdmitAtMost(std::nullopt);
    const FlushResult<size_t> result = queue.FlushWithAux();
    for (const auto& entry : result.aux) aux.push_back(entry.second);
    consumer.Extended(result.total, std::nullopt, {});
    ExpectBalanced(consumer, queue);
    ASSERT_TRUE(queue.IsEmpty());
    ASSERT_EQ(AllValues(consumer.transcript()), workload.values());
    ASSERT_EQ(aux.size(), next_aux);
    for (size_t i = 0; i < aux.size(); ++i) ASSERT_EQ(aux[i], i);
  }
}

TEST(InputQueuePropertyTest, QueueConservesRecordsAndKeepsItsLimit) {
  Random random = TestRandom();
  for (int round = 0; round < 100; ++round) {
    RecordingConsumer consumer(std::nullopt);
    InputQueue<> queue(consumer);
    Workload workload(random);
    for (int op = 0; op < 60; ++op) {
      if (random.Bernoulli(0.6)) {
        queue.Push(MakeValueBatch(workload.MakeValues()), {},
                   absl::UnixEpoch());
      } else {
        const RecordingConsumer::Limits limits = workload.MakeLimits();
        consumer.SetLimits(limits);
        consumer.AdmitAtMost(workload.MakeAdmission());
        queue.Queue();
        ASSERT_LE(consumer.transcript().steps.back().amount.records,
                  limits.batch_records_max);
      }
      ExpectBalanced(consumer, queue);
    }
    consumer.SetLimits({});
    consumer.AdmitAtMost(std::nullopt);
    queue.Queue();
    ExpectBalanced(consumer, queue);
    ASSERT_TRUE(queue.IsEmpty());
    ASSERT_EQ(AllValues(consumer.transcript()), workload.values());
  }
}

// The same records in any batches hash to the same sum of steps: what one
// flush takes equals what a flush of all takes, step by step or at once.
TEST(InputQueuePropertyTest, TheHashDoesNotDependOnHowBuffersWereCut) {
  Random random = TestRandom();
  for (int round = 0; round < 100; ++round) {
    std::vector<std::string> values;
    const uint64_t count = random.Uniform(40);
    for (uint64_t i = 0; i < count; ++i) values.push_back(absl::StrCat(i));
    StepHasher whole;
    MakeValueBatch(values).HashInto(whole);

    RecordingConsumer consumer;
    InputQueue<int> queue(consumer);
    RecordBatch batch = MakeValueBatch(values);
    while (!batch.IsEmpty()) {
      queue.PushWithAux(batch.TakeSome(1 + random.Uniform(9)), {},
                        absl::UnixEpoch(), 0);
    }
    ASSERT_EQ(queue.FlushWithAux().hash, whole.Finish());
  }
}

}  // namespace
}  // namespace penstock::core
