// A sink that hangs, beside one that does not (INV-13).
#include "tests/integration/caller.h"
#include "tests/integration/hanging_disk.h"
#include "tests/integration/real_worker.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace penstock {
namespace {

constexpr core::Step kSteps = 20;

// Of one block of 4 KiB.
void MakeStep(Caller& caller, core::Step step) {
  core::QueueRequest request;
  request.step = request.previous_steps = step;
  request.min_records = request.max_records = 1;
  request.wait = absl::Seconds(60);
  const auto queued = caller.StartQueue(request).Get();
  ASSERT_OK(queued.status());
  ASSERT_NE(queued->result, nullptr);
  ASSERT_OK(caller.Release(step + 1));
}

void AwaitReady(Caller& caller, core::Step steps) {
  ASSERT_OK_AND_ASSIGN(const core::PrepareCheckpointReply ready,
                       caller.Prepare(steps));
  ASSERT_TRUE(ready.ready);
}

TEST(StuckSinkTest, OthersOfItsWorkerGoOn) {
  RealWorker worker;
  const std::string source = worker.Write("in", Lines("line ", 60'000));
  const auto open = [&](Caller& caller, const std::string& name) {
    ASSERT_OK(
        caller.Open(LinesSpec(name, source, worker.directory().Path(name), 1)));
    ASSERT_OK(caller.Extend());
  };
  Caller stuck(worker.control(), "shop", 1);
  Caller free(worker.control(), "shop", 1);
  ASSERT_NO_FATAL_FAILURE(open(stuck, "stuck"));
  ASSERT_NO_FATAL_FAILURE(open(free, "free"));
  {
    HangingDisk disk("/stuck/");
    ASSERT_NO_FATAL_FAILURE(MakeStep(stuck, 0));
    disk.AwaitOne();
    for (core::Step step = 0; step < kSteps; ++step) {
      ASSERT_NO_FATAL_FAILURE(MakeStep(free, step)) << step;
    }
    ASSERT_NO_FATAL_FAILURE(AwaitReady(free, kSteps));
    EXPECT_GE(disk.held(), 1);
    ASSERT_OK_AND_ASSIGN(const core::ConnectorStatus status, stuck.Get());
    EXPECT_EQ(status.completed_steps, 0u);
  }
  ASSERT_NO_FATAL_FAILURE(AwaitReady(stuck, 1));
}

}  // namespace
}  // namespace penstock
