#include "core/connector/health.h"

#include "core/base/error.h"
#include "tests/support/fake_clock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <absl/strings/str_cat.h>

#include <string>

namespace penstock::core {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

absl::Status Unreachable() {
  return MakeError(Reason::UNAVAILABLE, "the sink is unreachable");
}

TEST(CutMiddleTest, KeepsShortText) {
  EXPECT_EQ(CutMiddle("short", 64), "short");
}

TEST(CutMiddleTest, KeepsBeginningAndEnd) {
  const std::string text = "begin" + std::string(10'000, '.') + "end";
  const std::string cut = CutMiddle(text, 8192);
  EXPECT_LE(cut.size(), 8192u);
  EXPECT_GT(cut.size(), 8000u);
  EXPECT_THAT(cut, StartsWith("begin..."));
  EXPECT_THAT(cut, EndsWith("...end"));
  EXPECT_THAT(cut, HasSubstr("bytes cut"));
}

class CutMiddleUtf8Test : public testing::TestWithParam<size_t> {};

TEST_P(CutMiddleUtf8Test, CutsBetweenCharacters) {
  std::string text(GetParam(), 'a');
  for (int i = 0; i < 100; ++i) text += "\u20ac";
  const std::string cut = CutMiddle(text, 100);
  EXPECT_LE(cut.size(), 100u);
  // What is left of the euro signs are whole ones.
  size_t continuation = 0;
  size_t leads = 0;
  for (const char byte : cut) {
    const auto value = static_cast<unsigned char>(byte);
    leads += value == 0xe2 ? 1 : 0;
    continuation += (value & 0xc0u) == 0x80u ? 1 : 0;
  }
  EXPECT_EQ(continuation, 2 * leads);
}

INSTANTIATE_TEST_SUITE_P(Shifts, CutMiddleUtf8Test,
                         testing::Values(0, 1, 2, 3));

TEST(HealthLogTest, IdleIsOk) {
  FakeClock clock;
  HealthLog health(clock);
  clock.Advance(absl::Hours(10));
  EXPECT_EQ(health.snapshot().health.condition, Condition::kOk);
  EXPECT_EQ(health.StallsAt(), absl::InfiniteFuture());
}

TEST(HealthLogTest, RetryingShardIsDegradedUntilItRecovers) {
  FakeClock clock;
  HealthLog health(clock);
  const absl::Time began = clock.Now();
  health.SetRetry(1, Unreachable(), clock.Now() + absl::Seconds(1));
  clock.Advance(absl::Seconds(1));
  health.SetRetry(1, Unreachable(), clock.Now() + absl::Seconds(2));
  const HealthLog::Snapshot snapshot = health.snapshot();
  EXPECT_EQ(snapshot.health.condition, Condition::kDegraded);
  EXPECT_EQ(snapshot.health.next_attempt, clock.Now() + absl::Seconds(2));
  EXPECT_THAT(snapshot.health.reason, HasSubstr("shard 1"));
  EXPECT_EQ(snapshot.since, began);
  health.ClearRetry(1);
  EXPECT_EQ(health.snapshot().health.condition, Condition::kOk);
  EXPECT_EQ(health.snapshot().since, clock.Now());
}

TEST(HealthLogTest, StaysDegradedWhileAnotherShardRetries) {
  FakeClock clock;
  HealthLog health(clock);
  health.SetRetry(0, Unreachable(), clock.Now());
  health.SetRetry(1, Unreachable(), clock.Now());
  health.ClearRetry(0);
  EXPECT_EQ(health.snapshot().health.condition, Condition::kDegraded);
}

TEST(HealthLogTest, PendingWorkWithoutProgressStalls) {
  FakeClock clock;
  HealthLog health(clock);
  clock.Advance(absl::Hours(1));
  health.SetPending("steps are not completed");
  EXPECT_EQ(health.StallsAt(), clock.SteadyNow() + HealthLog::kStallAfter);
  clock.Advance(HealthLog::kStallAfter - absl::Milliseconds(1));
  EXPECT_EQ(health.snapshot().health.condition, Condition::kOk);
  clock.Advance(absl::Milliseconds(1));
  EXPECT_EQ(health.snapshot().health.condition, Condition::kStalled);
  EXPECT_EQ(health.snapshot().health.reason, "steps are not completed");
  EXPECT_EQ(health.snapshot().since, clock.Now() - HealthLog::kStallAfter);
}

TEST(HealthLogTest, ProgressPutsAStallOff) {
  FakeClock clock;
  HealthLog health(clock);
  health.SetPending("work");
  clock.Advance(HealthLog::kStallAfter * 2 / 3);
  health.Progress();
  clock.Advance(HealthLog::kStallAfter * 2 / 3);
  EXPECT_EQ(health.snapshot().health.condition, Condition::kOk);
  clock.Advance(HealthLog::kStallAfter * 2 / 3);
  EXPECT_EQ(health.snapshot().health.condition, Condition::kStalled);
  health.Progress();
  EXPECT_EQ(health.snapshot().health.condition, Condition::kOk);
  EXPECT_EQ(health.snapshot().since, clock.Now());
}

TEST(HealthLogTest, NothingPendingIsNoStall) {
  FakeClock clock;
  HealthLog health(clock);
  health.SetPending("work");
  health.SetPending(std::nullopt);
  clock.Advance(absl::Hours(1));
  EXPECT_EQ(health.snapshot().health.condition, Condition::kOk);
}

TEST(HealthLogTest, SourceSpeaksForItself) {
  FakeClock clock;
  HealthLog health(clock);
  health.SetSource(
      {.condition = Condition::kNeedsConfig, .reason = "which topic?"});
  health.SetRetry(0, Unreachable(), clock.Now());
  EXPECT_EQ(health.snapshot().health.condition, Condition::kNeedsConfig);
  health.SetSource({});
  EXPECT_EQ(health.snapshot().health.condition, Condition::kDegraded);
}

TEST(HealthLogTest, SourceCannotSayThatTheConnectorFailed) {
  FakeClock clock;
  HealthLog health(clock);
  health.SetSource({.condition = Condition::kFatal, .reason = "no broker"});
  EXPECT_EQ(health.snapshot().health.condition, Condition::kDegraded);
}

TEST(HealthLogTest, FatalIsForGood) {
  FakeClock clock;
  HealthLog health(clock);
  health.SetFatal(Unreachable());
  health.SetFatal(MakeError(Reason::INTERNAL, "a later one"));
  health.SetSource({});
  const HealthLog::Snapshot snapshot = health.snapshot();
  EXPECT_EQ(snapshot.health.condition, Condition::kFatal);
  EXPECT_THAT(snapshot.health.reason, HasSubstr("unreachable"));
}

TEST(HealthLogTest, KeepsTheLastHundredErrorsOfEachTag) {
  FakeClock clock;
  HealthLog health(clock);
  for (int i = 1; i <= 150; ++i) health.AddError("a", false, absl::StrCat(i));
  health.AddError("b", true, "once");
  const HealthLog::Snapshot snapshot = health.snapshot();
  const std::vector<ErrorEntry> errors = health.Errors(1'000);
  ASSERT_THAT(errors, SizeIs(101));
  EXPECT_EQ(errors.front().text, "51");
  EXPECT_EQ(errors.front().index, 51u);
  EXPECT_EQ(errors.back().tag, "b");
  EXPECT_TRUE(errors.back().fatal);
  EXPECT_EQ(snapshot.error_count, 151u);
  EXPECT_EQ(snapshot.first_error, "1");
}

TEST(HealthLogTest, TheNewestErrorsAreThoseOfAllTags) {
  FakeClock clock;
  HealthLog health(clock);
  for (const char* tag : {"a", "c", "b", "a"}) {
    clock.Advance(absl::Seconds(1));
    health.AddError(tag, false, tag);
  }
  EXPECT_THAT(health.Errors(3), ElementsAre(Field(&ErrorEntry::tag, "c"),
                                            Field(&ErrorEntry::tag, "b"),
                                            Field(&ErrorEntry::tag, "a")));
  EXPECT_THAT(health.Errors(0), IsEmpty());
}

TEST(HealthLogTest, CutsLongErrors) {
  FakeClock clock;
  HealthLog health(clock);
  const ErrorEntry entry =
      health.AddError("a", false, std::string(100'000, 'x'));
  EXPECT_LE(entry.text.size(), HealthLog::kErrorBytes);
}

TEST(HealthLogTest, ManyTagsShareOne) {
  FakeClock clock;
  HealthLog health(clock);
  for (size_t i = 0; i < HealthLog::kTagsMax; ++i) {
    health.AddError(absl::StrCat("tag", i), false, "x");
  }
  EXPECT_EQ(health.AddError("one more", false, "x").tag, "other");
  EXPECT_EQ(health.AddError("tag0", false, "x").tag, "tag0");
}

TEST(HealthLogTest, FirstErrorIsForgottenWhenItIsOkAgain) {
  FakeClock clock;
  HealthLog health(clock);
  health.AddError("write", false, "first");
  health.SetRetry(0, Unreachable(), clock.Now());
  health.AddError("write", false, "second");
  EXPECT_EQ(health.snapshot().first_error, "first");
  health.ClearRetry(0);
  EXPECT_EQ(health.snapshot().first_error, std::nullopt);
  EXPECT_EQ(health.snapshot().error_count, 2u);
}

}  // namespace
}  // namespace penstock::core
