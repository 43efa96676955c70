// The source "file" over all files that match a pattern, read to their ends.
#include "tests/core/sources/file/many_files_fixture.h"
#include "tests/support/compress.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace penstock::core {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

TEST_F(ManyFilesTest, AllAreReadAndThenTheInputEnds) {
  files_.Put("/l/b.log", "b1\nb2");
  files_.Put("/l/a.log", "a1\n");
  files_.Put("/l/empty.log", "");
  files_.Put("/l/c.txt", "no\n");
  Open();
  EXPECT_THAT(Read(), ElementsAre("a1", "b1", "b2"));
  EXPECT_EQ(consumer_->transcript().end_of_inputs, 1u);
}

TEST_F(ManyFilesTest, EachFileIsAPartitionOfItsOwn) {
  files_.Put("/l/a.log", "a1\n");
  files_.Put("/l/b.log", "b1\nb2\n");
  Open();
  Run();
  const RecordedStep step = Queue();
  ASSERT_THAT(step.records, SizeIs(3));
  EXPECT_EQ(step.records[0].partition, 0u);
  EXPECT_EQ(step.records[2].partition, 1u);
  EXPECT_EQ(step.records[2].offset, 3);
}

TEST_F(ManyFilesTest, LongFilesHoldBackNoOthers) {
  std::string text;
  for (int i = 0; i < 100; ++i) absl::StrAppend(&text, "a", i, "\n");
  files_.Put("/l/a.log", text);
  files_.Put("/l/b.log", "b\n");
  Open();
  Run();
  const std::vector<std::string> values = ValuesOf(Queue());
  ASSERT_THAT(values, SizeIs(101));
  EXPECT_NE(values.back(), "b");
}

TEST_F(ManyFilesTest, TheOlderComeFirstIfSoConfigured) {
  config_.order = FileOrder::kModified;
  files_.Put("/l/b.log", "b\n");
  files_.Put("/l/a.log", "a\n");
  Open();
  EXPECT_THAT(Read(), ElementsAre("b", "a"));
}

TEST_F(ManyFilesTest, CompressedOnesAreReadAmongThem) {
  files_.Put("/l/a.log", "a\n");
  files_.Put("/l/a.log.1.gz", Gzip("old\n"));
  files_.Put("/l/a.log.2.zst", Zstd("older\n"));
  Open();
  EXPECT_THAT(Read(), ElementsAre("a", "old", "older"));
}

TEST_F(ManyFilesTest, EqualFilesAreNotTheSame) {
  files_.Put("/l/a.log", "x\n");
  files_.Put("/l/b.log", "x\n");
  Open();
  EXPECT_THAT(Read(), ElementsAre("x", "x"));
}

TEST_F(ManyFilesTest, TwoNamesOfOneFileAreReadOnce) {
  files_.Put("/l/a.log", "x\n");
  ASSERT_OK(files_.Link("/l/a.log", "/l/b.log"));
  Open();
  EXPECT_THAT(Read(), ElementsAre("x"));
}

TEST_F(ManyFilesTest, NoFileAtAllIsAnErrorAtOpen) {
  EXPECT_THAT(TryOpen(), HasReason(Reason::NOT_FOUND));
}

TEST_F(ManyFilesTest, AFileThatCannotBeReadIsFatal) {
  files_.Put("/l/a.log", "a\n");
  files_.FailNext(FileOperation::kOpenForRead, "/l/a.log",
                  MakeError(Reason::PERMISSION_DENIED, "no"), 100);
  Open();
  Run();
  EXPECT_TRUE(HasFailed());
}

class ReplayedFilesTest : public ManyFilesTest {
 protected:
  // Ten files of ten lines, in steps of about four.
  void ReadInSteps() {
    limits_.batch_records_max = 4;
    for (int file = 0; file < 10; ++file) {
      std::string text;
      for (int line = 0; line < 10; ++line) {
        absl::StrAppend(&text, "file ", file, " line ", line, "\n");
      }
      files_.Put(absl::StrCat("/l/", file, ".log"), text);
    }
    Open();
    base_ = position_;
    Run();
    while (!Queue().amount.IsEmpty()) {
    }
    steps_.pop_back();
    ASSERT_GT(steps_.size(), 10u);
  }
  std::string SeekBefore(size_t step) const {
    return step == 0 ? base_ : steps_[step - 1].seek();
  }

  std::string base_;
};

TEST_F(ReplayedFilesTest, EveryStepIsReplayedAsItWas) {
  ReadInSteps();
  const std::vector<RecordedStep> steps = steps_;
  Open(base_);
  for (const RecordedStep& step : steps) {
    const RecordedStep again = Replay(step);
    ASSERT_FALSE(HasFailed());
    EXPECT_EQ(again.replay_hash, step.hash.value);
    EXPECT_EQ(again.amount, step.amount);
  }
}

