#include "client/grpc_control.h"

#include "client/channel.h"
#include "core/base/error.h"
#include "proto/wire/connector_status.h"
#include "proto/wire/requests.h"
#include "proto/wire/status.h"
#include "proto/wire/violations.h"
#include "tests/client/await.h"
#include "tests/client/fake_worker.h"
#include "tests/support/manual_executor.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <grpcpp/channel.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace penstock::client {
namespace {

using core::HasReason;
using core::MakeError;
using core::Reason;
using core::StatusIs;
using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::SizeIs;

core::CommandHeader Header() {
  return {.fence = {.pipeline = "shop",
                    .controller_id = "me",
                    .epoch = 7,
                    .nonce = "0123456789"},
          .ref = {.connector = "orders", .instance = "i-1"},
          .released_steps = 41,
          .request_id = "r-1"};
}

core::QueueRequest Ask(core::Step step, absl::Duration wait = {}) {
  core::QueueRequest request;
  request.step = step;
  request.wait = wait;
  return request;
}

class GrpcControlTest : public ::testing::Test {
 protected:
  // The control under test; made at first use.
  GrpcControl& control() {
    if (control_ == nullptr) Make({});
    return *control_;
  }
  void Make(const GrpcControlOptions& options) {
    auto channel = MakeChannel(worker_.target());
    ASSERT_OK(channel);
    control_ = std::make_unique<GrpcControl>(*channel, options);
  }

