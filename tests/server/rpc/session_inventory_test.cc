#include "server/rpc/session_inventory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace penstock::server {
namespace {

using core::ConnectorState;

core::ConnectorStatus Status(ConnectorState state) {
  core::ConnectorStatus status;
  status.name = "orders";
  status.pipeline = "p";
  status.state = state;
  status.chunk_bytes = 4096;
  return status;
}

v1::ReconciledConnector Outcome(const core::ConnectorStatus& status) {
  v1::DesiredConnector desired;
  desired.set_connector("orders");
  return Reconcile({status}, {desired}, false).at(0);
}

TEST(SessionInventoryTest, OnlyWhatCanBeUsedOnIsReused) {
  for (const ConnectorState state :
       {ConnectorState::kOpened, ConnectorState::kReplaying,
        ConnectorState::kReplayed, ConnectorState::kRunning,
        ConnectorState::kPaused}) {
    EXPECT_EQ(Outcome(Status(state)).outcome(), v1::RECONCILIATION_REUSED)
        << core::StateName(state);
  }
  for (const ConnectorState state :
       {ConnectorState::kFailed, ConnectorState::kClosed}) {
    const v1::ReconciledConnector outcome = Outcome(Status(state));
    EXPECT_EQ(outcome.outcome(), v1::RECONCILIATION_CHANGED);
    EXPECT_EQ(outcome.detail(), "it is " + std::string(core::StateName(state)));
  }
}

TEST(SessionInventoryTest, WhatIsBeingOpenedIsNotReused) {
  core::ConnectorStatus status = Status(ConnectorState::kOpened);
  status.chunk_bytes = 0;
  EXPECT_EQ(Outcome(status).outcome(), v1::RECONCILIATION_CHANGED);
  EXPECT_EQ(Outcome(status).detail(), "it is being opened");
}

}  // namespace
}  // namespace penstock::server
