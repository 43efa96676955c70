#include "proto/wire/requests.h"

#include "core/base/error.h"
#include "proto/penstock/v1/connector.pb.h"
#include "proto/penstock/v1/control.pb.h"
#include "proto/wire/violations.h"
#include "tests/support/status_matchers.h"

#include <absl/time/time.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace penstock::wire {
namespace {

using core::HasReason;
using core::IsOk;
using core::Reason;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

core::CommandHeader Header() {
  return {.fence = {.pipeline = "shop",
                    .controller_id = "me",
                    .epoch = INT64_MAX,
                    .nonce = "0123456789"},
          .ref = {.connector = "orders", .instance = "i-1"},
          .released_steps = 41,
          .request_id = "r-1"};
}

// The fields that every header has; request_id only where `with_id`.
void ExpectHeader(const core::CommandHeader& header, bool with_id) {
  EXPECT_EQ(header.fence, Header().fence);
  EXPECT_EQ(header.ref, Header().ref);
  EXPECT_EQ(header.released_steps, Header().released_steps);
  EXPECT_EQ(header.request_id, with_id ? "r-1" : "");
}

std::vector<std::string> FieldsOf(const absl::Status& status) {
  std::vector<std::string> fields;
  for (const FieldViolation& violation : GetViolations(status)) {
    fields.push_back(violation.field);
  }
  return fields;
}

// --- Queue -----------------------------------------------------------------

core::QueueRequest FullQueue() {
  core::QueueRequest request;
  request.step = 9;
  request.previous_steps = 8;
  request.min_records = 1;
  request.min_bytes = 2;
  request.linger = absl::Milliseconds(3);
  request.wait = absl::Seconds(4);
  request.max_records = 5;
  request.max_bytes = 6;
  request.checkpoint_requested = true;
  return request;
}

TEST(QueueRequestTest, ComesBack) {
  ASSERT_OK_AND_ASSIGN(auto command, FromProto(ToProto(Header(), FullQueue())));
  ExpectHeader(command.header, /*with_id=*/false);
  EXPECT_EQ(command.request.step, 9u);
  EXPECT_EQ(command.request.previous_steps, 8u);
  EXPECT_EQ(command.request.min_records, 1u);
  EXPECT_EQ(command.request.min_bytes, 2u);
  EXPECT_EQ(command.request.linger, absl::Milliseconds(3));
  EXPECT_EQ(command.request.wait, absl::Seconds(4));
  EXPECT_EQ(command.request.max_records, 5u);
  EXPECT_EQ(command.request.max_bytes, 6u);
  EXPECT_TRUE(command.request.checkpoint_requested);
}

TEST(QueueRequestTest, WhatIsNotGivenIsNotSent) {
  const v1::QueueRequest message = ToProto(Header(), core::QueueRequest());
  EXPECT_FALSE(message.has_min_records());
  EXPECT_FALSE(message.has_min_bytes());
  EXPECT_FALSE(message.has_linger());
  EXPECT_FALSE(message.has_max_records());
  EXPECT_FALSE(message.has_max_bytes());
  ASSERT_OK_AND_ASSIGN(auto command, FromProto(message));
  EXPECT_EQ(command.request.linger, std::nullopt);
  EXPECT_EQ(command.request.wait, absl::ZeroDuration());
}

TEST(QueueRequestTest, WaitIsTenSecondsByDefault) {
  v1::QueueRequest message = ToProto(Header(), core::QueueRequest());
  message.clear_wait();
  ASSERT_OK_AND_ASSIGN(auto command, FromProto(message));
  EXPECT_EQ(command.request.wait, absl::Seconds(10));
}

TEST(QueueRequestTest, EveryWrongFieldIsNamed) {
  v1::QueueRequest message = ToProto(Header(), FullQueue());
  message.set_min_records(0);
  message.set_max_bytes(0);
  message.mutable_wait()->set_seconds(601);
  message.mutable_linger()->set_seconds(-1);
  message.mutable_fence()->set_epoch(0);
  message.mutable_fence()->set_nonce("short");
  message.mutable_connector()->clear_instance();
  const absl::Status status = FromProto(message).status();
  EXPECT_THAT(status, HasReason(Reason::INVALID_REQUEST));
  EXPECT_THAT(FieldsOf(status),
              ElementsAre("fence.epoch", "fence.nonce", "connector.instance",
                          "min_records", "max_bytes", "linger", "wait"));
}

TEST(QueueRequestTest, EmptyRequestIsRefused) {
  EXPECT_THAT(FieldsOf(FromProto(v1::QueueRequest()).status()),
              ElementsAre("fence.pipeline", "fence.epoch", "fence.nonce",
                          "connector.connector", "connector.instance"));
}

TEST(QueueReplyTest, ResultComesBack) {
  core::StepResult result;
  result.step = 12;
  result.resume = core::Resume(core::Resume::Seek{"{}"});
  core::QueueReply reply;
  reply.result = std::make_shared<const core::StepResult>(result);
  ASSERT_OK_AND_ASSIGN(auto decoded, FromProto(ToProto(reply)));
  ASSERT_TRUE(decoded.step.has_value());
  EXPECT_EQ(decoded.step->result, result);
  EXPECT_EQ(decoded.no_step, std::nullopt);
}

TEST(QueueReplyTest, NoStepComesBack) {
  core::QueueReply reply;
  reply.no_step = core::NoStep{.reason = core::NoStepReason::kEndOfInput,
                               .end_of_input = true};
  ASSERT_OK_AND_ASSIGN(auto decoded, FromProto(ToProto(reply)));
  EXPECT_EQ(decoded.no_step, reply.no_step);
  EXPECT_FALSE(decoded.step.has_value());
}

TEST(QueueReplyTest, OutcomeThatIsNotKnownIsRefused) {
  EXPECT_THAT(FromProto(v1::QueueResponse()),
              HasReason(Reason::INVALID_REQUEST));
}

TEST(QueueReplyTest, ReasonThatIsNotKnownIsRefused) {
  v1::QueueResponse message;
  message.mutable_no_step();
  EXPECT_THAT(FieldsOf(FromProto(message).status()),
              ElementsAre("no_step.reason"));
}

// --- Replay ----------------------------------------------------------------

core::ReplayRequest FullReplay(size_t data_bytes) {
  core::ReplayRequest request;
  request.previous_steps = 11;
  request.result.step = 12;
  request.result.amount = {.records = 2, .bytes = 10};
  request.result.resume =
      core::Resume(core::Resume::Replay{.seek = "{\"b\":1, \"a\":2}",
                                        .replay = std::string(data_bytes, 'x'),
                                        .hash = 99});
  request.result.hash = core::StepHash{.value = 99, .count = 2};
  return request;
}

TEST(ReplayRequestTest, ComesBack) {
  const core::ReplayRequest request = FullReplay(1);
  ASSERT_OK_AND_ASSIGN(auto decoded, FromProto(ToProto(Header(), request)));
  ExpectHeader(decoded.header, /*with_id=*/false);
  EXPECT_EQ(decoded.previous_steps, 11u);
  EXPECT_EQ(decoded.step.result, request.result);
  EXPECT_EQ(decoded.step.replay_data, std::nullopt);
}

TEST(ReplayRequestTest, LongDataFollowsInFragments) {
  const core::ReplayRequest request = FullReplay(1'000'000);
  const v1::ReplayStart start = ToProto(Header(), request);
  EXPECT_LT(start.ByteSizeLong(), 1000u);
  ASSERT_OK_AND_ASSIGN(auto decoded, FromProto(start));
  const std::string data(1'000'000, 'x');
  EXPECT_EQ(decoded.step.replay_data, PartOf(data));
  FillReplayData(data, decoded.step);
  EXPECT_EQ(decoded.step.result, request.result);
}

TEST(ReplayRequestTest, StepMustBeTheJournaledOne) {
  v1::ReplayStart start = ToProto(Header(), FullReplay(1));
  start.set_step(13);
  EXPECT_THAT(FieldsOf(FromProto(start).status()), ElementsAre("step"));
}

TEST(ReplayRequestTest, ResumeMustBeReplay) {
  v1::ReplayStart start = ToProto(Header(), FullReplay(1));
  start.mutable_journaled()->mutable_resume()->mutable_barrier();
  EXPECT_THAT(FieldsOf(FromProto(start).status()),
              ElementsAre("journaled.resume.replay"));
  start.clear_journaled();
  EXPECT_THAT(FieldsOf(FromProto(start).status()), ElementsAre("journaled"));
}

TEST(ReplayReplyTest, ComesBack) {
  ASSERT_OK_AND_ASSIGN(
      const auto reply,
      FromProto(ToProto(core::ReplayReply{.amount = {.records = 1, .bytes = 2},
                                          .already_held = true})));
  EXPECT_EQ(reply.amount, (core::BufferSize{.records = 1, .bytes = 2}));
  EXPECT_TRUE(reply.already_held);
}

// --- Headers alone ---------------------------------------------------------

TEST(HeaderRequestTest, ExtendComesBack) {
  ASSERT_OK_AND_ASSIGN(const auto header, FromProto(ExtendToProto(Header())));
  ExpectHeader(header, /*with_id=*/true);
}

TEST(HeaderRequestTest, PauseComesBack) {
  ASSERT_OK_AND_ASSIGN(const auto header, FromProto(PauseToProto(Header())));
  ExpectHeader(header, /*with_id=*/true);
}

TEST(HeaderRequestTest, ReleaseComesBack) {
  ASSERT_OK_AND_ASSIGN(const auto header, FromProto(ReleaseToProto(Header())));
  ExpectHeader(header, /*with_id=*/false);
}

TEST(HeaderRequestTest, ReleaseNeedsACount) {
  core::CommandHeader header = Header();
  header.released_steps.reset();
  EXPECT_THAT(FieldsOf(FromProto(ReleaseToProto(header)).status()),
              ElementsAre("released_steps"));
  header.released_steps = 0;
  EXPECT_THAT(FromProto(ReleaseToProto(header)), IsOk());
}

TEST(HeaderRequestTest, CommandsNeedARequestId) {
  core::CommandHeader header = Header();
  header.request_id.clear();
  EXPECT_THAT(FieldsOf(FromProto(ExtendToProto(header)).status()),
              ElementsAre("request_id"));
  header.request_id = std::string(129, 'x');
  EXPECT_THAT(FieldsOf(FromProto(PauseToProto(header)).status()),
              ElementsAre("request_id"));
}

TEST(HeaderRequestTest, NamesHaveAForm) {
  core::CommandHeader header = Header();
  header.fence.pipeline = ".hidden";
  header.ref.connector = std::string(129, 'a');
  EXPECT_THAT(FieldsOf(FromProto(ExtendToProto(header)).status()),
              ElementsAre("fence.pipeline", "connector.connector"));
}

TEST(HeaderRequestTest, ControllersTextIsCutAndMadeUtf8) {
  core::CommandHeader header = Header();
  header.fence.controller_id = "\xFF" + std::string(200, 'x');
  EXPECT_THAT(FromProto(ExtendToProto(header)), IsOk());
}

// --- Checkpoints -----------------------------------------------------------

TEST(PrepareCheckpointTest, RequestComesBack) {
  ASSERT_OK_AND_ASSIGN(
      auto command,
      FromProto(
          ToProto(Header(), core::PrepareCheckpointRequest{
                                .steps = 40, .deadline = absl::Seconds(7)})));
  ExpectHeader(command.header, /*with_id=*/false);
  EXPECT_EQ(command.request.steps, 40u);
  EXPECT_EQ(command.request.deadline, absl::Seconds(7));
}

TEST(PrepareCheckpointTest, DeadlineIsTenSecondsByDefaultAndBounded) {
  v1::PrepareCheckpointRequest message =
      ToProto(Header(), core::PrepareCheckpointRequest{.steps = 1});
  message.clear_deadline();
  ASSERT_OK_AND_ASSIGN(auto command, FromProto(message));
  EXPECT_EQ(command.request.deadline, absl::Seconds(10));
  message.mutable_deadline()->set_seconds(601);
  EXPECT_THAT(FieldsOf(FromProto(message).status()), ElementsAre("deadline"));
}

TEST(PrepareCheckpointTest, ReplyComesBack) {
  core::PrepareCheckpointReply reply;
  reply.blockers.resize(2);
  reply.blockers[1].step = 8;
  ASSERT_OK_AND_ASSIGN(auto back, FromProto(ToProto(reply)));
  EXPECT_FALSE(back.ready);
  ASSERT_THAT(back.blockers, SizeIs(2));
  EXPECT_EQ(back.blockers[1].step, 8u);
}

TEST(PrepareCheckpointTest, AtMostAHundredBlockersAreSent) {
  core::PrepareCheckpointReply reply;
  reply.blockers.resize(150);
  EXPECT_EQ(ToProto(reply).blockers_size(), 100);
}

TEST(CommitCheckpointTest, RequestComesBack) {
  ASSERT_OK_AND_ASSIGN(
      auto command,
      FromProto(ToProto(Header(), core::CommitCheckpointRequest{.steps = 5})));
  ExpectHeader(command.header, /*with_id=*/false);
  EXPECT_EQ(command.request.steps, 5u);
}

// --- Ends ------------------------------------------------------------------

TEST(DisconnectTest, RequestComesBack) {
  ASSERT_OK_AND_ASSIGN(
      auto command,
      FromProto(ToProto(Header(), core::DisconnectRequest{absl::Seconds(3)})));
  ExpectHeader(command.header, /*with_id=*/true);
  EXPECT_EQ(command.request.deadline, absl::Seconds(3));
}

TEST(DisconnectTest, ReplyComesBack) {
  core::DisconnectReply reply;
  reply.unconfirmed_steps = {1, 2};
  reply.dropped_steps = {3};
  const core::DisconnectReply back = FromProto(ToProto(reply), "orders");
  EXPECT_EQ(back.connector, "orders");
  EXPECT_THAT(back.unconfirmed_steps, ElementsAre(1, 2));
  EXPECT_THAT(back.dropped_steps, ElementsAre(3));
}

TEST(DisconnectTest, AtMost1024StepsAreListed) {
  core::DisconnectReply reply;
  reply.dropped_steps.resize(2000);
  EXPECT_EQ(ToProto(reply).dropped_steps_size(), 1024);
}

TEST(DeleteTest, ComesBackAlsoWithoutInstance) {
  core::CommandHeader header = Header();
  header.ref.instance.clear();
  ASSERT_OK_AND_ASSIGN(auto command,
                       FromProto(DeleteToProto(
                           header, core::DisconnectRequest{absl::Seconds(3)})));
  EXPECT_EQ(command.header.ref.instance, "");
  EXPECT_EQ(command.header.request_id, "r-1");
  EXPECT_EQ(command.request.deadline, absl::Seconds(3));
}

TEST(DeleteTest, ReplyComesBack) {
  core::DisconnectReply reply;
  reply.unconfirmed_steps = {7};
  EXPECT_THAT(FromProto(DeleteToProto(reply), "orders").unconfirmed_steps,
              ElementsAre(7));
}

TEST(DrainTest, OfOneConnectorHasAHeader) {
  v1::DrainRequest message;
  const v1::ExtendRequest header = ExtendToProto(Header());
  *message.mutable_fence() = header.fence();
  *message.mutable_connector() = header.connector();
  message.set_request_id("r-1");
  message.set_released_steps(41);
  message.mutable_deadline()->set_seconds(3600);
  ASSERT_OK_AND_ASSIGN(auto drain, FromProto(message));
  ASSERT_TRUE(drain.header.has_value());
  ExpectHeader(*drain.header, /*with_id=*/true);
  EXPECT_EQ(drain.deadline, absl::Hours(1));
}

TEST(DrainTest, OfTheWorkerHasNone) {
  v1::DrainRequest message;
  message.set_request_id("r-1");
  ASSERT_OK_AND_ASSIGN(auto drain, FromProto(message));
  EXPECT_FALSE(drain.header.has_value());
  EXPECT_EQ(drain.request_id, "r-1");
  EXPECT_EQ(drain.deadline, std::nullopt);
  message.set_released_steps(1);
  EXPECT_THAT(FieldsOf(FromProto(message).status()),
              ElementsAre("released_steps"));
}

TEST(DrainTest, ReplySaysWhetherAllGotOut) {
  std::vector<core::DrainedConnector> drained(2);
  drained[0] = {.connector = "a", .reply = core::DisconnectReply()};
  drained[1] = {
      .connector = "b", .instance = "i", .reply = core::DisconnectReply()};
  EXPECT_TRUE(ToProto(drained).complete());
  drained[1].reply->dropped_steps = {4};
  const v1::DrainResponse response = ToProto(drained);
  EXPECT_FALSE(response.complete());
  ASSERT_EQ(response.connectors_size(), 2);
  EXPECT_EQ(response.connectors(1).connector(), "b");
  EXPECT_EQ(response.connectors(1).instance(), "i");
  EXPECT_EQ(response.connectors(1).dropped_steps(0), 4u);
  EXPECT_THAT(response.connectors(1).error(), IsEmpty());
  EXPECT_FALSE(response.connectors(1).has_unqueued());
}

TEST(DrainTest, WhatWasReadAndNotQueuedDidNotGetOut) {
  const v1::DrainResponse response = ToProto(std::vector{
      core::DrainedConnector{.connector = "a",
                             .instance = {},
                             .reply = core::DisconnectReply(),
                             .unqueued = {.records = 3, .bytes = 30}}});
  EXPECT_FALSE(response.complete());
  EXPECT_EQ(response.connectors(0).unqueued().records(), 3u);
}

TEST(DrainTest, WhatCouldNotBeDisconnectedIsNotComplete) {
  const v1::DrainResponse response = ToProto(std::vector{core::DrainedConnector{
      .connector = "a",
      .instance = "i",
      .reply = core::MakeError(core::Reason::SHUTTING_DOWN, "gone"),
      .unqueued = {}}});
  EXPECT_FALSE(response.complete());
  EXPECT_THAT(response.connectors(0).error(), HasSubstr("gone"));
}

}  // namespace
}  // namespace penstock::wire
