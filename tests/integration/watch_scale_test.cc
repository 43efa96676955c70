// Thousands of watches of one worker (rule 11), and one that is not read.
#include "client/watch.h"
#include "core/base/error.h"
#include "core/base/filesystem.h"
#include "core/base/memory.h"
#include "core/base/notification.h"
#include "proto/penstock/v1/watch.pb.h"
#include "tests/integration/caller.h"
#include "tests/integration/real_worker.h"
#include "tests/integration/stalled_watch.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace penstock {
namespace {

constexpr int kWatchers = 2000;
constexpr core::Step kSteps = 20;
// Of 4 KiB each, which is what a step takes at least.
constexpr int kLines = 60'000;
// Ten bad records of 4 KiB each: more than a watch keeps, and what is on its
// way to it.
constexpr int kBadFiles = 50;
constexpr absl::Duration kPatience = absl::Minutes(2);

// What all watchers of one kind have seen.
struct Seen {
  std::atomic<int> created{0};
  std::atomic<int> snapshots{0};
  std::atomic<int> last_steps{0};
  std::atomic<int> wrong{0};
  std::atomic<int> ended{0};
  core::Notification all_snapshots;
  core::Notification all_last_steps;
};

// The order of one watch's events; adds to what all have seen.
class Order {
 public:
  explicit Order(Seen& seen) : seen_(seen) {}
  void Take(const v1::WatchEvent& event) {
    if (event.has_created()) {
      if (stage_++ != 0) ++seen_.wrong;
      ++seen_.created;
    } else if (event.has_snapshot_end()) {
      if (stage_++ != 1) ++seen_.wrong;
      if (++seen_.snapshots == kWatchers) seen_.all_snapshots.Notify();
    } else if (event.has_completion()) {
      if (stage_ == 0) ++seen_.wrong;
      const core::Step completed = event.completion().completed_steps();
      if (completed < completed_) ++seen_.wrong;
      if (completed_ < kSteps && completed == kSteps &&
          ++seen_.last_steps == kWatchers) {
        seen_.all_last_steps.Notify();
      }
      completed_ = completed;
    }
  }

 private:
  Seen& seen_;
  int stage_ = 0;
  core::Step completed_ = 0;
};

class WatchScaleTest : public ::testing::Test {
 protected:
  WatchScaleTest() : caller_(worker_.control(), "shop", 1) {}

  void Open() {
    const std::string source = worker_.Write("in", Lines("line ", kLines));
    ASSERT_OK(caller_.Open(LinesSpec("orders", source, "")));
    ASSERT_OK(caller_.Extend());
  }
  // Of one block; completed when it returns.
  void MakeStep(core::Step step) {
    core::QueueRequest request;
    request.step = step;
    request.previous_steps = step;
    request.min_records = 1;
    request.max_records = 1;
    request.wait = absl::Seconds(60);
    const auto queued = caller_.StartQueue(request).Get();
    ASSERT_OK(queued.status());
    ASSERT_NE(queued->result, nullptr);
    ASSERT_OK(caller_.Release(step + 1));
    ASSERT_OK_AND_ASSIGN(const core::PrepareCheckpointReply ready,
                         caller_.Prepare(step + 1));
    ASSERT_TRUE(ready.ready);
  }
  void MakeSteps(core::Step from, core::Step end) {
    for (core::Step step = from; step < end; ++step) {
      ASSERT_NO_FATAL_FAILURE(MakeStep(step)) << step;
    }
  }
  // Of those that are read together ten are shown, and no file has more: all
  // are events, however they come.
  void ReportBadRecords() {
    std::string lines;
    for (int i = 0; i < 10; ++i) {
      absl::StrAppend(&lines, "{\"a\": ", std::string(4000, 'x'), "\n");
    }
    const std::string path = worker_.Write("bad", lines);
    Caller bad(worker_.control(), "bakery", 1);
    for (int i = 0; i < kBadFiles; ++i) {
      ASSERT_OK(bad.Open(NdjsonSpec(absl::StrCat("bad", i), path)));
      ASSERT_OK(bad.Extend());
      absl::StatusOr<core::ConnectorStatus> status = bad.Get();
      while (status.ok() && !status->end_of_input) status = bad.Get();
      ASSERT_OK(status.status());
      ASSERT_EQ(status->parse_errors, 10u);
      ASSERT_OK(bad.Delete().status());
    }
  }
  static uint64_t ResidentBytes() {
    return core::ResidentBytes(core::PosixFileSystem()).value_or(0);
  }

  RealWorker worker_;
  Caller caller_;
};

TEST_F(WatchScaleTest, ThousandsAreToldEverything) {
  ASSERT_NO_FATAL_FAILURE(Open());
  Seen seen;
  std::vector<std::unique_ptr<Order>> orders;
  std::vector<std::unique_ptr<client::Watch>> watches;
  v1::WatchRequest request;
  request.set_pipeline("shop");
  request.add_kinds(v1::WATCH_KIND_STATE);
  request.add_kinds(v1::WATCH_KIND_COMPLETION);
  for (int i = 0; i < kWatchers; ++i) {
    Order& order = *orders.emplace_back(std::make_unique<Order>(seen));
    watches.push_back(worker_.client().StartWatch(
        request, [&order](const v1::WatchEvent& event) { order.Take(event); },
        [&seen](const absl::Status& /*status*/) { ++seen.ended; }));
  }
  ASSERT_TRUE(seen.all_snapshots.WaitForNotificationWithTimeout(kPatience))
      << seen.snapshots;
  EXPECT_EQ(seen.created, kWatchers);
  const uint64_t before = ResidentBytes();
  ASSERT_NO_FATAL_FAILURE(MakeSteps(0, kSteps));
  EXPECT_TRUE(seen.all_last_steps.WaitForNotificationWithTimeout(kPatience))
      << seen.last_steps;
  EXPECT_EQ(seen.wrong, 0);
  EXPECT_EQ(seen.ended, 0);
  // What 2,000 coalesce to.
  EXPECT_LT(ResidentBytes(), before + (uint64_t{256} << 20));
}

// It holds up no step, before its windows are full and after.
TEST_F(WatchScaleTest, OneThatIsNotReadIsEndedWithTheReason) {
  ASSERT_NO_FATAL_FAILURE(Open());
  StalledWatch stalled(worker_.target(), {});
  ASSERT_NO_FATAL_FAILURE(MakeSteps(0, kSteps / 2));
  ASSERT_NO_FATAL_FAILURE(ReportBadRecords());
  ASSERT_NO_FATAL_FAILURE(MakeSteps(kSteps / 2, kSteps));
  // The reason proper, or its text if that took more than 5 s.
  const absl::Status end = stalled.ReadOn(kPatience);
  EXPECT_TRUE(absl::IsResourceExhausted(end)) << end;
  EXPECT_THAT(core::ErrorText(end), ::testing::HasSubstr("SLOW_WATCHER"));
}

}  // namespace
}  // namespace penstock
