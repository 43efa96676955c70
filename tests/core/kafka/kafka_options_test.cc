#include "core/kafka/kafka_options.h"

#include "core/base/error.h"
#include "core/base/filesystem.h"
#include "core/base/path_policy.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>

namespace penstock::core {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::array<absl::string_view, 1> kReserved = {"auto.offset.reset"};

std::string FieldOf(const absl::Status& status) {
  const std::optional<ErrorInfo> info = GetErrorInfo(status);
  return info.has_value() ? info->metadata.at("field") : "";
}

std::string ValueOf(const KafkaConf& conf, const char* name) {
  std::array<char, 256> value{};
  size_t bytes = value.size();
  rd_kafka_conf_get(conf.conf.get(), name, value.data(), &bytes);
  return value.data();
}

TEST(KafkaOptionsTest, KnownOptionsPass) {
  EXPECT_OK(CheckKafkaOptions({{"bootstrap.servers", "a:1,b:2"},
                               {"fetch.max.bytes", "1000000"},
                               {"acks", "all"}},
                              kReserved));
}

TEST(KafkaOptionsTest, UnknownOptionIsNamed) {
  const absl::Status status = CheckKafkaOptions({{"fetch.bytes", "1"}}, {});
  EXPECT_THAT(status, HasReason(Reason::INVALID_CONFIG));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("option fetch.bytes: librdkafka"));
  EXPECT_EQ(FieldOf(status), "options.fetch.bytes");
}

TEST(KafkaOptionsTest, ValueThatIsRefusedIsNamed) {
  const absl::Status status =
      CheckKafkaOptions({{"fetch.max.bytes", "many"}}, {});
  EXPECT_THAT(status, HasReason(Reason::INVALID_CONFIG));
  EXPECT_EQ(FieldOf(status), "options.fetch.max.bytes");
}

TEST(KafkaOptionsTest, ReservedOptionIsRefused) {
  const absl::Status status =
      CheckKafkaOptions({{"auto.offset.reset", "latest"}}, kReserved);
  EXPECT_THAT(status, HasReason(Reason::INVALID_CONFIG));
  EXPECT_EQ(FieldOf(status), "options.auto.offset.reset");
}

TEST(KafkaOptionsTest, OptionThatRunsSomethingIsRefused) {
  EXPECT_THAT(CheckKafkaOptions({{"plugin.library.paths", "/tmp/x.so"}}, {}),
              HasReason(Reason::INVALID_CONFIG));
  EXPECT_THAT(CheckKafkaOptions({{"sasl.kerberos.kinit.cmd", "rm"}}, {}),
              HasReason(Reason::INVALID_CONFIG));
}

TEST(KafkaOptionsTest, OptionThatTakesCallbacksAwayIsRefused) {
  EXPECT_THAT(CheckKafkaOptions({{"log.queue", "true"}}, {}),
              HasReason(Reason::INVALID_CONFIG));
  EXPECT_THAT(CheckKafkaOptions({{"enabled_events", "1"}}, {}),
              HasReason(Reason::INVALID_CONFIG));
}

TEST(KafkaOptionsTest, WhatAShellSeesIsPlain) {
  FakeFileSystem files;
  ASSERT_OK(WriteFileDurably(files, "/name", "a; touch /tmp/x"));
  ASSERT_OK(WriteFileDurably(files, "/good", "penstock/host_1.a@REALM"));
  for (const char* const name :
       {"sasl.kerberos.principal", "sasl.kerberos.keytab",
        "sasl.kerberos.service.name"}) {
    SCOPED_TRACE(name);
    for (const char* const bad :
         {"a; touch /tmp/x", "$(id)", "`id`", "a b", "a\nb", "a\"b", "a|b",
          "a&b", "%{x}", "-Ra"}) {
      const absl::Status status = CheckKafkaOptions({{name, bad}}, {});
      EXPECT_THAT(status, HasReason(Reason::INVALID_CONFIG)) << bad;
    }
    EXPECT_OK(CheckKafkaOptions({{name, "penstock/host_1.a@REALM"}}, {}));
  }
  const auto resolve = [&](const char* value) {
    return ResolveKafkaOptions({{"sasl.kerberos.principal", value}}, {}, files,
                               PathPolicy({}));
  };
  EXPECT_THAT(resolve("${file:/name}"), HasReason(Reason::INVALID_CONFIG));
  EXPECT_OK(resolve("${file:/good}"));
}

TEST(KafkaOptionsTest, TopicsAreNamedByKafkasRule) {
  EXPECT_TRUE(IsKafkaTopicName("a.B_9-"));
  EXPECT_TRUE(IsKafkaTopicName(std::string(249, 'a')));
  for (const std::string& bad :
       {std::string(), std::string("."), std::string(".."), std::string("a/b"),
        std::string("\xc3\xa4"), std::string(250, 'a')}) {
    EXPECT_FALSE(IsKafkaTopicName(bad)) << bad;
  }
}

TEST(KafkaOptionsTest, SecretInPlainTextIsRefusedAndNotQuoted) {
  const absl::Status status =
      CheckKafkaOptions({{"sasl.password", "hush"}}, {});
  EXPECT_THAT(status, HasReason(Reason::INVALID_CONFIG));
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr("hush")));
  EXPECT_OK(CheckKafkaOptions({{"sasl.password", "${env:P}"}}, {}));
}

TEST(KafkaOptionsTest, ReferencesAreResolvedAndRemembered) {
  FakeFileSystem files;
  ASSERT_OK(WriteFileDurably(files, "/password", "hush\n"));
  ASSERT_OK_AND_ASSIGN(
      const KafkaConf conf,
      ResolveKafkaOptions(
          {{"sasl.password", "${file:/password}"}, {"client.id", "mine"}},
          {{"client.id", "ours"}, {"fetch.min.bytes", "7"}}, files,
          PathPolicy({})));
  EXPECT_EQ(ValueOf(conf, "sasl.password"), "hush");
  EXPECT_EQ(ValueOf(conf, "client.id"), "mine");
  EXPECT_EQ(ValueOf(conf, "fetch.min.bytes"), "7");
  EXPECT_THAT(conf.secrets, testing::ElementsAre("hush"));
}

TEST(KafkaOptionsTest, WrongSecretIsNotQuoted) {
  FakeFileSystem files;
  ASSERT_OK(WriteFileDurably(files, "/number", "hush"));
  const absl::Status status =
      ResolveKafkaOptions({{"fetch.max.bytes", "${file:/number}"}}, {}, files,
                          PathPolicy({}))
          .status();
  EXPECT_THAT(status, HasReason(Reason::INVALID_CONFIG));
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr("hush")));
}

TEST(KafkaOptionsTest, FilesLieBelowARoot) {
  FakeFileSystem files;
  ASSERT_OK(files.CreateDirectories("/allowed"));
  EXPECT_THAT(ResolveKafkaOptions({{"ssl.ca.location", "/etc/ca.pem"}}, {},
                                  files, PathPolicy({"/allowed"})),
              HasReason(Reason::PATH_NOT_ALLOWED));
}

}  // namespace
}  // namespace penstock::core
