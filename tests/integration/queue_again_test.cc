// Queue whose reply was lost, over gRPC (rule 3, INV-2).
#include "client/channel.h"
#include "proto/penstock/v1/control.grpc.pb.h"
#include "proto/wire/requests.h"
#include "tests/integration/caller.h"
#include "tests/integration/real_worker.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <ios>
#include <string>

namespace penstock {
namespace {

using core::HasReason;
using core::Reason;

class QueueAgainTest : public ::testing::Test {
 protected:
  QueueAgainTest() : caller_(worker_.control(), "shop", 1) {}

  void SetUp() override {
    const std::string source = worker_.Write("in", Lines("line ", 5000));
    ASSERT_OK(caller_.Open(
        LinesSpec("orders", source, worker_.directory().Path("out"))));
    ASSERT_OK(caller_.Extend());
    auto channel = client::MakeChannel(worker_.target());
    ASSERT_OK(channel);
    stub_ = v1::ControlService::NewStub(*channel);
  }

  // The message as it travels; empty if the call failed.
  std::string RawQueue(core::Step step, core::Step previous_steps) {
    core::QueueRequest request;
    request.step = step;
    request.previous_steps = previous_steps;
    request.wait = absl::Seconds(10);
    request.max_records = 1000;
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::seconds(20));
    v1::QueueResponse response;
    const grpc::Status status = stub_->Queue(
        &context, wire::ToProto(caller_.Header(), request), &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.SerializeAsString();
  }

  core::BufferSize Extended() {
    const auto status = caller_.Get();
    return status.ok() ? status->extended_total : core::BufferSize();
  }

  RealWorker worker_;
  Caller caller_;
  std::unique_ptr<v1::ControlService::Stub> stub_;
};

TEST_F(QueueAgainTest, SameStepGivesIdenticalBytesAndReadsNothingNew) {
  const std::string first = RawQueue(7, 0);
  ASSERT_FALSE(first.empty());
  const core::BufferSize extended = Extended();
  // A step ends with a buffer, so it may have a few more than it was to have.
  EXPECT_GE(extended.records, 1000u);
  EXPECT_LT(extended.records, 5000u);
  EXPECT_EQ(RawQueue(7, 0), first);
  EXPECT_EQ(RawQueue(7, 0), first);
  EXPECT_EQ(Extended(), extended);
}

TEST_F(QueueAgainTest, EarlierStepStaysReadableUntilItIsReleased) {
  const std::string first = RawQueue(0, 0);
  const std::string second = RawQueue(1, 1);
  EXPECT_NE(first, second);
  EXPECT_EQ(RawQueue(0, 0), first);
  ASSERT_OK(caller_.Release(1));
  EXPECT_THAT(caller_.Queue(0, 0), HasReason(Reason::STEP_RELEASED));
  EXPECT_EQ(RawQueue(1, 1), second);
}

TEST_F(QueueAgainTest, ChainMayNotJump) {
  RawQueue(3, 0);
  EXPECT_THAT(caller_.Queue(9, 9), HasReason(Reason::STEP_GAP));
  EXPECT_THAT(caller_.Queue(1, 0), HasReason(Reason::STEP_GAP));
}

TEST_F(QueueAgainTest, NumbersMayJump) {
  RawQueue(3, 0);
  ASSERT_OK_AND_ASSIGN(const core::QueueReply reply, caller_.Queue(900, 4));
  ASSERT_NE(reply.result, nullptr);
  EXPECT_EQ(reply.result->step, 900u);
}

// As the field case of that number has it.
TEST_F(QueueAgainTest, B124ACommandGivenTwiceHasOneAnswer) {
  const std::string path = worker_.Write("letters", "a\nb\n");
  Caller letters(worker_.control(), "shop", 3);
  ASSERT_OK(letters.Open(FollowedLinesSpec("letters", path)));
  ASSERT_OK(letters.Extend());
  // Its reply is lost.
  ASSERT_OK_AND_ASSIGN(const core::QueueReply lost, letters.Queue(7, 0));
  ASSERT_NE(lost.result, nullptr);
  EXPECT_EQ(lost.result->amount.records, 2u);
  std::ofstream(path, std::ios::app) << "c\n" << std::flush;
  ASSERT_OK_AND_ASSIGN(const core::QueueReply again, letters.Queue(7, 0));
  ASSERT_NE(again.result, nullptr);
  EXPECT_EQ(*again.result, *lost.result);
  ASSERT_OK_AND_ASSIGN(const core::QueueReply next, letters.Queue(8, 8));
  ASSERT_NE(next.result, nullptr);
  EXPECT_EQ(next.result->amount.records, 1u);
  ASSERT_OK_AND_ASSIGN(const core::QueueReply late, letters.Queue(7, 0));
  ASSERT_NE(late.result, nullptr);
  EXPECT_EQ(*late.result, *lost.result);
  const absl::Status gap = letters.Queue(10, 10).status();
  EXPECT_THAT(gap, HasReason(Reason::STEP_GAP));
  EXPECT_EQ(gap.code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(QueueAgainTest, SecondCallJoinsTheOneThatWaits) {
  const std::string path = worker_.Write("empty", "");
  Caller idle(worker_.control(), "shop", 1);
  ASSERT_OK(idle.Open(LinesSpec("idle", path, "", 1)));
  ASSERT_OK(idle.Extend());
  core::QueueRequest request;
  request.wait = absl::Seconds(10);
  const auto one = idle.StartQueue(request);
  const auto two = idle.StartQueue(request);
  ASSERT_OK_AND_ASSIGN(const core::QueueReply first, one.Get());
  ASSERT_OK_AND_ASSIGN(const core::QueueReply second, two.Get());
  ASSERT_NE(first.result, nullptr);
  ASSERT_NE(second.result, nullptr);
  EXPECT_EQ(*first.result, *second.result);
  EXPECT_TRUE(first.result->end_of_input);
}

}  // namespace
}  // namespace penstock
