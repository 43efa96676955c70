// Watches of a whole worker (rule 11), over gRPC.
#include "client/watch.h"
#include "core/base/clock.h"
#include "core/base/mutex.h"
#include "proto/penstock/v1/watch.pb.h"
#include "tests/integration/caller.h"
#include "tests/integration/real_worker.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace penstock {
namespace {

using core::HasReason;
using core::Reason;
using v1::WatchEvent;

// Remembers the events of one watch.
class Recorder {
 public:
  Recorder(RealWorker& worker, const v1::WatchRequest& request)
      : watch_(worker.client().StartWatch(
            request,
            [this](const WatchEvent& event) {
              core::MutexLock lock(mu_);
              events_.push_back(event);
              changed_.NotifyAll();
            },
            [this](absl::Status status) {
              core::MutexLock lock(mu_);
              outcome_ = std::move(status);
              changed_.NotifyAll();
            })) {}

  // The first event that `wanted` is true of.
  std::optional<WatchEvent> WaitFor(
      const std::function<bool(const WatchEvent&)>& wanted) {
    core::MutexLock lock(mu_);
    std::optional<WatchEvent> found;
    changed_.WaitUntil(mu_, core::RealClock().SteadyNow() + absl::Seconds(20),
                       [&] {
                         mu_.AssertHeld();
                         for (const WatchEvent& event : events_) {
                           if (!wanted(event)) continue;
                           found = event;
                           return true;
                         }
                         return outcome_.has_value();
                       });
    return found;
  }
  absl::Status WaitForEnd() {
    core::MutexLock lock(mu_);
    changed_.WaitUntil(mu_, core::RealClock().SteadyNow() + absl::Seconds(20),
                       [&] {
                         mu_.AssertHeld();
                         return outcome_.has_value();
                       });
    return outcome_.value_or(absl::OkStatus());
  }
  std::vector<WatchEvent> events() {
    core::MutexLock lock(mu_);
    return events_;
  }

 private:
  core::Mutex mu_;
  core::CondVar changed_;
  std::vector<WatchEvent> events_ ABSL_GUARDED_BY(mu_);
  std::optional<absl::Status> outcome_ ABSL_GUARDED_BY(mu_);
  // Last: its destructor waits for callbacks.
  const std::unique_ptr<client::Watch> watch_;
};

class WatchingTest : public ::testing::Test {
 protected:
  WatchingTest() : caller_(worker_.control(), "shop", 1) {}

  void Open(int records = 100) {
    const std::string source = worker_.Write("in", Lines("line ", records));
    ASSERT_OK(caller_.Open(
        LinesSpec("orders", source, worker_.directory().Path("out"))));
  }
  // Makes step 0 and has it committed.
  void MakeStep() {
    ASSERT_OK(caller_.Extend());
    ASSERT_OK_AND_ASSIGN(const core::QueueReply reply, caller_.Queue(0, 0));
    ASSERT_NE(reply.result, nullptr);
    ASSERT_OK(caller_.Release(1));
    ASSERT_OK_AND_ASSIGN(const core::PrepareCheckpointReply ready,
                         caller_.Prepare(1));
    ASSERT_TRUE(ready.ready);
  }

