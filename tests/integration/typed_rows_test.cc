// Declared columns, from the wire to the parser of a real worker.
#include "tests/integration/caller.h"
#include "tests/integration/real_worker.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace penstock {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

class TypedRowsTest : public ::testing::Test {
 protected:
  // Three lines, of which the second does not fit.
  core::ConnectorSpec OrdersSpec() {
    core::ConnectorSpec spec = NdjsonSpec(
        "orders",
        worker_.Write("in", "{\"id\":1}\n{\"id\":1.5}\n{\"id\":2}\n"));
    spec.schema = {{{.name = "id", .type = core::SqlType::kBigint}}};
    return spec;
  }

  RealWorker worker_;
  Caller caller_{worker_.control(), "shop", 1};
};

TEST_F(TypedRowsTest, WhatDoesNotFitTheColumnsIsABadRecord) {
  ASSERT_OK(caller_.Open(OrdersSpec()));
  ASSERT_OK(caller_.Extend());
  ASSERT_OK_AND_ASSIGN(const core::QueueReply reply, caller_.Queue(0, 0));
  ASSERT_NE(reply.result, nullptr);
  EXPECT_EQ(reply.result->amount.records, 2u);
  ASSERT_OK_AND_ASSIGN(const core::ConnectorStatus status, caller_.Get());
  EXPECT_EQ(status.parse_errors, 1u);
  ASSERT_THAT(status.errors, SizeIs(1));
  EXPECT_EQ(status.errors[0].tag, "wrong_type");
  EXPECT_THAT(status.errors[0].text,
              HasSubstr("column id (bigint): '1.5' is no integer"));
}

TEST_F(TypedRowsTest, AStrictConnectorStopsAtIt) {
  core::ConnectorSpec spec = OrdersSpec();
  spec.on_parse_error = core::BadRecordPolicy::kFail;
  ASSERT_OK(caller_.Open(std::move(spec)));
  ASSERT_OK(caller_.Extend());
  EXPECT_THAT(caller_.Queue(0, 0).status().ToString(),
              HasSubstr("column id (bigint)"));
  EXPECT_EQ(caller_.State(), core::ConnectorState::kFailed);
}

}  // namespace
}  // namespace penstock