TEST_F(ReplayedFilesTest, FromEveryStepOnTheRestIsReadOnce) {
  ReadInSteps();
  const std::vector<RecordedStep> steps = steps_;
  for (size_t from = 0; from < steps.size(); ++from) {
    std::multiset<std::string> expected;
    for (size_t i = from; i < steps.size(); ++i) {
      for (const std::string& value : ValuesOf(steps[i])) {
        expected.insert(value);
      }
    }
    limits_.batch_records_max = UINT64_MAX;
    Open(SeekBefore(from));
    const std::vector<std::string> rest = Read();
    EXPECT_EQ(std::multiset<std::string>(rest.begin(), rest.end()), expected);
  }
}

TEST_F(ReplayedFilesTest, StepsCanBeSkipped) {
  ReadInSteps();
  const std::vector<RecordedStep> steps = steps_;
  Open(base_);
  for (size_t i = 0; i < steps.size(); ++i) {
    if (i % 2 == 0) {
      Send(SkipCommand{.metadata = steps[i].seek()});
      executor_.RunUntilIdle();
    } else {
      EXPECT_EQ(Replay(steps[i]).replay_hash, steps[i].hash.value);
    }
    ASSERT_FALSE(HasFailed());
  }
  EXPECT_THAT(Read(), IsEmpty());
}

TEST_F(ReplayedFilesTest, AStepOutOfOrderIsRefused) {
  ReadInSteps();
  const RecordedStep last = steps_.back();
  Open(base_);
  Replay(last);
  ASSERT_TRUE(HasFailed());
  EXPECT_THAT(consumer_->transcript().errors.back().status,
              HasReason(Reason::POSITION_MISMATCH));
}

TEST_F(ReplayedFilesTest, RenamedAndCompressedFilesAreFound) {
  ReadInSteps();
  const std::vector<RecordedStep> steps = steps_;
  ASSERT_OK(files_.Rename("/l/3.log", "/l/3.old"));
  const std::string text = *files_.Contents("/l/4.log");
  ASSERT_OK(files_.Remove("/l/4.log"));
  files_.Put("/l/4.log.gz", Gzip(text));
  Open(base_);
  for (const RecordedStep& step : steps) {
    EXPECT_EQ(Replay(step).replay_hash, step.hash.value);
    ASSERT_FALSE(HasFailed());
  }
}

TEST_F(ReplayedFilesTest, AFileThatIsGoneIsExpired) {
  ReadInSteps();
  const RecordedStep first = steps_.front();
  for (int file = 0; file < 10; ++file) {
    ASSERT_OK(files_.Remove(absl::StrCat("/l/", file, ".log")));
  }
  Open(base_);
  Replay(first);
  ASSERT_TRUE(HasFailed());
  EXPECT_THAT(consumer_->transcript().errors.back().status,
              HasReason(Reason::POSITION_EXPIRED));
}

TEST_F(ManyFilesTest, AFileThatWasReadToItsEndMayGo) {
  files_.Put("/l/a.log", "a\n");
  files_.Put("/l/b.log", "b\n");
  Open();
  Read();
  ASSERT_OK(files_.Remove("/l/a.log"));
  files_.Put("/l/c.log", "c\n");
  Open(steps_.back().seek());
  EXPECT_THAT(Read(), ElementsAre("c"));
}

TEST_F(ManyFilesTest, AFileThatWasRenamedMeanwhileIsNotReadAgain) {
  files_.Put("/l/m.log", "m\n");
  Open();
  Read();
  // Found before the name that it had, and behind it.
  ASSERT_OK(files_.Rename("/l/m.log", "/l/a.log"));
  Open(steps_.back().seek());
  EXPECT_THAT(Read(), IsEmpty());
  ASSERT_OK(files_.Rename("/l/a.log", "/l/z.log"));
  Open(steps_.back().seek());
  EXPECT_THAT(Read(), IsEmpty());
  EXPECT_FALSE(HasFailed());
}

TEST_F(ManyFilesTest, AFileThatWasReadInPartMayNot) {
  limits_.batch_records_max = 1;
  std::string text;
  for (int i = 0; i < 100; ++i) absl::StrAppend(&text, "a", i, "\n");
  files_.Put("/l/a.log", text);
  Open();
  Run();
  Queue();
  ASSERT_OK(files_.Remove("/l/a.log"));
  Open(steps_.back().seek());
  Run();
  ASSERT_TRUE(HasFailed());
  EXPECT_THAT(consumer_->transcript().errors.back().status,
              HasReason(Reason::POSITION_EXPIRED));
}

// Behind so many others that a step says only what it changed.
class LargePositionTest : public ReplayedFilesTest {
 protected:
  LargePositionTest() {
    const std::string directory = absl::StrCat("/l/", std::string(900, 'd'));
    for (int i = 0; i < 200; ++i) {
      files_.Put(absl::StrCat(directory, "/", i, ".log"), "short\n");
    }
    config_.path = "/l/**/*.log*";
    limits_.batch_records_max = 4;
  }
  static bool IsChange(const std::string& seek) {
    return SourcePosition::Parse(seek)->is_change;
  }
  // Both are changes that read from no file in common.
  static bool AreApart(const std::string& a, const std::string& b) {
    if (!IsChange(a) || !IsChange(b)) return false;
    std::set<uint32_t> read;
    size_t files = 0;
    for (const std::string& seek : {a, b}) {
      for (const FilePosition& file : SourcePosition::Parse(seek)->files) {
        read.insert(file.id);
        ++files;
      }
    }
    return read.size() == files;
  }
};

