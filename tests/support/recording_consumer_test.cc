#include "tests/support/recording_consumer.h"

#include "core/base/thread.h"
#include "tests/support/make_batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr BufferSize kOne = {.records = 1, .bytes = 1};

// One buffer of one record, as a right reader flushes it.
void FlushOne(RecordingConsumer& consumer) {
  RecordBatch batch = MakeValueBatch({"a"});
  EXPECT_TRUE(consumer.Admit(batch));
  consumer.Flush(std::move(batch));
}

std::vector<std::string> ViolationsOf(const RecordingConsumer& consumer) {
  return consumer.transcript().violations;
}

TEST(RecordingConsumerTest, RemembersAStep) {
  RecordingConsumer consumer;
  consumer.Buffered(kOne);
  FlushOne(consumer);
  consumer.Extended(kOne, Resume(Resume::Seek{.seek = "7"}), {});

  const RecordingConsumer::Transcript seen = consumer.transcript();
  ASSERT_THAT(seen.steps, SizeIs(1));
  EXPECT_EQ(seen.steps[0].records[0].value, "a");
  EXPECT_EQ(seen.steps[0].seek(), "7");
  EXPECT_EQ(seen.steps[0].hash.count, 1u);
  EXPECT_THAT(seen.steps[0].buffers, ElementsAre(kOne));
  EXPECT_EQ(seen.buffered, kOne);
  EXPECT_EQ(seen.extended, kOne);
  EXPECT_THAT(seen.violations, IsEmpty());
}

TEST(RecordingConsumerTest, StartsEachStepAnew) {
  RecordingConsumer consumer;
  FlushOne(consumer);
  consumer.Extended(kOne, std::nullopt, {});
  consumer.Extended({}, std::nullopt, {});
  EXPECT_THAT(consumer.transcript().steps[1].records, IsEmpty());
  EXPECT_EQ(consumer.transcript().steps[1].hash, StepHasher().Finish());
}

TEST(RecordingConsumerTest, AdmitsAsManyBuffersAStepAsItIsTold) {
  RecordingConsumer consumer;
  consumer.AdmitAtMost(1);
  FlushOne(consumer);
  EXPECT_FALSE(consumer.Admit(MakeValueBatch({"b"})));
  consumer.Extended(kOne, std::nullopt, {});
  FlushOne(consumer);
  EXPECT_THAT(ViolationsOf(consumer), IsEmpty());
}

TEST(RecordingConsumerTest, GivesTheLevelAndItsWatchers) {
  EXPECT_FALSE(RecordingConsumer(std::nullopt).Hasher().has_value());
  EXPECT_EQ(RecordingConsumer(std::nullopt).CheckpointWatcher(), nullptr);
  EXPECT_TRUE(RecordingConsumer(FtModel::kExactlyOnce).Hasher().has_value());
  EXPECT_NE(RecordingConsumer().CheckpointWatcher(), nullptr);
}

TEST(RecordingConsumerTest, WaitUntilEndsWhenItComesTrue) {
  RecordingConsumer consumer;
  Thread other("other",
               [&consumer](std::stop_token) { consumer.EndOfInput(); });
  EXPECT_TRUE(consumer.WaitUntil([](const RecordingConsumer::Transcript& seen) {
    return seen.end_of_inputs == 1;
  }));
}

TEST(RecordingConsumerTest, WaitUntilEndsWithItsTimeout) {
  RecordingConsumer consumer;
  EXPECT_FALSE(consumer.WaitUntil(
      [](const RecordingConsumer::Transcript&) { return false; },
      absl::Milliseconds(1)));
}

TEST(RecordingConsumerTest, WithAPumpWaitUntilPumpsAndAsks) {
  RecordingConsumer consumer;
  consumer.SetPump([&consumer] { consumer.RequestStep(); });
  EXPECT_TRUE(consumer.WaitUntil([](const RecordingConsumer::Transcript& seen) {
    return seen.request_steps == 1;
  }));
}

TEST(RecordingConsumerViolationTest, BufferedAfterEndOfInput) {
  RecordingConsumer consumer;
  consumer.EndOfInput();
  consumer.Buffered(kOne);
  EXPECT_THAT(ViolationsOf(consumer),
              ElementsAre(HasSubstr("buffered after end of input")));
}

TEST(RecordingConsumerViolationTest, EndOfInputTwice) {
  RecordingConsumer consumer;
  consumer.EndOfInput();
  consumer.EndOfInput();
  EXPECT_THAT(ViolationsOf(consumer), ElementsAre(HasSubstr("twice")));
}

TEST(RecordingConsumerViolationTest, ParseErrorsAfterEndOfInput) {
  RecordingConsumer consumer;
  consumer.EndOfInput();
  consumer.ParseErrors({ParseError()});
  EXPECT_THAT(ViolationsOf(consumer), ElementsAre(HasSubstr("parse errors")));
}

TEST(RecordingConsumerViolationTest, FlushWithoutAdmission) {
  RecordingConsumer consumer;
  consumer.Flush(MakeValueBatch({"a"}));
  EXPECT_THAT(ViolationsOf(consumer), ElementsAre(HasSubstr("unadmitted")));
}

TEST(RecordingConsumerViolationTest, AdmissionWithoutFlush) {
  RecordingConsumer consumer;
  EXPECT_TRUE(consumer.Admit(MakeValueBatch({"a"})));
  consumer.Extended({}, std::nullopt, {});
  EXPECT_THAT(ViolationsOf(consumer), ElementsAre(HasSubstr("not flushed")));
}

TEST(RecordingConsumerViolationTest, AnAmountThatIsNotWhatWasFlushed) {
  RecordingConsumer consumer;
  FlushOne(consumer);
  consumer.Extended({.records = 2, .bytes = 1}, std::nullopt, {});
  EXPECT_THAT(ViolationsOf(consumer), ElementsAre(HasSubstr("reported 2")));
}

TEST(RecordingConsumerViolationTest, AReplayHashThatIsNotThatOfTheRecords) {
  RecordingConsumer consumer;
  FlushOne(consumer);
  consumer.Replayed(kOne, 7);
  EXPECT_THAT(ViolationsOf(consumer), ElementsAre(HasSubstr("of a replay")));
}

TEST(RecordingConsumerViolationTest, AResumeHashThatIsNotThatOfTheRecords) {
  RecordingConsumer consumer;
  consumer.Extended({}, Resume::MetadataOnly("{}", 7), {});
  EXPECT_THAT(ViolationsOf(consumer), ElementsAre(HasSubstr("of a resume")));
}

TEST(RecordingConsumerViolationTest, ASkipThatFlushes) {
  RecordingConsumer consumer;
  FlushOne(consumer);
  consumer.Skipped();
  EXPECT_THAT(ViolationsOf(consumer), ElementsAre(HasSubstr("a skip")));
}

TEST(RecordingConsumerViolationTest, FlushAfterCommit) {
  RecordingConsumer consumer;
  consumer.StartTransaction(std::nullopt);
  consumer.CommitTransaction();
  FlushOne(consumer);
  EXPECT_THAT(ViolationsOf(consumer), ElementsAre(HasSubstr("after a commit")));
}

TEST(RecordingConsumerViolationTest, TransactionsOutOfOrder) {
  RecordingConsumer consumer;
  consumer.CommitTransaction();
  consumer.Extended({}, std::nullopt, {});
  consumer.StartTransaction("a");
  consumer.StartTransaction("b");
  EXPECT_THAT(
      ViolationsOf(consumer),
      ElementsAre(HasSubstr("without a transaction"), HasSubstr("within one")));
}

}  // namespace
}  // namespace penstock::core
