#include "server/dispatch/connector_table.h"

#include "core/base/error.h"
#include "tests/core/connector/harness.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace penstock::server {
namespace {

using core::Answer;
using core::HasReason;
using core::Reason;
using OpenOutcome = ConnectorTable::OpenOutcome;

class ConnectorTableTest : public testing::Test {
 protected:
  static core::OpenRequest RequestOf(const std::string& name,
                                     const std::string& pipeline) {
    core::OpenRequest request;
    request.fence.pipeline = pipeline;
    request.request_id = "request-of-" + name;
    request.spec.name = name;
    request.spec.limits.memory_max = 1;
    return request;
  }
  absl::StatusOr<OpenOutcome> BeginOpen(
      const std::string& name, const std::string& pipeline,
      Answer<core::OpenReply> answer = Answer<core::OpenReply>()) {
    ConnectorTable::Reply<core::OpenReply> reply = answer.Callback();
    return table_.BeginOpen(RequestOf(name, pipeline), reply);
  }
  absl::StatusOr<ConnectorTable::Removal> BeginDelete(
      const std::string& name, const std::string& instance) {
    ConnectorTable::Reply<core::DisconnectReply> reply =
        Answer<core::DisconnectReply>().Callback();
    return table_.BeginDelete("p", {.connector = name, .instance = instance},
                              reply);
  }
  // A connector that was never opened.
  std::shared_ptr<core::Connector> Make() {
    harness_.Make();
    return harness_.connector;
  }

  core::Harness harness_;
  ConnectorTable table_{2000, 1 << 20, 64};
};

TEST_F(ConnectorTableTest, PipelineIsUsedFromOpenToDelete) {
  EXPECT_FALSE(table_.IsUsed("p"));
  ASSERT_OK(BeginOpen("a", "p"));
  ASSERT_OK(BeginOpen("b", "p"));
  ASSERT_OK(BeginOpen("c", "other"));
  EXPECT_TRUE(table_.IsUsed("p"));
  table_.FinishOpen("a", absl::UnavailableError("no"));
  EXPECT_TRUE(table_.IsUsed("p"));
  ASSERT_OK(table_.SetConnector("b", Make()));
  table_.FinishOpen("b", core::OpenReply{});
  EXPECT_TRUE(table_.IsUsed("p"));
  table_.FinishDelete("b");
  EXPECT_FALSE(table_.IsUsed("p"));
  EXPECT_TRUE(table_.IsUsed("other"));
  table_.Clear(absl::CancelledError("the end"));
  EXPECT_FALSE(table_.IsUsed("other"));
  EXPECT_EQ(table_.memory_committed(), 0u);
}

TEST_F(ConnectorTableTest, DrainFindsWhatIsOpenedAndRefusesWhatIsBeingMade) {
  ASSERT_OK(BeginOpen("a", "p"));
  ASSERT_OK(table_.SetConnector("a", Make()));
  ASSERT_OK(BeginOpen("b", "p"));
  EXPECT_FALSE(table_.is_draining());
  EXPECT_EQ(table_.BeginDrain().size(), 1u);
  EXPECT_TRUE(table_.is_draining());
  EXPECT_THAT(table_.SetConnector("b", Make()),
              HasReason(Reason::SHUTTING_DOWN));
  EXPECT_THAT(BeginOpen("c", "p"), HasReason(Reason::SHUTTING_DOWN));
}

// It names the one before, which is gone.
TEST_F(ConnectorTableTest, DeleteOfAnInstanceSparesTheOneThatIsBeingOpened) {
  ASSERT_OK(BeginOpen("a", "p"));
  const auto removal = BeginDelete("a", "the-one-before");
  ASSERT_OK(removal);
  EXPECT_EQ(removal->outcome, ConnectorTable::DeleteOutcome::kGone);
  ASSERT_OK(table_.SetConnector("a", Make()));
  EXPECT_EQ(table_.FinishOpen("a", core::OpenReply{}).delete_now, nullptr);
}

TEST_F(ConnectorTableTest, WhoWaitsForAnOpenIsBounded) {
  ASSERT_OK(BeginOpen("a", "p"));
  for (size_t i = 0; i < ConnectorTable::kWaitingMax; ++i) {
    ASSERT_OK(BeginOpen("a", "p"));
  }
  EXPECT_THAT(BeginOpen("a", "p"), HasReason(Reason::BUDGET_EXCEEDED));
  EXPECT_EQ(table_.FinishOpen("a", absl::UnavailableError("no")).waiting.size(),
            ConnectorTable::kWaitingMax);
}

TEST_F(ConnectorTableTest, WhoWaitsForADeleteIsBounded) {
  ASSERT_OK(BeginOpen("a", "p"));
  for (size_t i = 0; i < ConnectorTable::kWaitingMax; ++i) {
    ASSERT_OK(BeginDelete("a", ""));
  }
  EXPECT_THAT(BeginDelete("a", ""), HasReason(Reason::BUDGET_EXCEEDED));
}

}  // namespace
}  // namespace penstock::server
