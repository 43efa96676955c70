// What shards report while the driver has no turn.
#include "core/base/error.h"
#include "core/base/strand.h"
#include "core/connector/outlet.h"
#include "core/connector/waker.h"
#include "tests/support/manual_executor.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace penstock::core {
namespace {

constexpr ShardIndex kShards = 3;

class SinkEventsTest : public testing::Test {
 protected:
  void Flood() {
    for (int i = 0; i < 2000; ++i) {
      events_.OnEndpointError(0, false, Error(i), "chatter");
    }
  }
  static absl::Status Error(int i) {
    return MakeError(Reason::UNAVAILABLE, absl::StrCat("error ", i));
  }
  static size_t CountOf(const std::vector<SinkEvent>& events,
                        SinkEvent::Kind kind) {
    return static_cast<size_t>(std::count_if(
        events.begin(), events.end(),
        [kind](const auto& event) { return event.kind == kind; }));
  }
  // The last event of `shard` about how its writes go.
  static const SinkEvent* LastTrouble(const std::vector<SinkEvent>& events,
                                      ShardIndex shard) {
    const SinkEvent* last = nullptr;
    for (const SinkEvent& event : events) {
      const bool is_trouble = event.kind == SinkEvent::Kind::kRetry ||
                              event.kind == SinkEvent::Kind::kRecovered;
      if (is_trouble && event.shard == shard) last = &event;
    }
    return last;
  }

  ManualExecutor executor_;
  std::shared_ptr<Strand> strand_ = std::make_shared<Strand>(executor_);
  SinkEvents events_{std::vector<Step>(kShards, 0),
                     std::make_shared<Waker>(strand_, [] {})};
};

TEST_F(SinkEventsTest, AreBoundedWhateverShardsAndEndpointsSay) {
  for (int i = 0; i < 2000; ++i) {
    for (ShardIndex shard = 0; shard < kShards; ++shard) {
      events_.OnProgress(shard, static_cast<Step>(i));
      events_.OnRetry(shard, Error(i), absl::InfiniteFuture());
      events_.OnRecovered(shard);
      events_.OnEndpointError(shard, i % 2 == 0, Error(i), "tag");
    }
  }
  for (ShardIndex shard = 0; shard < kShards; ++shard) {
    events_.OnFatal(shard, Error(0));
  }
  EXPECT_LE(events_.TakeAll().size(),
            SinkEvents::kEventsMax + 1 + 2 * size_t{kShards});
  EXPECT_TRUE(events_.TakeAll().empty());
}

TEST_F(SinkEventsTest, ProgressIsOneEventAndTheNewestCount) {
  for (Step step = 1; step <= 500; ++step) {
    for (ShardIndex shard = 0; shard < kShards; ++shard) {
      events_.OnProgress(shard, step);
    }
  }
  EXPECT_EQ(events_.TakeAll().size(), 1u);
  EXPECT_TRUE(events_.AllHold(499));
  EXPECT_FALSE(events_.AllHold(500));
  events_.OnProgress(0, 501);
  EXPECT_EQ(events_.TakeAll().size(), 1u);
}

TEST_F(SinkEventsTest, ProgressComesThroughAFlood) {
  Flood();
  events_.OnProgress(1, 1);
  EXPECT_EQ(CountOf(events_.TakeAll(), SinkEvent::Kind::kProgress), 1u);
}

TEST_F(SinkEventsTest, TroubleOfEachShardIsTheNewestBehindAFlood) {
  Flood();
  for (int i = 0; i < 50; ++i) {
    events_.OnRetry(1, Error(i), absl::InfiniteFuture());
    events_.OnRecovered(1);
    events_.OnRecovered(2);
    events_.OnRetry(2, Error(i), absl::InfiniteFuture());
  }
  const std::vector<SinkEvent> events = events_.TakeAll();
  EXPECT_EQ(LastTrouble(events, 0), nullptr);
  ASSERT_NE(LastTrouble(events, 1), nullptr);
  EXPECT_EQ(LastTrouble(events, 1)->kind, SinkEvent::Kind::kRecovered);
  ASSERT_NE(LastTrouble(events, 2), nullptr);
  EXPECT_EQ(LastTrouble(events, 2)->kind, SinkEvent::Kind::kRetry);
  EXPECT_EQ(LastTrouble(events, 2)->error, Error(49));
}

TEST_F(SinkEventsTest, FirstFatalErrorComesThroughAFlood) {
  Flood();
  events_.OnEndpointError(2, true, Error(1), "tag");
  events_.OnEndpointError(2, true, Error(2), "tag");
  const std::vector<SinkEvent> events = events_.TakeAll();
  ASSERT_TRUE(events.back().fatal);
  EXPECT_EQ(events.back().error, Error(1));
  EXPECT_FALSE(events[events.size() - 2].fatal);
}

}  // namespace
}  // namespace penstock::core
