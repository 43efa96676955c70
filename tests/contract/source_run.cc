#include "core/base/check.h"
#include "tests/contract/source_suite.h"

#include <absl/functional/function_ref.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <set>
#include <utility>

namespace penstock::core {

std::string SourceDriverName(
    const testing::TestParamInfo<SourceDriverFactory>& info) {
  return info.param.name;
}

std::ostream& operator<<(std::ostream& out,
                         const SourceDriverFactory& factory) {
  return out << factory.name;
}

SourceRun::SourceRun(SourceDriver& driver, Options options)
    : ends_(driver.capabilities().ends),
      consumer_(options.level, options.limits),
      made_(driver.Make(options.make)) {
  consumer_.SetPump(driver.MakePump());
  absl::StatusOr<OpenedInput> opened = made_.endpoint->Open(
      consumer_, std::move(made_.parser), Schema{}, std::move(options.resume));
  opened_ = opened.status();
  if (!opened.ok()) return;
  position_ = std::move(opened->position);
  reader_ = std::move(opened->reader);
}

SourceRun::~SourceRun() { Close(); }

void SourceRun::Close() {
  if (reader_ == nullptr) return;
  if (!is_disconnected_) Disconnect();
  reader_.reset();
  const Transcript seen = transcript();
  EXPECT_THAT(seen.violations, testing::IsEmpty());
  EXPECT_EQ(seen.steps.size(), steps_seen_) << "an answer to no question";
}

std::optional<SourceRun::RecordedStep> SourceRun::NextStep(
    RecordingConsumer::StepKind kind) {
  const size_t wanted = steps_seen_ + 1;
  const bool came = consumer_.WaitUntil([wanted](const Transcript& seen) {
    return seen.steps.size() >= wanted || seen.HasFatal();
  });
  const Transcript seen = transcript();
  if (seen.steps.size() < wanted) {
    ADD_FAILURE() << (came ? "a fatal error instead of an answer"
                           : "no answer in time");
    return std::nullopt;
  }
  const RecordedStep step = seen.steps[steps_seen_++];
  EXPECT_EQ(static_cast<int>(step.kind), static_cast<int>(kind));
  return step;
}

std::optional<SourceRun::RecordedStep> SourceRun::Queue(
    bool checkpoint_requested) {
  Send(QueueCommand{.checkpoint_requested = checkpoint_requested,
                    .step = steps_seen_});
  return NextStep(RecordingConsumer::StepKind::kExtended);
}

std::optional<SourceRun::RecordedStep> SourceRun::Replay(
    const RecordedStep& step) {
  SendReplay(step);
  return NextStep(RecordingConsumer::StepKind::kReplayed);
}

std::optional<SourceRun::RecordedStep> SourceRun::ReplayOrFatal(
    const RecordedStep& step) {
  SendReplay(step);
  const size_t wanted = steps_seen_ + 1;
  EXPECT_TRUE(consumer_.WaitUntil([wanted](const Transcript& seen) {
    return seen.steps.size() >= wanted || seen.HasFatal();
  })) << "no answer in time";
  if (transcript().steps.size() < wanted) return std::nullopt;
  return NextStep(RecordingConsumer::StepKind::kReplayed);
}

void SourceRun::SendReplay(const RecordedStep& step) {
  CHECK(step.resume.has_value());
  const auto* replay = std::get_if<Resume::Replay>(&step.resume->kind());
  CHECK(replay != nullptr) << "no step to replay";
  Send(ReplayCommand{.metadata = replay->seek, .data = replay->replay});
}

std::optional<SourceRun::RecordedStep> SourceRun::Skip(
    const RecordedStep& step) {
  Send(SkipCommand{.metadata = step.seek()});
  return NextStep(RecordingConsumer::StepKind::kSkipped);
}

bool SourceRun::WaitForData() {
  return consumer_.WaitUntil([](const Transcript& seen) {
    return seen.buffered != seen.extended + seen.replayed ||
           seen.end_of_inputs > 0 || seen.HasFatal();
  });
}

std::vector<SourceRun::RecordedStep> SourceRun::ReadSteps(size_t count) {
  std::vector<RecordedStep> steps;
  size_t records = 0;
  while (records < count) {
    if (!WaitForData()) {
      ADD_FAILURE() << records << " of " << count << " records, then silence";
      return steps;
    }
    std::optional<RecordedStep> step = Queue();
    if (!step.has_value()) return steps;
    if (step->records.empty()) {
      const Transcript seen = transcript();
      if (seen.buffered == seen.extended + seen.replayed &&
          (seen.end_of_inputs > 0 || seen.HasFatal())) {
        ADD_FAILURE() << records << " of " << count << " records, then the end";
        return steps;
      }
      continue;
    }
    records += step->records.size();
    steps.push_back(*std::move(step));
  }
  EXPECT_EQ(records, count) << "more records than were written";
  return steps;
}

std::vector<OwnedRecord> SourceRun::ReadRest(size_t count) {
  const std::vector<RecordedStep> steps = ReadSteps(count);
  if (ends_) {
    EXPECT_TRUE(WaitUntil([](const Transcript& seen) {
      return seen.end_of_inputs > 0;
    })) << "no end of input";
  } else {
    EXPECT_TRUE(StaysFalse([](const Transcript& seen) {
      return seen.buffered != seen.extended + seen.replayed;
    })) << "more than was written is staged";
  }
  const std::optional<RecordedStep> last = Queue();
  if (last.has_value()) {
    EXPECT_THAT(last->records, testing::IsEmpty());
  }
  const Transcript seen = transcript();
  EXPECT_EQ(seen.end_of_inputs, ends_ ? 1u : 0u);
  EXPECT_EQ(seen.buffered, seen.extended + seen.replayed) << "INV-8";
  return RecordsOf(steps);
}

std::vector<OwnedRecord> RecordsOf(
    const std::vector<SourceRun::RecordedStep>& steps) {
  std::vector<OwnedRecord> records;
  for (const SourceRun::RecordedStep& step : steps) {
    records.insert(records.end(), step.records.begin(), step.records.end());
  }
  return records;
}

std::vector<OwnedRecord> ByPartition(std::vector<OwnedRecord> records) {
  std::stable_sort(records.begin(), records.end(),
                   [](const OwnedRecord& a, const OwnedRecord& b) {
                     return a.partition < b.partition;
                   });
  return records;
}

std::vector<OwnedRecord> Without(const std::vector<OwnedRecord>& records,
                                 const std::vector<OwnedRecord>& taken) {
  std::set<std::pair<uint32_t, int64_t>> places;
  for (const OwnedRecord& record : taken) {
    places.emplace(record.partition, record.offset);
  }
  std::vector<OwnedRecord> rest;
  for (const OwnedRecord& record : records) {
    if (!places.contains({record.partition, record.offset})) {
      rest.push_back(record);
    }
  }
  return rest;
}

SourceContractTest::FirstRun SourceContractTest::ReadInSteps(size_t count) {
  SourceRun run(*driver_,
                {.level = capabilities_.level, .make = {.read_bytes = 256}});
  EXPECT_TRUE(run.opened().ok()) << run.opened();
  if (!run.opened().ok()) return {};
  FirstRun result;
  result.base = run.position();
  run.consumer().AdmitAtMost(1);
  run.Extend();
  result.steps = run.ReadSteps(count);
  return result;
}

SourceRun::Options SourceContractTest::ResumeBefore(const FirstRun& run,
                                                    size_t index) {
  return {.resume = index == 0 ? run.base : run.steps[index - 1].seek()};
}

}  // namespace penstock::core
