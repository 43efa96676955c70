#include "client/client.h"

#include "core/base/error.h"
#include "core/base/thread.h"
#include "tests/client/await.h"
#include "tests/client/fake_worker.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <stop_token>
#include <utility>

namespace penstock::client {
namespace {

using core::HasReason;
using core::IsOk;
using core::Reason;

std::unique_ptr<Client> ConnectTo(const FakeWorker& worker) {
  auto client = Client::Connect(worker.target());
  EXPECT_TRUE(client.ok()) << client.status();
  return *std::move(client);
}

TEST(ClientTest, RefusesWhatIsNoAddress) {
  EXPECT_THAT(Client::Connect("nowhere"), HasReason(Reason::INVALID_CONFIG));
}

TEST(ClientTest, GivesCommands) {
  FakeWorker worker;
  const auto client = ConnectTo(worker);
  AwaitedStatus done;
  client->control().Extend(core::CommandHeader(), done.callback());
  EXPECT_OK(done.Get());
}

TEST(ClientTest, WatchesEvents) {
  FakeWorker worker;
  const auto client = ConnectTo(worker);
  AwaitedStatus end;
  const auto watch = client->StartWatch(
      v1::WatchRequest(), [](const v1::WatchEvent&) {}, end.callback());
  EXPECT_OK(end.Get());
}

TEST(ClientTest, ServingWorkerIsHealthy) {
  FakeWorker worker;
  const auto client = ConnectTo(worker);
  AwaitedStatus done;
  client->CheckHealth(absl::Seconds(30), done.callback());
  EXPECT_OK(done.Get());
}

TEST(ClientTest, WorkerThatDoesNotServeIsNotHealthy) {
  FakeWorker worker;
  worker.SetServing(false);
  const auto client = ConnectTo(worker);
  AwaitedStatus done;
  client->CheckHealth(absl::Seconds(30), done.callback());
  EXPECT_THAT(done.Get(), HasReason(Reason::SHUTTING_DOWN));
}

TEST(ClientTest, HealthOfNobodyEndsWithItsDeadline) {
  FakeWorker worker(/*start=*/false);
  const auto client = ConnectTo(worker);
  AwaitedStatus done;
  client->CheckHealth(absl::Milliseconds(50), done.callback());
  EXPECT_THAT(done.Get(), HasReason(Reason::DEADLINE));
}

TEST(ClientTest, WaitReadyWaitsForAWorkerThatStartsLater) {
  FakeWorker worker(/*start=*/false);
  const auto client = ConnectTo(worker);
  core::Thread starter("starter",
                       [&worker](std::stop_token) { worker.Start(); });
  EXPECT_OK(client->WaitReady(absl::Seconds(30)));
}

TEST(ClientTest, WaitReadyWaitsForAWorkerThatServesLater) {
  FakeWorker worker;
  worker.SetServing(false);
  const auto client = ConnectTo(worker);
  core::Thread opener("opener",
                      [&worker](std::stop_token) { worker.SetServing(true); });
  EXPECT_OK(client->WaitReady(absl::Seconds(30)));
}

TEST(ClientTest, WaitReadyEndsWithTheLastError) {
  FakeWorker worker;
  worker.SetServing(false);
  const auto client = ConnectTo(worker);
  EXPECT_THAT(client->WaitReady(absl::Milliseconds(120)),
              ::testing::AnyOf(HasReason(Reason::SHUTTING_DOWN),
                               HasReason(Reason::DEADLINE)));
}

TEST(ClientTest, FindsARestartedWorkerAgain) {
  FakeWorker worker;
  const auto client = ConnectTo(worker);
  ASSERT_OK(client->WaitReady(absl::Seconds(30)));
  worker.Stop();
  AwaitedStatus gone;
  client->control().Extend(core::CommandHeader(), gone.callback());
  EXPECT_THAT(gone.Get(), HasReason(Reason::UNAVAILABLE));
  worker.Start();
  EXPECT_OK(client->WaitReady(absl::Seconds(30)));
  AwaitedStatus back;
  client->control().Extend(core::CommandHeader(), back.callback());
  EXPECT_OK(back.Get());
}

TEST(ClientTest, ListsTypes) {
  FakeWorker worker;
  v1::ListConnectorTypesResponse response;
  response.mutable_worker()->set_run_id("run");
  worker.connector.list_connector_types.AnswerWith(response);
  const auto client = ConnectTo(worker);
  ASSERT_OK_AND_ASSIGN(const auto types, client->ListConnectorTypes());
  EXPECT_EQ(types.worker().run_id(), "run");
}

TEST(ClientTest, DescribesAType) {
  FakeWorker worker;
  const auto client = ConnectTo(worker);
  v1::DescribeConnectorTypeRequest request;
  request.set_name("file");
  EXPECT_OK(client->DescribeConnectorType(request));
  EXPECT_EQ(worker.connector.describe_connector_type.requests()[0].name(),
            "file");
}

TEST(ClientTest, ValidatesASpec) {
  FakeWorker worker;
  v1::ValidateConnectorResponse response;
  response.add_violations()->set_field("shards");
  worker.connector.validate_connector.AnswerWith(response);
  const auto client = ConnectTo(worker);
  ASSERT_OK_AND_ASSIGN(
      const auto validated,
      client->ValidateConnector(v1::ValidateConnectorRequest()));
  EXPECT_EQ(validated.violations(0).field(), "shards");
}

}  // namespace
}  // namespace penstock::client
