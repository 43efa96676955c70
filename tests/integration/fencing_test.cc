// Who may command what (rules 1 and 2, INV-7), over gRPC, with restarts.
#include "tests/integration/caller.h"
#include "tests/integration/real_worker.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace penstock {
namespace {

using core::HasReason;
using core::Reason;

class FencingTest : public ::testing::Test {
 protected:
  FencingTest()
      : source_(worker_.Write("in", Lines("line ", 5000))),
        old_(worker_.control(), "shop", 1, "nonce-of-the-old") {}

  core::ConnectorSpec Spec(absl::string_view name = "orders") {
    return LinesSpec(name, source_,
                     worker_.directory().Path(absl::StrCat("out-", name)));
  }
  Caller Newer() { return {worker_.control(), "shop", 2, "nonce-of-the-new"}; }

  // No command of `caller` may pass.
  void ExpectRefused(Caller& caller, Reason reason) {
    EXPECT_THAT(caller.Extend(), HasReason(reason));
    EXPECT_THAT(caller.Pause(), HasReason(reason));
    EXPECT_THAT(caller.Queue(0, 0), HasReason(reason));
    EXPECT_THAT(caller.Release(0), HasReason(reason));
    EXPECT_THAT(caller.Prepare(0), HasReason(reason));
    EXPECT_THAT(caller.Commit(0), HasReason(reason));
    EXPECT_THAT(caller.Disconnect(), HasReason(reason));
    EXPECT_THAT(caller.Delete(), HasReason(reason));
  }

  RealWorker worker_;
  const std::string source_;
  Caller old_;
};

TEST_F(FencingTest, HigherEpochTakesOverAndTheOldOneIsStale) {
  ASSERT_OK(old_.Open(Spec()));
  ASSERT_OK(old_.Extend());
  Caller newer = Newer();
  newer.ref = old_.ref;
  ASSERT_OK(newer.Pause());
  ExpectRefused(old_, Reason::STALE_EPOCH);
  // Reading needs no epoch.
  EXPECT_OK(old_.Get());
  EXPECT_THAT(old_.Open(Spec("other")), HasReason(Reason::STALE_EPOCH));
}

TEST_F(FencingTest, WaitingQueueOfTheOldEpochIsSuperseded) {
  const std::string path = worker_.Write("short", "one\n");
  ASSERT_OK(old_.Open(LinesSpec("orders", path, "", 1)));
  ASSERT_OK(old_.Extend());
  ASSERT_OK(old_.Pause());
  core::QueueRequest request;
  request.step = 0;
  request.min_records = 1000;
  request.wait = absl::Seconds(60);
  request.linger = absl::Seconds(50);
  const auto waiting = old_.StartQueue(request);
  Caller newer = Newer();
  newer.ref = old_.ref;
  ASSERT_OK(newer.Delete());
  // It answers soon, with whatever says that it is over.
  EXPECT_FALSE(waiting.Get().ok() && waiting.Get()->result == nullptr &&
               waiting.Get()->no_step->reason == core::NoStepReason::kWaitOver);
}

TEST_F(FencingTest, OldEpochStaysStaleAfterTheWorkerWasRestarted) {
  ASSERT_OK(old_.Open(Spec()));
  Caller newer = Newer();
  newer.ref = old_.ref;
  ASSERT_OK(newer.Delete());
  worker_.Restart();
  Caller woken(worker_.control(), "shop", 1, "nonce-of-the-old");
  woken.ref = old_.ref;
  ExpectRefused(woken, Reason::STALE_EPOCH);
  EXPECT_THAT(woken.Open(Spec()), HasReason(Reason::STALE_EPOCH));
}

TEST_F(FencingTest, SameEpochWithAnotherNonceIsTaken) {
  ASSERT_OK(old_.Open(Spec()));
  Caller twin(worker_.control(), "shop", 1, "nonce-of-a-twin");
  twin.ref = old_.ref;
  ExpectRefused(twin, Reason::EPOCH_TAKEN);
  worker_.Restart();
  Caller later(worker_.control(), "shop", 1, "nonce-of-a-twin");
  later.ref = old_.ref;
  ExpectRefused(later, Reason::EPOCH_TAKEN);
}

TEST_F(FencingTest, ConnectorBelongsToThePipelineThatOpenedIt) {
  ASSERT_OK(old_.Open(Spec()));
  Caller stranger(worker_.control(), "bakery", 9);
  stranger.ref = old_.ref;
  ExpectRefused(stranger, Reason::NOT_OWNER);
  EXPECT_THAT(stranger.Open(Spec()), HasReason(Reason::NOT_OWNER));
  EXPECT_OK(old_.Extend());
}

TEST_F(FencingTest, OtherInstanceIsRefused) {
  ASSERT_OK(old_.Open(Spec()));
  const core::ConnectorRef first = old_.ref;
  ASSERT_OK(old_.Delete());
  old_.open.first_open = false;
  ASSERT_OK(old_.Open(Spec()));
  EXPECT_NE(old_.ref.instance, first.instance);
  old_.ref = first;
  EXPECT_THAT(old_.Extend(), HasReason(Reason::INSTANCE_MISMATCH));
  EXPECT_THAT(old_.Queue(0, 0), HasReason(Reason::INSTANCE_MISMATCH));
  // That life is over, which is what Delete asks for; the new one goes on.
  EXPECT_OK(old_.Delete());
  ASSERT_OK_AND_ASSIGN(const core::ConnectorStatus status, old_.Get());
  EXPECT_EQ(status.state, core::ConnectorState::kOpened);
  EXPECT_NE(status.instance, first.instance);
}

TEST_F(FencingTest, PipelinesWithDifferentEpochsLiveOnOneWorker) {
  Caller bakery(worker_.control(), "bakery", 41, "nonce-of-the-bakery");
  ASSERT_OK(old_.Open(Spec()));
  ASSERT_OK(bakery.Open(Spec("bread")));
  for (Caller* caller : {&old_, &bakery}) {
    ASSERT_OK(caller->Extend());
    ASSERT_OK_AND_ASSIGN(const core::QueueReply reply, caller->Queue(0, 0));
    ASSERT_NE(reply.result, nullptr);
    EXPECT_GT(reply.result->amount.records, 0u);
    EXPECT_OK(caller->Release(1));
  }
}

TEST_F(FencingTest, LowerWriterIsFencedByTheTarget) {
  old_.open.writer.open_number = 6;
  ASSERT_OK(old_.Open(Spec()));
  ASSERT_OK(old_.Delete());
  old_.open.first_open = false;
  old_.open.writer.open_number = 3;
  EXPECT_THAT(old_.Open(Spec()), HasReason(Reason::WRITER_FENCED));
}

}  // namespace
}  // namespace penstock
