// What a worker says of its types, and dry runs, over real gRPC.
#include "client/client.h"
#include "proto/penstock/v1/connector.pb.h"
#include "proto/penstock/v1/spec.pb.h"
#include "server/rpc/dry_run.h"
#include "tests/integration/real_worker.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace penstock {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

v1::ConnectorSpec Spec(const std::string& source) {
  v1::ConnectorSpec spec;
  spec.set_name("orders");
  spec.mutable_source()->mutable_file()->set_path(source);
  spec.mutable_format()->mutable_ndjson();
  spec.mutable_sink()->mutable_null();
  return spec;
}

// "connect.source=passed" of each phase.
std::vector<std::string> Phases(const v1::ValidateConnectorResponse& response) {
  std::vector<std::string> phases;
  for (const v1::ValidationFinding& finding : response.findings()) {
    const std::string phase = v1::ValidationPhase_Name(finding.phase());
    const std::string of = v1::ConnectorTypeKind_Name(finding.target());
    const std::string outcome = v1::ValidationOutcome_Name(finding.outcome());
    phases.push_back(absl::StrCat(
        phase.substr(17), ".", of.substr(20), "=", outcome.substr(19),
        finding.reason().empty() ? "" : " ", finding.reason()));
  }
  return phases;
}

class DiscoveryTest : public ::testing::Test {
 protected:
  v1::ValidateConnectorResponse Validate(const v1::ConnectorSpec& spec,
                                         bool probe) {
    v1::ValidateConnectorRequest request;
    *request.mutable_spec() = spec;
    request.set_probe(probe);
    auto response = worker_.client().ValidateConnector(request);
    EXPECT_OK(response.status());
    return response.ok() ? *std::move(response)
                         : v1::ValidateConnectorResponse();
  }

  RealWorker worker_;
};

TEST_F(DiscoveryTest, EveryTypeThatIsListedIsDescribed) {
  ASSERT_OK_AND_ASSIGN(const auto listed,
                       worker_.client().ListConnectorTypes());
  std::vector<std::string> names;
  for (const v1::ConnectorType& type : listed.types()) {
    names.push_back(type.name());
    v1::DescribeConnectorTypeRequest request;
    request.set_kind(type.kind());
    request.set_name(type.name());
    ASSERT_OK_AND_ASSIGN(const auto described,
                         worker_.client().DescribeConnectorType(request));
    EXPECT_THAT(described.type().summary(), Not(IsEmpty())) << type.name();
    google::protobuf::Struct schema;
    EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(
                    described.config_schema(), &schema)
                    .ok())
        << described.config_schema();
    for (const v1::ConfigField& field : described.fields()) {
      EXPECT_THAT(field.description(), Not(IsEmpty())) << field.name();
      EXPECT_NE(field.change(), v1::CHANGE_CLASS_UNSPECIFIED) << field.name();
    }
  }
  EXPECT_THAT(names, ::testing::IsSupersetOf(
                         {"file", "ndjson", "csv", "key_hash", "postgres"}));
}

TEST_F(DiscoveryTest, ATypeSaysItsLevelAndWhatItCan) {
  v1::DescribeConnectorTypeRequest request;
  request.set_kind(v1::CONNECTOR_TYPE_KIND_SINK);
  request.set_name("postgres");
  ASSERT_OK_AND_ASSIGN(const auto described,
                       worker_.client().DescribeConnectorType(request));
  EXPECT_EQ(described.type().level_max(), v1::DELIVERY_LEVEL_EXACTLY_ONCE);
  EXPECT_THAT(described.capabilities(),
              ElementsAre("exactly_once", "dry_run", "secrets"));
  const v1::ConfigField& url = described.fields(0);
  EXPECT_EQ(url.name(), "url");
  EXPECT_TRUE(url.required());
  EXPECT_TRUE(url.secret());
}

TEST_F(DiscoveryTest, AnUnknownTypeNamesThoseThatThereAre) {
  v1::DescribeConnectorTypeRequest request;
  request.set_kind(v1::CONNECTOR_TYPE_KIND_FORMAT);
  request.set_name("xml");
  const auto described = worker_.client().DescribeConnectorType(request);
  EXPECT_THAT(described.status(), core::HasReason("NOT_FOUND"));
  EXPECT_THAT(described.status().message(), HasSubstr("ndjson"));
}

TEST_F(DiscoveryTest, TheWorkerTellsItsClock) {
  ASSERT_OK_AND_ASSIGN(const auto listed,
                       worker_.client().ListConnectorTypes());
  EXPECT_GT(listed.now().seconds(), 0);
}

TEST_F(DiscoveryTest, AGoodSpecificationPassesEveryPhase) {
  const std::string input = worker_.Write("in.ndjson", "{\"a\":1}\n");
  const auto response = Validate(Spec(input), /*probe=*/true);
  EXPECT_THAT(response.violations(), IsEmpty());
  EXPECT_EQ(response.level(), v1::DELIVERY_LEVEL_EXACTLY_ONCE);
  EXPECT_EQ(response.resolved_spec().shards(), 1);
  EXPECT_THAT(
      Phases(response),
      ElementsAre("SCHEMA.UNSPECIFIED=PASSED", "RESOLVE.UNSPECIFIED=PASSED",
                  "CONNECT.SOURCE=PASSED", "AUTHENTICATE.SOURCE=PASSED",
                  "PERMISSION.SOURCE=PASSED", "READ_ONE.SOURCE=PASSED",
                  "CONNECT.SINK=PASSED", "AUTHENTICATE.SINK=PASSED",
                  "PERMISSION.SINK=PASSED"));
}

