#include "core/registry/schema_registry.h"

#include "core/base/path_policy.h"
#include "core/base/thread.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/fake_schema_registry.h"
#include "tests/support/manual_executor.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>

namespace penstock::core {
namespace {

using testing::HasSubstr;

std::string Reference(absl::string_view subject, int version) {
  return absl::StrCat(R"({"name":"n","subject":")", subject, R"(","version":)",
                      version, "}");
}

class SchemaRegistryTest : public testing::Test {
 protected:
  absl::StatusOr<RegisteredSchema> Fetch(SchemaRegistryConfig config,
                                         uint32_t id,
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
  EXPECT_EQ(schema->text, R"({"type":"long"})");
  EXPECT_THAT(Fetch({}, 8).status(), HasReason(Reason::NOT_FOUND));
}

TEST_F(SchemaRegistryTest, SaysWhichLanguageASchemaIsIn) {
  registry_.SetSchema(1, "syntax = \"proto3\";", "PROTOBUF");
  registry_.SetSchema(2, "\"long\"");
  const auto protobuf = Fetch({}, 1);
  ASSERT_OK(protobuf.status());
  EXPECT_EQ(protobuf->type, "PROTOBUF");
  const auto avro = Fetch({}, 2);
  ASSERT_OK(avro.status());
  EXPECT_EQ(avro->type, "AVRO");
}

// Imports are found by their names: each is there under every one it has.
TEST_F(SchemaRegistryTest, ReferencesOfProtobufBearTheNamesOfImports) {
  registry_.SetSchema(1, "top", "PROTOBUF",
                      R"([{"name":"a/one.proto","subject":"s","version":1},)"
                      R"({"name":"two.proto","subject":"s","version":1}])");
  registry_.SetVersion("s", 1, "S", "", "PROTOBUF");
  const auto schema = Fetch({}, 1);
  ASSERT_OK(schema.status());
  ASSERT_EQ(schema->references.size(), 2u);
  EXPECT_EQ(schema->references[0].name, "a/one.proto");
  EXPECT_EQ(schema->references[1].name, "two.proto");
  EXPECT_EQ(schema->references[1].text, "S");
}

TEST_F(SchemaRegistryTest, AReferenceInAnotherLanguageIsTroubleThatMayPass) {
  registry_.SetSchema(1, "top", "", absl::StrCat("[", Reference("b", 2), "]"));
  registry_.SetVersion("b", 2, "B", "", "PROTOBUF");
  const absl::Status status = Fetch({}, 1).status();
  EXPECT_THAT(status, HasReason(Reason::UNAVAILABLE));
  EXPECT_THAT(status.message(), HasSubstr("of type PROTOBUF, not AVRO"));
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

TEST_F(SchemaRegistryTest, ReferencesComeBeforeWhatNeedsThem) {
  registry_.SetSchema(
      1, "top", "",
      absl::StrCat("[", Reference("b", 2), ",", Reference("a b/c", 1), "]"));
  registry_.SetVersion("b", 2, "B",
                       absl::StrCat("[", Reference("a b/c", 1), "]"));
  registry_.SetVersion("a%20b%2fc", 1, "A");
  const auto schema = Fetch({}, 1);
  ASSERT_OK(schema.status());
  EXPECT_EQ(schema->text, "top");
  ASSERT_EQ(schema->references.size(), 2u);
  EXPECT_EQ(schema->references[0].text, "A");
  EXPECT_EQ(schema->references[1].text, "B");
  // Each once.
  EXPECT_EQ(registry_.requests(), 3);
}

// They may be mended, and messages wait.
TEST_F(SchemaRegistryTest, ReferencesThatCannotBeHadAreTroubleThatMayPass) {
  registry_.SetSchema(1, "top", "", absl::StrCat("[", Reference("b", 2), "]"));
  EXPECT_THAT(Fetch({}, 1).status(), HasReason(Reason::NOT_FOUND));
  registry_.SetVersion("b", 2, "B", absl::StrCat("[", Reference("c", 1), "]"));
  registry_.SetVersion("c", 1, "C", absl::StrCat("[", Reference("b", 2), "]"));
  const absl::Status cycle = Fetch({}, 1).status();
  EXPECT_THAT(cycle, HasReason(Reason::UNAVAILABLE));
  EXPECT_THAT(cycle.message(), HasSubstr("itself, by way of version 2 of 'b'"));
  registry_.SetVersion("b", 2, "B", "[{}]");
  EXPECT_THAT(Fetch({}, 1).status(), HasReason(Reason::UNAVAILABLE));
}

TEST_F(SchemaRegistryTest, ReferencesAreBounded) {
  const size_t count = SchemaRegistry::kReferencesMax + 1;
  registry_.SetSchema(1, "top", "", absl::StrCat("[", Reference("s", 1), "]"));
  for (size_t i = 1; i < count; ++i) {
    registry_.SetVersion(
        "s", static_cast<uint32_t>(i), "x",
        absl::StrCat("[", Reference("s", static_cast<int>(i) + 1), "]"));
  }
  const absl::Status many = Fetch({}, 1).status();
  EXPECT_THAT(many, HasReason(Reason::UNAVAILABLE));
  EXPECT_THAT(many.message(), HasSubstr("more than 64"));
  registry_.SetVersion("s", 1, std::string(kSchemaTextBytesMax, 'x'));
  EXPECT_THAT(Fetch({}, 1).status().message(), HasSubstr("1048576 bytes"));
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

TEST_F(SchemaRegistryTest, ARequestThatHangsIsWokenByItsStop) {
  registry_.SetHangs(true);
  std::stop_source stop;
  Thread stopper("stopper", [&](const std::stop_token& /*unused*/) {
    // Once it is taken there is nothing but the stop that ends it.
    while (registry_.requests() == 0) std::this_thread::yield();
    stop.request_stop();
  });
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
  EXPECT_THAT(ReadRegistryAnswer("schema 1", 200, "").status(),
              HasReason(Reason::UNAVAILABLE));
  EXPECT_THAT(ReadRegistryAnswer("schema 1", 200, "<html>").status(),
              HasReason(Reason::UNAVAILABLE));
  EXPECT_THAT(ReadRegistryAnswer("schema 1", 200, "{\"schema\":1}").status(),
              HasReason(Reason::UNAVAILABLE));
}

}  // namespace
}  // namespace penstock::core