TEST_F(LargePositionTest, EveryStepIsReplayedAsItWas) {
  ReadInSteps();
  const std::vector<RecordedStep> steps = steps_;
  ASSERT_TRUE(IsChange(steps.back().seek()));
  Open(base_);
  for (const RecordedStep& step : steps) {
    EXPECT_EQ(Replay(step).replay_hash, step.hash.value);
    ASSERT_FALSE(HasFailed());
  }
  EXPECT_THAT(Read(), IsEmpty());
}

TEST_F(LargePositionTest, StepsCanBeSkipped) {
  ReadInSteps();
  const std::vector<RecordedStep> steps = steps_;
  Open(base_);
  for (size_t i = 0; i < steps.size(); ++i) {
    if (i % 2 == 0) {
      Send(SkipCommand{.metadata = steps[i].seek()});
      executor_.RunUntilIdle();
    } else {
      EXPECT_EQ(Replay(steps[i]).replay_hash, steps[i].hash.value);
    }
    ASSERT_FALSE(HasFailed());
  }
  EXPECT_THAT(Read(), IsEmpty());
}

// It read from other files than the one behind it: their records would come
// twice, once more when they are read on.
TEST_F(LargePositionTest, AStepThatWasLeftOutIsNoticed) {
  ReadInSteps();
  const std::vector<RecordedStep> steps = steps_;
  size_t left_out = 0;
  while (!AreApart(steps[left_out].seek(), steps[left_out + 1].seek())) {
    ASSERT_LT(++left_out + 1, steps.size());
  }
  for (const bool skips : {false, true}) {
    Open(base_);
    for (size_t i = 0; i < left_out; ++i) Replay(steps[i]);
    ASSERT_FALSE(HasFailed());
    if (skips) {
      Send(SkipCommand{.metadata = steps[left_out + 1].seek()});
      executor_.RunUntilIdle();
    } else {
      Replay(steps[left_out + 1]);
    }
    ASSERT_TRUE(HasFailed());
    EXPECT_THAT(consumer_->transcript().errors.back().status,
                HasReason(Reason::POSITION_MISMATCH));
  }
}

TEST_F(LargePositionTest, AChangeIsNoPlaceToBeginAt) {
  ReadInSteps();
  EXPECT_THAT(TryOpen(steps_.back().seek()),
              HasReason(Reason::MALFORMED_FRAME));
}

TEST_F(LargePositionTest, FromAWholePlaceTheRestIsReadOnce) {
  ReadInSteps();
  Open(base_);
  Run();
  std::multiset<std::string> lines;
  for (int i = 0; i < 60; ++i) {
    for (const std::string& line : ValuesOf(Queue())) lines.insert(line);
  }
  for (const std::string& line : ValuesOf(Queue(true))) lines.insert(line);
  const auto change = std::get<Resume::Replay>(steps_.back().resume->kind());
  ASSERT_TRUE(IsChange(change.seek));
  const std::optional<Resume::Change> whole =
      Resume(*steps_.back().resume).TakeChange();
  ASSERT_TRUE(whole.has_value() && whole->whole.has_value());
  limits_.batch_records_max = UINT64_MAX;
  Open(*whole->whole);
  while (true) {
    const std::vector<std::string> rest = Read();
    if (rest.empty()) break;
    lines.insert(rest.begin(), rest.end());
  }
  EXPECT_EQ(lines.size(), 300u);
  EXPECT_EQ(lines.count("short"), 200u);
}

TEST_F(ManyFilesTest, NoStepsResultIsTooLong) {
  constexpr int kFiles = 2000;
  for (int i = 0; i < kFiles; ++i) {
    files_.Put(absl::StrCat("/l/", i, ".log"), absl::StrCat("line ", i, "\n"));
  }
  Open();
  Run();
  size_t records = 0;
  while (!Queue().amount.IsEmpty()) {
    records += steps_.back().records.size();
    size_t bytes = steps_.back().seek().size();
    for (const Watermark& watermark : steps_.back().watermarks) {
      bytes += watermark.metadata->size() + 20;
    }
    EXPECT_LT(bytes, 250u << 10);
  }
  EXPECT_EQ(records, size_t{kFiles});
  EXPECT_GT(steps_.size(), 4u);
}

TEST_F(ManyFilesTest, TooManyFilesAreRefused) {
  config_.positions_bytes_max = 200'000;
  for (int i = 0; i < 1000; ++i) {
    files_.Put(absl::StrCat("/l/", i, ".log"), absl::StrCat("line ", i, "\n"));
  }
  Open();
  Run();
  ASSERT_TRUE(HasFailed());
  EXPECT_THAT(consumer_->transcript().errors.back().status,
              HasReason(Reason::UNSUPPORTED));
}

}  // namespace
}  // namespace penstock::core