  RealWorker worker_;
  Caller caller_;
};

bool IsSnapshotEnd(const WatchEvent& event) { return event.has_snapshot_end(); }

TEST_F(WatchingTest, CreatedComesFirstThenSnapshotThenItsEnd) {
  Open();
  Recorder recorder(worker_, {});
  ASSERT_TRUE(recorder.WaitFor(IsSnapshotEnd).has_value());
  const std::vector<WatchEvent> events = recorder.events();
  ASSERT_TRUE(events[0].has_created());
  EXPECT_FALSE(events[0].created().run_id().empty());
  bool saw_state = false;
  for (const WatchEvent& event : events) {
    if (event.has_snapshot_end()) break;
    if (!event.has_state_changed()) continue;
    saw_state = true;
    EXPECT_EQ(event.connector(), "orders");
    EXPECT_EQ(event.instance(), caller_.ref.instance);
    EXPECT_EQ(event.state_changed().state(), v1::CONNECTOR_STATE_OPENED);
  }
  EXPECT_TRUE(saw_state);
}

TEST_F(WatchingTest, ChangesFollowWithRisingSequenceNumbers) {
  Open();
  Recorder recorder(worker_, {});
  ASSERT_TRUE(recorder.WaitFor(IsSnapshotEnd).has_value());
  MakeStep();
  ASSERT_OK(caller_.Commit(1));
  EXPECT_TRUE(recorder
                  .WaitFor([](const WatchEvent& event) {
                    return event.has_state_changed() &&
                           event.state_changed().state() ==
                               v1::CONNECTOR_STATE_RUNNING;
                  })
                  .has_value());
  EXPECT_TRUE(recorder
                  .WaitFor([](const WatchEvent& event) {
                    return event.has_end_of_input() && event.sequence() > 0;
                  })
                  .has_value());
  EXPECT_TRUE(recorder
                  .WaitFor([](const WatchEvent& event) {
                    return event.has_completion() &&
                           event.completion().completed_steps() == 1;
                  })
                  .has_value());
  EXPECT_TRUE(recorder
                  .WaitFor([](const WatchEvent& event) {
                    return event.has_checkpoint() &&
                           event.checkpoint().checkpointed_steps() == 1;
                  })
                  .has_value());
  uint64_t sequence = 0;
  uint64_t completed = 0;
  for (const WatchEvent& event : recorder.events()) {
    if (event.sequence() > 0) {
      EXPECT_GT(event.sequence(), sequence);
      sequence = event.sequence();
    }
    if (event.has_completion()) {
      EXPECT_GE(event.completion().completed_steps(), completed);
      completed = event.completion().completed_steps();
    }
  }
}

TEST_F(WatchingTest, OnlyTheChosenKindsAndConnectorsCome) {
  Open();
  Caller other(worker_.control(), "bakery", 1);
  ASSERT_OK(
      other.Open(LinesSpec("bread", worker_.Write("bread", "one\n"), "", 1)));
  v1::WatchRequest request;
  request.add_connectors("orders");
  request.add_kinds(v1::WATCH_KIND_COMPLETION);
  Recorder recorder(worker_, request);
  ASSERT_TRUE(recorder.WaitFor(IsSnapshotEnd).has_value());
  ASSERT_OK(other.Extend());
  MakeStep();
  ASSERT_TRUE(recorder
                  .WaitFor([](const WatchEvent& event) {
                    return event.has_completion() &&
                           event.completion().completed_steps() == 1;
                  })
                  .has_value());
  for (const WatchEvent& event : recorder.events()) {
    if (event.has_created() || event.has_snapshot_end() ||
        event.has_progress_note()) {
      continue;
    }
    EXPECT_TRUE(event.has_completion()) << event.ShortDebugString();
    EXPECT_EQ(event.connector(), "orders");
  }
}

TEST_F(WatchingTest, SequenceResumesWhereItStopped) {
  Open();
  v1::WatchRequest request;
  {
    Recorder first(worker_, {});
    const auto end = first.WaitFor(IsSnapshotEnd);
    ASSERT_TRUE(end.has_value());
    request.set_from_sequence(end->snapshot_end().next_sequence());
    request.set_run_id(first.events()[0].created().run_id());
  }
  // While nobody watches.
  ASSERT_OK(caller_.Extend());
  ASSERT_OK(caller_.Pause());
  MakeStep();
  Recorder again(worker_, request);
  ASSERT_TRUE(again
                  .WaitFor([](const WatchEvent& event) {
                    return event.has_end_of_input() && event.sequence() > 0;
                  })
                  .has_value());
  uint64_t expected = request.from_sequence();
  for (const WatchEvent& event : again.events()) {
    if (event.sequence() == 0) continue;
    EXPECT_EQ(event.sequence(), expected);
    ++expected;
  }
}

TEST_F(WatchingTest, DroppedSequenceIsExpiredWithTheOldest) {
  v1::WatchRequest request;
  {
    Recorder first(worker_, {});
    ASSERT_TRUE(first.WaitFor(IsSnapshotEnd).has_value());
    request.set_run_id(first.events()[0].created().run_id());
  }
  request.set_from_sequence(1'000'000);
  Recorder ahead(worker_, request);
  const absl::Status expired = ahead.WaitForEnd();
  ASSERT_THAT(expired, HasReason(Reason::SEQUENCE_EXPIRED));
  EXPECT_EQ(expired.code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(core::GetErrorInfo(expired)->metadata,
              ::testing::Contains(::testing::Key("oldest")));
}

TEST_F(WatchingTest, SequenceOfAnotherRunIsExpired) {
  v1::WatchRequest request;
  {
    Recorder first(worker_, {});
    const auto end = first.WaitFor(IsSnapshotEnd);
    ASSERT_TRUE(end.has_value());
    request.set_from_sequence(end->snapshot_end().next_sequence());
    request.set_run_id(first.events()[0].created().run_id());
  }
  worker_.Restart();
  Recorder again(worker_, request);
  EXPECT_THAT(again.WaitForEnd(), HasReason(Reason::SEQUENCE_EXPIRED));
}

TEST_F(WatchingTest, DeletedConnectorSaysGoodbye) {
  Open();
  Recorder recorder(worker_, {});
  ASSERT_TRUE(recorder.WaitFor(IsSnapshotEnd).has_value());
  ASSERT_OK(caller_.Delete());
  const auto last = recorder.WaitFor([](const WatchEvent& event) {
    return event.has_state_changed() && event.state_changed().deleted();
  });
  ASSERT_TRUE(last.has_value());
  EXPECT_EQ(last->connector(), "orders");
}

TEST_F(WatchingTest, BadRecordsAreReportedWithSamples) {
  Open();
  Recorder recorder(worker_, {});
  ASSERT_TRUE(recorder.WaitFor(IsSnapshotEnd).has_value());
  const std::string path = worker_.Write("bad", "{\"a\":1}\n{\"a\":\n");
  Caller bad(worker_.control(), "bakery", 1);
  ASSERT_OK(bad.Open(NdjsonSpec("bad", path)));
  ASSERT_OK(bad.Extend());
  const auto errors = recorder.WaitFor(
      [](const WatchEvent& event) { return event.has_parse_errors(); });
  ASSERT_TRUE(errors.has_value());
  EXPECT_EQ(errors->parse_errors().count(), 1u);
  ASSERT_EQ(errors->parse_errors().samples_size(), 1);
  EXPECT_EQ(errors->parse_errors().samples(0).byte_offset(), 8u);
}

TEST_F(WatchingTest, DrainingWorkerTellsItsWatchers) {
  Recorder recorder(worker_, {});
  ASSERT_TRUE(recorder.WaitFor(IsSnapshotEnd).has_value());
  EXPECT_TRUE(worker_.app().Drain());
  EXPECT_TRUE(recorder
                  .WaitFor([](const WatchEvent& event) {
                    return event.has_draining() && event.draining().worker();
                  })
                  .has_value());
  EXPECT_THAT(recorder.WaitForEnd(), HasReason(Reason::SHUTTING_DOWN));
}

}  // namespace
}  // namespace penstock