  FakeWorker worker_;
  std::unique_ptr<GrpcControl> control_;
};

// --- Each command ----------------------------------------------------------

TEST_F(GrpcControlTest, ExtendSendsItsHeader) {
  AwaitedStatus done;
  control().Extend(Header(), done.callback());
  EXPECT_OK(done.Get());
  ASSERT_THAT(worker_.control.extend.requests(), SizeIs(1));
  EXPECT_EQ(worker_.control.extend.requests()[0].SerializeAsString(),
            wire::ExtendToProto(Header()).SerializeAsString());
}

TEST_F(GrpcControlTest, PauseSendsItsHeader) {
  AwaitedStatus done;
  control().Pause(Header(), done.callback());
  EXPECT_OK(done.Get());
  ASSERT_THAT(worker_.control.pause.requests(), SizeIs(1));
  EXPECT_EQ(worker_.control.pause.requests()[0].request_id(), "r-1");
}

TEST_F(GrpcControlTest, ReleaseSendsItsCount) {
  AwaitedStatus done;
  control().Release(Header(), done.callback());
  EXPECT_OK(done.Get());
  ASSERT_THAT(worker_.control.release.requests(), SizeIs(1));
  EXPECT_EQ(worker_.control.release.requests()[0].released_steps(), 41u);
}

TEST_F(GrpcControlTest, PrepareCheckpointAnswersBlockers) {
  v1::PrepareCheckpointResponse response;
  response.add_blockers()->set_kind(v1::BLOCKER_KIND_UNFLUSHED_SHARD);
  worker_.control.prepare_checkpoint.AnswerWith(response);
  Awaited<core::PrepareCheckpointReply> reply;
  control().PrepareCheckpoint(Header(), {.steps = 9}, reply.callback());
  ASSERT_OK(reply.Get());
  EXPECT_FALSE(reply.Get()->ready);
  ASSERT_THAT(reply.Get()->blockers, SizeIs(1));
  EXPECT_EQ(reply.Get()->blockers[0].kind,
            core::Blocker::Kind::kUnflushedShard);
  EXPECT_EQ(worker_.control.prepare_checkpoint.requests()[0].steps(), 9u);
}

TEST_F(GrpcControlTest, CommitCheckpointSendsItsCount) {
  AwaitedStatus done;
  control().CommitCheckpoint(Header(), {.steps = 9}, done.callback());
  EXPECT_OK(done.Get());
  ASSERT_THAT(worker_.control.commit_checkpoint.requests(), SizeIs(1));
  EXPECT_EQ(worker_.control.commit_checkpoint.requests()[0].steps(), 9u);
}

TEST_F(GrpcControlTest, DisconnectAnswersWhatWasNotConfirmed) {
  v1::DisconnectResponse response;
  response.add_unconfirmed_steps(4);
  response.add_dropped_steps(5);
  worker_.control.disconnect.AnswerWith(response);
  Awaited<core::DisconnectReply> reply;
  control().Disconnect(Header(), {absl::Seconds(1)}, reply.callback());
  ASSERT_OK(reply.Get());
  EXPECT_EQ(reply.Get()->connector, "orders");
  EXPECT_THAT(reply.Get()->unconfirmed_steps, ElementsAre(4));
  EXPECT_THAT(reply.Get()->dropped_steps, ElementsAre(5));
}

TEST_F(GrpcControlTest, DeleteTakesAnEmptyInstance) {
  core::CommandHeader header = Header();
  header.ref.instance.clear();
  Awaited<core::DisconnectReply> reply;
  control().Delete(header, {absl::Seconds(1)}, reply.callback());
  ASSERT_OK(reply.Get());
  ASSERT_THAT(worker_.connector.delete_connector.requests(), SizeIs(1));
  EXPECT_EQ(
      worker_.connector.delete_connector.requests()[0].connector().instance(),
      "");
}

core::ConnectorStatus StatusOf(const std::string& name) {
  core::ConnectorStatus status;
  status.name = name;
  status.made_steps = 12;
  return status;
}

TEST_F(GrpcControlTest, GetAnswersTheStatus) {
  ASSERT_OK_AND_ASSIGN(const auto response,
                       wire::GetResponseToProto(StatusOf("orders"), {}));
  worker_.connector.get_connector.AnswerWith(response);
  Awaited<core::ConnectorStatus> reply;
  control().Get("orders", reply.callback());
  ASSERT_OK(reply.Get());
  EXPECT_EQ(reply.Get()->name, "orders");
  EXPECT_EQ(reply.Get()->made_steps, 12u);
}

TEST_F(GrpcControlTest, ListFollowsAllPages) {
  worker_.connector.list_connectors.AnswerWith(
      [](const v1::ListConnectorsRequest& request,
         v1::ListConnectorsResponse& response) {
        const bool first = request.page_token().empty();
        *response.add_connectors() =
            wire::SummaryToProto(StatusOf(first ? "a" : "b"));
        if (first) response.set_next_page_token("more");
        return grpc::Status::OK;
      });
  Awaited<std::vector<core::ConnectorStatus>> reply;
  control().List(reply.callback());
  ASSERT_OK(reply.Get());
  ASSERT_THAT(*reply.Get(), SizeIs(2));
  EXPECT_EQ((*reply.Get())[0].name, "a");
  EXPECT_EQ((*reply.Get())[1].name, "b");
}

// --- Queue -----------------------------------------------------------------

core::StepResult ResultWithReplayData(const std::string& data) {
  core::StepResult result;
  result.step = 12;
  result.amount = {.records = 2, .bytes = 20};
  result.resume = core::Resume(
      core::Resume::Replay{.seek = "{ \"z\":9223372036854775807, \"a\":1 }",
                           .replay = data,
                           .hash = 99});
  result.hash = core::StepHash{.value = 99, .count = 2};
  return result;
}

v1::QueueResponse ResponseOf(const core::StepResult& result) {
  core::QueueReply reply;
  reply.result = std::make_shared<const core::StepResult>(result);
  return wire::ToProto(reply);
}

TEST_F(GrpcControlTest, QueueAnswersAResult) {
  const core::StepResult result = ResultWithReplayData("\xc0");
  worker_.control.queue.AnswerWith(ResponseOf(result));
  Awaited<core::QueueReply> reply;
  control().Queue(Header(), Ask(12), reply.callback());
  ASSERT_OK(reply.Get());
  ASSERT_NE(reply.Get()->result, nullptr);
  EXPECT_EQ(*reply.Get()->result, result);
  EXPECT_THAT(worker_.control.read_step_part.requests(), IsEmpty());
}

TEST_F(GrpcControlTest, QueueAnswersNoStep) {
  core::QueueReply no_step;
  no_step.no_step = core::NoStep{.reason = core::NoStepReason::kPaused};
  worker_.control.queue.AnswerWith(wire::ToProto(no_step));
  Awaited<core::QueueReply> reply;
  control().Queue(Header(), Ask(12), reply.callback());
  ASSERT_OK(reply.Get());
  EXPECT_EQ(reply.Get()->result, nullptr);
  EXPECT_EQ(reply.Get()->no_step, no_step.no_step);
}

TEST_F(GrpcControlTest, QueueFetchesReplayDataThatIsNamed) {
  const std::string data(300'000, 'x');
  const core::StepResult result = ResultWithReplayData(data);
  worker_.control.queue.AnswerWith(ResponseOf(result));
  worker_.control.part = data;
  Awaited<core::QueueReply> reply;
  control().Queue(Header(), Ask(12), reply.callback());
  ASSERT_OK(reply.Get());
  EXPECT_EQ(*reply.Get()->result, result);
  ASSERT_THAT(worker_.control.read_step_part.requests(), SizeIs(1));
  const v1::ReadStepPartRequest asked =
      worker_.control.read_step_part.requests()[0];
  EXPECT_EQ(asked.connector().connector(), "orders");
  EXPECT_EQ(asked.connector().instance(), "i-1");
  EXPECT_EQ(asked.step(), 12u);
  EXPECT_EQ(asked.part(), v1::STEP_PART_REPLAY_DATA);
}

TEST_F(GrpcControlTest, QueueFetchesAFullPositionThatIsNamed) {
  core::StepResult result = ResultWithReplayData("\xc0");
  result.position_complete = false;
  result.full_position = std::string(300'000, '9');
  worker_.control.queue.AnswerWith(ResponseOf(result));
  worker_.control.part = *result.full_position;
  Awaited<core::QueueReply> reply;
  control().Queue(Header(), Ask(12), reply.callback());
  ASSERT_OK(reply.Get());
  EXPECT_EQ(*reply.Get()->result, result);
  ASSERT_THAT(worker_.control.read_step_part.requests(), SizeIs(1));
  EXPECT_EQ(worker_.control.read_step_part.requests()[0].part(),
            v1::STEP_PART_FULL_POSITION);
}

TEST_F(GrpcControlTest, QueueFailsIfThePartIsNotWhatWasNamed) {
  worker_.control.queue.AnswerWith(
      ResponseOf(ResultWithReplayData(std::string(300'000, 'x'))));
  worker_.control.part = std::string(299'999, 'x') + "y";
  Awaited<core::QueueReply> reply;
  control().Queue(Header(), Ask(12), reply.callback());
  EXPECT_THAT(reply.Get(), HasReason(Reason::MALFORMED_FRAME));
}

TEST_F(GrpcControlTest, QueueFailsIfThePartIsTooLong) {
  worker_.control.queue.AnswerWith(
      ResponseOf(ResultWithReplayData(std::string(300'000, 'x'))));
  worker_.control.part = std::string(400'000, 'x');
  Awaited<core::QueueReply> reply;
  control().Queue(Header(), Ask(12), reply.callback());
  EXPECT_THAT(reply.Get(), HasReason(Reason::MALFORMED_FRAME));
}

TEST_F(GrpcControlTest, QueueFailsAsReadingThePartDoes) {
  worker_.control.queue.AnswerWith(
      ResponseOf(ResultWithReplayData(std::string(300'000, 'x'))));
  worker_.control.part_status =
      wire::StatusToGrpc(MakeError(Reason::STEP_RELEASED, "gone"));
  Awaited<core::QueueReply> reply;
  control().Queue(Header(), Ask(12), reply.callback());
  EXPECT_THAT(reply.Get(), HasReason(Reason::STEP_RELEASED));
}

TEST_F(GrpcControlTest, AnswerThatDoesNotDecodeIsAnError) {
  worker_.control.queue.AnswerWith(v1::QueueResponse());
  Awaited<core::QueueReply> reply;
  control().Queue(Header(), Ask(12), reply.callback());
  EXPECT_THAT(reply.Get(), HasReason(Reason::INVALID_REQUEST));
}

// --- Open and Replay: things in fragments ----------------------------------

core::OpenRequest OpenOf(std::optional<std::string> position) {
  v1::ConnectorSpec spec;
  spec.set_name("orders");
  core::OpenRequest request;
  request.fence = Header().fence;
  request.request_id = "open-1";
  request.spec_bytes = spec.SerializeAsString();
  request.incarnation = "abcdefgh";
  request.writer = {.epoch = 7, .open_number = 1};
  request.position = std::move(position);
  return request;
}

v1::OpenConnectorResponse OpenResponse() {
  v1::OpenConnectorResponse response;
  response.set_instance("i-2");
  response.set_base_steps(100);
  response.set_level(v1::DELIVERY_LEVEL_EXACTLY_ONCE);
  *response.mutable_base_position() = wire::PositionToProto("{\"b\":1}");
  return response;
}

TEST_F(GrpcControlTest, OpenWithoutPositionSendsNoFragment) {
  worker_.connector.open.start.AnswerWith(OpenResponse());
  Awaited<core::OpenReply> reply;
  control().Open(OpenOf(std::nullopt), reply.callback());
  ASSERT_OK(reply.Get());
  EXPECT_EQ(reply.Get()->instance, "i-2");
  EXPECT_EQ(reply.Get()->position, "{\"b\":1}");
  EXPECT_THAT(worker_.connector.open.received, IsEmpty());
  EXPECT_FALSE(
      worker_.connector.open.start.requests()[0].start().has_position());
}

TEST_F(GrpcControlTest, OpenSendsAPositionInFragments) {
  worker_.connector.open.start.AnswerWith(OpenResponse());
  const std::string position(1'000'000, ' ');
  Awaited<core::OpenReply> reply;
  control().Open(OpenOf(position), reply.callback());
  ASSERT_OK(reply.Get());
  EXPECT_THAT(worker_.connector.open.received, SizeIs(4));
  std::string whole;
  for (const std::string& piece : worker_.connector.open.received) {
    whole += piece;
  }
  EXPECT_EQ(whole, position);
  EXPECT_EQ(
      wire::FromProto(
          worker_.connector.open.start.requests()[0].start().position().part()),
      wire::PartOf(position));
}

TEST_F(GrpcControlTest, OpenFetchesABasePositionThatIsNamed) {
  const std::string position(50'000, ' ');
  v1::OpenConnectorResponse response = OpenResponse();
  *response.mutable_base_position()->mutable_part() =
      wire::ToProto(wire::PartOf(position));
  worker_.connector.open.start.AnswerWith(response);
  worker_.control.part = position;
  Awaited<core::OpenReply> reply;
  control().Open(OpenOf(std::nullopt), reply.callback());
  ASSERT_OK(reply.Get());
  EXPECT_EQ(reply.Get()->position, position);
  const v1::ReadStepPartRequest asked =
      worker_.control.read_step_part.requests()[0];
  EXPECT_EQ(asked.connector().instance(), "i-2");
  EXPECT_EQ(asked.step(), 100u);
  EXPECT_EQ(asked.part(), v1::STEP_PART_BASE_POSITION);
}

TEST_F(GrpcControlTest, OpenThatIsRefusedEarlyAnswersWhy) {
  worker_.connector.open.answer_early = true;
  worker_.connector.open.start.FailWith(
      wire::StatusToGrpc(MakeError(Reason::STALE_EPOCH, "old")));
  Awaited<core::OpenReply> reply;
  control().Open(OpenOf(std::string(30'000'000, ' ')), reply.callback());
  EXPECT_THAT(reply.Get(), HasReason(Reason::STALE_EPOCH));
}

TEST_F(GrpcControlTest, OpenOfBytesThatAreNoSpecAnswersDamage) {
  core::OpenRequest request = OpenOf(std::nullopt);
  request.spec_bytes = "\xFF\xFF";
  Awaited<core::OpenReply> reply;
  control().Open(request, reply.callback());
  EXPECT_THAT(reply.Get(), HasReason(Reason::STATE_DAMAGED));
  EXPECT_THAT(worker_.connector.open.start.requests(), IsEmpty());
}

TEST_F(GrpcControlTest, ReplaySendsShortDataInTheStart) {
  v1::ReplayResponse response;
  response.set_already_held(true);
  worker_.control.replay.start.AnswerWith(response);
  Awaited<core::ReplayReply> reply;
  control().Replay(
      Header(), {.result = ResultWithReplayData("\xc0"), .previous_steps = 12},
      reply.callback());
  ASSERT_OK(reply.Get());
  EXPECT_TRUE(reply.Get()->already_held);
  EXPECT_THAT(worker_.control.replay.received, IsEmpty());
}

TEST_F(GrpcControlTest, ReplaySendsLongDataInFragments) {
  const std::string data(600'000, 'x');
  Awaited<core::ReplayReply> reply;
  control().Replay(Header(),
                   {.result = ResultWithReplayData(data), .previous_steps = 12},
                   reply.callback());
  ASSERT_OK(reply.Get());
  std::string whole;
  for (const std::string& piece : worker_.control.replay.received) {
    whole += piece;
  }
  EXPECT_EQ(whole, data);
}

// --- Errors ----------------------------------------------------------------

TEST_F(GrpcControlTest, ErrorKeepsReasonMetadataAndRetryDelay) {
  const absl::Status sent = core::WithRetryDelay(
      MakeError(Reason::BUDGET_EXCEEDED, "no room", {{"step", "9"}}),
      absl::Milliseconds(250));
  worker_.control.queue.FailWith(wire::StatusToGrpc(sent));
  Awaited<core::QueueReply> reply;
  control().Queue(Header(), Ask(9), reply.callback());
  EXPECT_EQ(reply.Get().status(), sent);
}

TEST_F(GrpcControlTest, LargestErrorArrives) {
  const std::vector<wire::FieldViolation> violations(
      100, {std::string(300, 'f'), std::string(900, '\n'), "REQUIRED"});
  worker_.control.extend.FailWith(wire::StatusToGrpc(wire::WithViolations(
      MakeError(Reason::INVALID_CONFIG, std::string(9000, '\n'),
                {{"field", std::string(9000, 'v')}}),
      violations)));
  AwaitedStatus done;
  control().Extend(Header(), done.callback());
  EXPECT_THAT(done.Get(), HasReason(Reason::INVALID_CONFIG));
  EXPECT_FALSE(wire::GetViolations(done.Get()).empty());
}

TEST_F(GrpcControlTest, NobodyThereIsUnavailable) {
  worker_.Stop();
  AwaitedStatus done;
  control().Extend(Header(), done.callback());
  EXPECT_THAT(done.Get(), StatusIs(absl::StatusCode::kUnavailable,
                                   HasReason(Reason::UNAVAILABLE)));
}

TEST_F(GrpcControlTest, WorkerThatDiesInTheMiddleIsUnavailable) {
  worker_.control.queue.Hang();
  Awaited<core::QueueReply> reply;
  control().Queue(Header(), Ask(9, absl::Minutes(1)), reply.callback());
  worker_.control.queue.WaitForCall();
  worker_.Stop();
  EXPECT_THAT(reply.Get(), StatusIs(absl::StatusCode::kUnavailable,
                                    HasReason(Reason::UNAVAILABLE)));
}

// gRPC's own word for a connection that broke at the wrong moment.
TEST_F(GrpcControlTest, ErrorsThatNobodyOfOursMadeAreUnavailable) {
  worker_.control.extend.FailWith(
      {grpc::StatusCode::UNKNOWN, "Stream removed"});
  AwaitedStatus unknown;
  control().Extend(Header(), unknown.callback());
  EXPECT_THAT(unknown.Get(), HasReason(Reason::UNAVAILABLE));
  worker_.control.pause.FailWith({grpc::StatusCode::INTERNAL, "RST_STREAM"});
  AwaitedStatus internal;
  control().Pause(Header(), internal.callback());
  EXPECT_THAT(internal.Get(), HasReason(Reason::UNAVAILABLE));
}

TEST_F(GrpcControlTest, MethodThatTheWorkerLacksIsUnsupported) {
  worker_.control.extend.FailWith({grpc::StatusCode::UNIMPLEMENTED, ""});
  AwaitedStatus done;
  control().Extend(Header(), done.callback());
  EXPECT_THAT(done.Get(), HasReason(Reason::UNSUPPORTED));
}

// --- Deadlines, the end ----------------------------------------------------

TEST_F(GrpcControlTest, CallThatHangsEndsWithItsDeadline) {
  Make({.deadlines = {.prompt = absl::Milliseconds(50)}});
  worker_.control.extend.Hang();
  AwaitedStatus done;
  control().Extend(Header(), done.callback());
  EXPECT_THAT(done.Get(), StatusIs(absl::StatusCode::kDeadlineExceeded,
                                   HasReason(Reason::DEADLINE)));
}

TEST_F(GrpcControlTest, UploadThatHangsEndsWithItsDeadline) {
  Make({.deadlines = {.open = absl::Milliseconds(50)}});
  worker_.connector.open.start.Hang();
  Awaited<core::OpenReply> reply;
  control().Open(OpenOf(std::nullopt), reply.callback());
  EXPECT_THAT(reply.Get(), HasReason(Reason::DEADLINE));
}

TEST_F(GrpcControlTest, QueueMayWaitAsLongAsItAsksAndTheMargin) {
  Make({.deadlines = {.margin = absl::Seconds(30)}});
  worker_.control.queue.FailWith(grpc::Status::CANCELLED);
  Awaited<core::QueueReply> reply;
  control().Queue(
      Header(),
      {.step = 9, .linger = absl::Seconds(100), .wait = absl::Seconds(200)},
      reply.callback());
  (void)reply.Get();
  EXPECT_THAT(worker_.control.queue.last_deadline(),
              ::testing::AllOf(Gt(absl::Seconds(300)), Le(absl::Seconds(331))));
}

TEST_F(GrpcControlTest, AFetchMayTakeAsLongAsItsBytes) {
  Make({.deadlines = {.prompt = absl::Seconds(10),
                      .slowest_bytes_per_second = 1000}});
  const std::string data(300'000, 'x');
  worker_.control.queue.AnswerWith(ResponseOf(ResultWithReplayData(data)));
  worker_.control.part = data;
  Awaited<core::QueueReply> reply;
  control().Queue(Header(), Ask(12), reply.callback());
  ASSERT_OK(reply.Get());
  EXPECT_THAT(worker_.control.read_step_part.last_deadline(),
              ::testing::AllOf(Gt(absl::Seconds(300)), Le(absl::Seconds(311))));
}

TEST_F(GrpcControlTest, AnOpenMayTakeAsLongAsItsPosition) {
  Make({.deadlines = {.open = absl::Seconds(10),
                      .slowest_bytes_per_second = 1000}});
  worker_.connector.open.start.AnswerWith(OpenResponse());
  Awaited<core::OpenReply> reply;
  control().Open(OpenOf(std::string(300'000, ' ')), reply.callback());
  ASSERT_OK(reply.Get());
  EXPECT_THAT(worker_.connector.open.start.last_deadline(),
              ::testing::AllOf(Gt(absl::Seconds(300)), Le(absl::Seconds(311))));
}

TEST_F(GrpcControlTest, DestructorCancelsAndCallsBack) {
  worker_.control.queue.Hang();
  Awaited<core::QueueReply> reply;
  control().Queue(Header(), Ask(9, absl::Minutes(1)), reply.callback());
  worker_.control.queue.WaitForCall();
  control_ = nullptr;
  ASSERT_TRUE(reply.HasRun());
  EXPECT_THAT(reply.Get(), HasReason(Reason::CANCELLED));
}

TEST_F(GrpcControlTest, DestructorCancelsUploads) {
  worker_.connector.open.start.Hang();
  Awaited<core::OpenReply> reply;
  control().Open(OpenOf(std::nullopt), reply.callback());
  worker_.connector.open.start.WaitForCall();
  control_ = nullptr;
  ASSERT_TRUE(reply.HasRun());
  EXPECT_THAT(reply.Get(), HasReason(Reason::CANCELLED));
}

TEST_F(GrpcControlTest, CallbacksRunOnTheExecutorOnly) {
  core::ManualExecutor executor;
  GrpcControlOptions options;
  options.executor = &executor;
  Make(options);
  AwaitedStatus done;
  control().Extend(Header(), done.callback());
  worker_.control.extend.WaitForCall();
  // The destructor waits until the callback was handed over.
  control_ = nullptr;
  EXPECT_FALSE(done.HasRun());
  EXPECT_EQ(executor.RunUntilIdle(), 1u);
  EXPECT_TRUE(done.HasRun());
}

TEST_F(GrpcControlTest, CommandsRunSideBySide) {
  worker_.control.queue.Hang();
  Awaited<core::QueueReply> queued;
  control().Queue(Header(), Ask(9, absl::Minutes(1)), queued.callback());
  worker_.control.queue.WaitForCall();
  AwaitedStatus released;
  control().Release(Header(), released.callback());
  EXPECT_OK(released.Get());
  EXPECT_FALSE(queued.HasRun());
}

}  // namespace
}  // namespace penstock::client
