#include "client/pipeline_file.h"
#include "core/base/error.h"
#include "core/sinks/kafka/config.h"
#include "proto/wire/violations.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/string_view.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace penstock::client {
namespace {

using testing::ElementsAre;

std::vector<std::string> FieldsOf(absl::string_view text) {
  std::vector<std::string> fields;
  const absl::Status status = ParsePipelineFile(text, "p.yaml").status();
  for (const wire::FieldViolation& violation : wire::GetViolations(status)) {
    fields.push_back(violation.field);
  }
  return fields;
}

TEST(PipelineMappingTest, OptionsOfKafkaAreAMapping) {
  const auto file = ParsePipelineFile(
      "name: p\nconnectors:\n"
      "  - name: c\n    source: {file: {path: /in}}\n    format: {ndjson: {}}\n"
      "    sink: {kafka: {topic: t, options: {bootstrap.servers: 'h:1',"
      " linger.ms: 20}}}\n",
      "p.yaml");
  ASSERT_OK(file);
  const auto& options =
      dynamic_cast<const core::KafkaSinkConfig&>(*file->connectors[0].sink)
          .options;
  EXPECT_EQ(options.at("bootstrap.servers"), "h:1");
  EXPECT_EQ(options.at("linger.ms"), "20");
  EXPECT_EQ(options.size(), 2u);
}

TEST(PipelineMappingTest, WrongOptionsOfKafkaAreNamed) {
  const std::string begin =
      "name: p\nconnectors:\n"
      "  - name: c\n    source: {file: {path: /in}}\n    format: {ndjson: {}}\n"
      "    sink: {kafka: {topic: t, options: ";
  EXPECT_THAT(FieldsOf(begin + "[a]}}\n"),
              testing::Contains("connectors[0].sink.kafka.options"));
  EXPECT_THAT(FieldsOf(begin + "{bootstrap.servers: h, no.such: x}}}\n"),
              ElementsAre("connectors[0].sink.kafka.options.no.such"));
}

}  // namespace
}  // namespace penstock::client
