#include "client/cli/worker_query.h"

#include "core/base/error.h"
#include "proto/penstock/v1/connector.pb.h"
#include "proto/wire/status.h"

#include <absl/time/time.h>
#include <gmock/gmock.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <string>

namespace penstock::client {
namespace {

using core::MakeError;
using core::Reason;

// The details of `last_update.error` in the JSON of `connector`, each a
// mapping; empty if that is no JSON.
google::protobuf::ListValue DetailsOf(const v1::Connector& connector) {
  google::protobuf::Struct shown;
  const std::string json = JsonOf(connector, /*pretty=*/false);
  if (!google::protobuf::util::JsonStringToMessage(json, &shown).ok()) {
    ADD_FAILURE() << json;
    return {};
  }
  return shown.fields()
      .at("last_update")
      .struct_value()
      .fields()
      .at("error")
      .struct_value()
      .fields()
      .at("details")
      .list_value();
}

// Once there was half of it, and why.
TEST(JsonTest, TheDetailsOfAnErrorAreShown) {
  v1::Connector connector;
  *connector.mutable_last_update()->mutable_error() = wire::StatusToProto(
      core::WithRetryDelay(MakeError(Reason::INVALID_CONFIG, "shards: too many",
                                     {{"field", "shards"}}),
                           absl::Seconds(2)));
  const auto details = DetailsOf(connector);
  ASSERT_EQ(details.values_size(), 2);
  const auto& info = details.values(0).struct_value().fields();
  EXPECT_EQ(info.at("@type").string_value(),
            "type.googleapis.com/google.rpc.ErrorInfo");
  EXPECT_EQ(info.at("reason").string_value(), "INVALID_CONFIG");
  EXPECT_EQ(
      info.at("metadata").struct_value().fields().at("field").string_value(),
      "shards");
  const auto& retry = details.values(1).struct_value().fields();
  EXPECT_EQ(retry.at("@type").string_value(),
            "type.googleapis.com/google.rpc.RetryInfo");
  EXPECT_EQ(retry.at("retry_delay").string_value(), "2s");
}

TEST(JsonTest, ADetailOfANewerWorkerIsNamed) {
  v1::Connector connector;
  auto& detail =
      *connector.mutable_last_update()->mutable_error()->add_details();
  detail.set_type_url("type.googleapis.com/penstock.v9.Newer");
  detail.set_value("\x08\x01");
  const auto details = DetailsOf(connector);
  ASSERT_EQ(details.values_size(), 1);
  EXPECT_EQ(
      details.values(0).struct_value().fields().at("@type").string_value(),
      "type.googleapis.com/penstock.v9.Newer");
}

}  // namespace
}  // namespace penstock::client
