// UpdateConnector at the one door: fenced, once, and shown.
#include "core/base/error.h"
#include "tests/server/dispatch/dispatcher_fixture.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace penstock::server {
namespace {

using core::Answer;
using core::HasReason;
using core::Reason;

class DispatcherUpdateTest : public DispatcherFixture {
 protected:
  DispatcherUpdateTest() { harness_.request.spec_bytes = "as opened"; }

  // One that lets so many steps be outstanding.
  core::UpdateRequest RequestOf(uint32_t steps) {
    core::UpdateRequest request{.spec = harness_.request.spec,
                                .spec_bytes = absl::StrCat("steps ", steps),
                                .check = [this](absl::string_view running) {
                                  checked_.emplace_back(running);
                                  return verdict_;
                                }};
    request.spec.limits.steps_outstanding_max = steps;
    return request;
  }
  Answer<core::UpdateReply> Update(core::UpdateRequest request,
                                   const std::string& request_id,
                                   uint64_t epoch = 5) {
    core::CommandHeader header = Header(epoch);
    header.request_id = request_id;
    Answer<core::UpdateReply> updated;
    dispatcher_->Update(std::move(header), std::move(request),
                        updated.Callback());
    executor().RunUntilIdle();
    return updated;
  }
  core::ConnectorStatus Status() { return *dispatcher_->StatusOf("connector"); }
  // A step, and whether another is made before that one is released.
  bool MakesTwoSteps() {
    harness_.source.Append(0, {"x"});
    executor().RunUntilIdle();
    const auto first = Queue(Header(5), absl::ZeroDuration());
    executor().RunUntilIdle();
    EXPECT_OK(first.status());
    EXPECT_NE(first->result, nullptr);
    harness_.source.Append(0, {"x"});
    executor().RunUntilIdle();
    core::QueueRequest request;
    request.step = request.previous_steps = 1;
    Answer<core::QueueReply> second;
    dispatcher_->Queue(Header(5), request, second.Callback());
    executor().RunUntilIdle();
    if (core::HasReason(second.status(), Reason::STEPS_OUTSTANDING)) {
      return false;
    }
    EXPECT_OK(second.status());
    return second->result != nullptr;
  }

  absl::Status verdict_;
  // What ran when it was asked.
  std::vector<std::string> checked_;
};

TEST_F(DispatcherUpdateTest, HoldsFromTheNextQueueOn) {
  Open(5);
  const auto updated = Update(RequestOf(1), "r");
  ASSERT_OK(updated.status());
  EXPECT_EQ(updated->before, "as opened");
  EXPECT_FALSE(MakesTwoSteps());
  EXPECT_EQ(Status().spec_bytes, "steps 1");
  ASSERT_TRUE(Status().attempt.has_value());
  EXPECT_EQ(Status().attempt->spec_bytes, "steps 1");
  EXPECT_OK(Status().attempt->result);
}

TEST_F(DispatcherUpdateTest, WhatIsRefusedIsShownBesideWhatRuns) {
  Open(5);
  verdict_ = core::MakeError(Reason::INVALID_CONFIG, "shards: 1 -> 2");
  executor().Advance(absl::Seconds(7));
  EXPECT_THAT(Update(RequestOf(1), "r").status(),
              HasReason(Reason::INVALID_CONFIG));
  EXPECT_EQ(Status().spec_bytes, "as opened");
  ASSERT_TRUE(Status().attempt.has_value());
  EXPECT_EQ(Status().attempt->spec_bytes, "steps 1");
  EXPECT_EQ(Status().attempt->time, executor().clock().Now());
  EXPECT_THAT(Status().attempt->result, HasReason(Reason::INVALID_CONFIG));
  EXPECT_TRUE(MakesTwoSteps());
}

TEST_F(DispatcherUpdateTest, LimitsThatDoNotFitTogetherAreRefused) {
  Open(5);
  EXPECT_THAT(Update(RequestOf(0), "r").status(),
              HasReason(Reason::INVALID_CONFIG));
  EXPECT_EQ(Status().spec_bytes, "as opened");
}

TEST_F(DispatcherUpdateTest, ARepeatGetsTheFirstReplyAndChangesNothing) {
  Open(5);
  ASSERT_OK(Update(RequestOf(1), "r").status());
  ASSERT_OK(Update(RequestOf(6), "s").status());
  const auto again = Update(RequestOf(1), "r");
  ASSERT_OK(again.status());
  EXPECT_EQ(again->before, "as opened");
  EXPECT_EQ(Status().spec_bytes, "steps 6");
  EXPECT_THAT(checked_, testing::ElementsAre("as opened", "steps 1"));
}

TEST_F(DispatcherUpdateTest, AnIdIsForOneBody) {
  Open(5);
  ASSERT_OK(Update(RequestOf(1), "r").status());
  EXPECT_THAT(Update(RequestOf(6), "r").status(),
              HasReason(Reason::REQUEST_ID_REUSED));
  EXPECT_EQ(Status().spec_bytes, "steps 1");
}

TEST_F(DispatcherUpdateTest, AStaleEpochChangesNothingAndLeavesNoTrace) {
  Open(5);
  EXPECT_THAT(Update(RequestOf(1), "r", 4).status(),
              HasReason(Reason::STALE_EPOCH));
  EXPECT_EQ(Status().spec_bytes, "as opened");
  EXPECT_FALSE(Status().attempt.has_value());
}

TEST_F(DispatcherUpdateTest, WhoOnlyAsksChangesNothing) {
  Open(5);
  core::UpdateRequest request = RequestOf(1);
  request.validate_only = true;
  const auto asked = Update(std::move(request), "r");
  ASSERT_OK(asked.status());
  EXPECT_EQ(asked->before, "as opened");
  EXPECT_TRUE(MakesTwoSteps());
  EXPECT_FALSE(Status().attempt.has_value());
}

TEST_F(DispatcherUpdateTest, OneThatFailedTakesNothingOver) {
  Open(5);
  harness_.source.ReportError(/*fatal=*/true, absl::InternalError("broken"),
                              "read");
  executor().RunUntilIdle();
  ASSERT_EQ(Status().state, core::ConnectorState::kFailed);
  EXPECT_THAT(Update(RequestOf(1), "r").status(),
              HasReason(Reason::ILLEGAL_TRANSITION));
  EXPECT_EQ(Status().spec_bytes, "as opened");
}

}  // namespace
}  // namespace penstock::server
