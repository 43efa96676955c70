#include "core/registry/schema_registry.h"

#include "core/base/path_policy.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/fake_schema_registry.h"
#include "tests/support/manual_executor.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <stop_token>
#include <string>

namespace penstock::core {
namespace {

using testing::HasSubstr;

class SchemaRegistryTest : public testing::Test {
 protected:
  absl::StatusOr<std::string> Fetch(SchemaRegistryConfig config, uint32_t id,
                                    const std::stop_token& stop = {}) {
    if (config.url.empty()) config.url = registry_.url();
    absl::StatusOr<std::unique_ptr<SchemaSource>> made =
        SchemaRegistry::Make(config, environment_);
    if (!made.ok()) return made.status();
    return (*made)->Fetch(id, stop);
  }

  FakeSchemaRegistry registry_;
  FakeFileSystem files_;
  ManualExecutor executor_;
  const PathPolicy paths_{{"/secrets"}};
  const Environment environment_{.files = files_,
                                 .io = executor_,
                                 .clock = executor_.clock(),
                                 .paths = paths_};
};

TEST_F(SchemaRegistryTest, GivesTheSchemaOfANumber) {
  registry_.SetSchema(7, R"({"type":"long"})");
  const auto schema = Fetch({.url = registry_.url() + "/"}, 7);
  ASSERT_OK(schema.status());
  EXPECT_EQ(*schema, R"({"type":"long"})");
  EXPECT_THAT(Fetch({}, 8).status(), HasReason(Reason::NOT_FOUND));
}

TEST_F(SchemaRegistryTest, WhatIsNoAvroCannotBeUsed) {
  registry_.SetSchema(1, "syntax = \"proto3\";", "PROTOBUF");
  const absl::Status status = Fetch({}, 1).status();
  EXPECT_THAT(status, HasReason(Reason::INVALID_CONFIG));
  EXPECT_THAT(status.message(), HasSubstr("PROTOBUF"));
}

TEST_F(SchemaRegistryTest, TroubleMayPass) {
  registry_.SetStatus(500);
  EXPECT_THAT(Fetch({}, 1).status(), HasReason(Reason::UNAVAILABLE));
  // Anything may answer 404.
  registry_.SetStatus(404);
  EXPECT_THAT(Fetch({}, 1).status(), HasReason(Reason::UNAVAILABLE));
  registry_.SetStatus(302);
  EXPECT_THAT(Fetch({}, 1).status(), HasReason(Reason::UNAVAILABLE));
  EXPECT_THAT(Fetch({.url = "http://127.0.0.1:1"}, 1).status(),
              HasReason(Reason::UNAVAILABLE));
}

// It would be none of Avro, and every message bad.
TEST_F(SchemaRegistryTest, AUrlThatIsNoneSaysNothingOfASchema) {
  EXPECT_THAT(Fetch({.url = "http://127.0.0.1:99999"}, 1).status(),
              HasReason(Reason::UNAVAILABLE));
}

TEST_F(SchemaRegistryTest, NoProxySeesASecret) {
  registry_.SetSchema(1, "\"long\"");
  ASSERT_OK(files_.CreateDirectories("/secrets"));
  ASSERT_OK(WriteFileDurably(files_, "/secrets/token", "t"));
  ASSERT_EQ(setenv("http_proxy", "http://127.0.0.1:1", 1), 0);
  EXPECT_THAT(Fetch({}, 1).status(), HasReason(Reason::UNAVAILABLE));
  EXPECT_OK(Fetch({.bearer_token = "${file:/secrets/token}"}, 1).status());
  ASSERT_EQ(unsetenv("http_proxy"), 0);
}

TEST_F(SchemaRegistryTest, ARequestEndsByItsTimeOutAndBeforeIfItIsStopped) {
  registry_.SetHangs(true);
  EXPECT_THAT(Fetch({.timeout = absl::Milliseconds(100)}, 1).status(),
              HasReason(Reason::DEADLINE));
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THAT(
      Fetch({.timeout = absl::Minutes(1)}, 1, stop.get_token()).status(),
      HasReason(Reason::CANCELLED));
}

// The secrets are those of the files; none is in what is said of a failure.
TEST_F(SchemaRegistryTest, SecretsComeByReference) {
  registry_.SetSchema(1, "\"long\"");
  ASSERT_OK(files_.CreateDirectories("/secrets"));
  ASSERT_OK(WriteFileDurably(files_, "/secrets/password", "p:w\n"));
  registry_.RequireHeader("Authorization: Basic dTpwOnc=\r\n");
  EXPECT_THAT(Fetch({}, 1).status(), HasReason(Reason::UNAUTHENTICATED));
  EXPECT_OK(Fetch({.username = "u", .password = "${file:/secrets/password}"}, 1)
                .status());
  registry_.RequireHeader("Authorization: Bearer p:w\r\n");
  EXPECT_OK(Fetch({.bearer_token = "${file:/secrets/password}"}, 1).status());
  const absl::Status refused =
      Fetch({.username = "u", .password = "${file:/secrets/password}"}, 1)
          .status();
  EXPECT_THAT(refused, HasReason(Reason::UNAUTHENTICATED));
  EXPECT_THAT(std::string(refused.message()), testing::Not(HasSubstr("p:w")));
  EXPECT_THAT(Fetch({.bearer_token = "${file:/elsewhere}"}, 1).status(),
              HasReason(Reason::PATH_NOT_ALLOWED));
  EXPECT_THAT(Fetch({.ca_file = "/elsewhere"}, 1).status(),
              HasReason(Reason::PATH_NOT_ALLOWED));
}

TEST(RegistryAnswerTest, MustBeOne) {
  EXPECT_THAT(ReadRegistryAnswer(1, 200, "").status(),
              HasReason(Reason::UNAVAILABLE));
  EXPECT_THAT(ReadRegistryAnswer(1, 200, "<html>").status(),
              HasReason(Reason::UNAVAILABLE));
  EXPECT_THAT(ReadRegistryAnswer(1, 200, "{\"schema\":1}").status(),
              HasReason(Reason::UNAVAILABLE));
}

}  // namespace
}  // namespace penstock::core