TEST_F(DiscoveryTest, WithoutProbeNothingOutsideIsLookedAt) {
  const auto response = Validate(Spec("/no/such/file"), /*probe=*/false);
  EXPECT_THAT(response.violations(), IsEmpty());
  EXPECT_THAT(Phases(response), ElementsAre("SCHEMA.UNSPECIFIED=PASSED",
                                            "RESOLVE.UNSPECIFIED=PASSED"));
}

TEST_F(DiscoveryTest, AWrongFieldFailsTheFirstPhase) {
  v1::ConnectorSpec spec = Spec("in");
  spec.set_shards(5000);
  const auto response = Validate(spec, /*probe=*/true);
  EXPECT_THAT(Phases(response),
              ElementsAre("SCHEMA.UNSPECIFIED=FAILED OUT_OF_RANGE",
                          "RESOLVE.UNSPECIFIED=SKIPPED"));
  EXPECT_EQ(response.violations(0).field(), "spec.shards");
}

TEST_F(DiscoveryTest, MoreMemoryThanIsLeftDoesNotResolve) {
  v1::ConnectorSpec spec = Spec("in");
  spec.mutable_limits()->set_memory_max(uint64_t{1} << 50);
  const auto response = Validate(spec, /*probe=*/true);
  EXPECT_THAT(Phases(response),
              Contains("RESOLVE.UNSPECIFIED=FAILED MEMORY_REFUSED"));
  EXPECT_EQ(response.violations(0).field(), "spec.limits.memory_max");
}

TEST_F(DiscoveryTest, AMissingFileFailsToConnect) {
  const auto response = Validate(Spec("/no/such/file"), /*probe=*/true);
  EXPECT_THAT(Phases(response),
              ::testing::IsSupersetOf({"CONNECT.SOURCE=FAILED NOT_FOUND",
                                       "READ_ONE.SOURCE=SKIPPED",
                                       "CONNECT.SINK=PASSED"}));
  EXPECT_THAT(response.violations(0).description(), HasSubstr("/no/such/file"));
}

TEST_F(DiscoveryTest, AFileWithoutAGoodRecordFailsToReadOne) {
  const std::string input = worker_.Write("in.ndjson", "no json\n");
  const auto response = Validate(Spec(input), /*probe=*/true);
  EXPECT_THAT(Phases(response),
              Contains("READ_ONE.SOURCE=FAILED MALFORMED_FRAME"));
}

TEST_F(DiscoveryTest, AnEmptyFileIsNoFailure) {
  const std::string input = worker_.Write("in.ndjson", "");
  const auto response = Validate(Spec(input), /*probe=*/true);
  EXPECT_THAT(response.violations(), IsEmpty());
  EXPECT_THAT(Phases(response), Contains("READ_ONE.SOURCE=SKIPPED"));
}

TEST_F(DiscoveryTest, ADirectoryOfTheSinkThatIsAFileDoesNotResolve) {
  const std::string input = worker_.Write("in.ndjson", "{}\n");
  v1::ConnectorSpec spec = Spec(input);
  spec.mutable_sink()->mutable_file()->set_path(input + "/out");
  const auto response = Validate(spec, /*probe=*/true);
  EXPECT_FALSE(response.violations().empty());
}

TEST(ProbeSlotsTest, ThereAreFewAndTheyComeBack) {
  server::ProbeSlots slots;
  for (int i = 0; i < server::ProbeSlots::kMost; ++i) {
    EXPECT_TRUE(slots.Take());
  }
  EXPECT_FALSE(slots.Take());
  slots.Return();
  EXPECT_TRUE(slots.Take());
}

TEST_F(DiscoveryTest, ADryRunGivesItsSlotBack) {
  const std::string input = worker_.Write("in.ndjson", "{}\n");
  for (int i = 0; i <= server::ProbeSlots::kMost; ++i) {
    EXPECT_THAT(Phases(Validate(Spec(input), /*probe=*/true)),
                Contains("READ_ONE.SOURCE=PASSED"));
  }
}

TEST_F(DiscoveryTest, ADryRunLeavesNoTrace) {
  const std::string input = worker_.Write("in.ndjson", "{}\n");
  v1::ConnectorSpec spec = Spec(input);
  const std::string out = worker_.directory().path() + "/out";
  spec.mutable_sink()->mutable_file()->set_path(out);
  const auto response = Validate(spec, /*probe=*/true);
  EXPECT_THAT(response.violations(), IsEmpty());
  EXPECT_THAT(Phases(response), Contains("PERMISSION.SINK=PASSED"));
  EXPECT_THAT(core::PosixFileSystem().Stat(out).status(),
              core::HasReason("NOT_FOUND"));
}

}  // namespace
}  // namespace penstock
