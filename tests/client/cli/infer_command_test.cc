#include "client/cli/infer_command.h"

#include "client/pipeline_file.h"
#include "core/connector/requests.h"
#include "tests/support/compress.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace penstock::client {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

// What is printed for `bytes`, whole pipeline.
std::string PipelineOf(const core::TempDir& directory,
                       const std::string& bytes) {
  const std::string path = directory.Path("o-1.data");
  std::ofstream(path, std::ios::binary) << bytes;
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const CliExit exit = RunInfer({.file = path, .pipeline = true});
  const std::string yaml = testing::internal::GetCapturedStdout();
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(exit, CliExit::kOk) << said;
  return yaml;
}

// Whatever can stand in it comes back from the file that was printed.
void ExpectRunTakes(const std::string& yaml,
                    const core::InferredInput& inferred) {
  const auto pipeline = ParsePipelineFile(yaml, "p.yaml");
  ASSERT_OK(pipeline.status()) << yaml;
  ASSERT_THAT(pipeline->connectors, SizeIs(1));
  EXPECT_EQ(pipeline->connectors[0].schema, inferred.schema) << yaml;
}

core::InferredInput Inferred(const std::string& text) {
  return *core::InferInput(text, {});
}

TEST(InferCommandTest, RunTakesWhatIsPrinted) {
  const core::TempDir directory;
  const std::string text =
      R"({"id":1,"no":true,"a b":"\"","d":1.50,"at":"2026-01-31T10:00:00.)"
      R"(123456789Z","l":[{"x":[0.5]}],"m":{"1":{"y":"12:00:00"}},"v":[]})";
  ExpectRunTakes(PipelineOf(directory, text), Inferred(text));
}

TEST(InferCommandTest, RunTakesADialect) {
  const core::TempDir directory;
  const std::string text =
      "# c, c\nid\tt\n1\t\"a\\\"b\"\n2\t\\N\n# d\n3\t\"\\\"\"\n";
  const std::string yaml = PipelineOf(directory, text);
  ExpectRunTakes(yaml, Inferred(text));
  EXPECT_THAT(yaml,
              HasSubstr(R"({csv: {delimiter: "\t", escape: backslash, header: )"
                        R"(true, comment: "#", null_tokens: ["\\N"]}})"));
}

TEST(InferCommandTest, CompressedInputsAreDecoded) {
  const core::TempDir directory;
  const std::string text = "id,a\n1,x\n2,y\n";
  ExpectRunTakes(PipelineOf(directory, core::Gzip(text)), Inferred(text));
  ExpectRunTakes(PipelineOf(directory, core::Zstd(text)), Inferred(text));
}

TEST(InferCommandTest, ASampleIsBounded) {
  const core::TempDir directory;
  std::string text = "id,a\n";
  for (int i = 0; i < 100'000; ++i) absl::StrAppend(&text, i % 100, ",x\n");
  const std::string path = directory.Path("big.csv.gz");
  std::ofstream(path, std::ios::binary) << core::Gzip(text);
  testing::internal::CaptureStdout();
  EXPECT_EQ(RunInfer({.file = path, .sample_bytes = 1'000}), CliExit::kOk);
  EXPECT_THAT(testing::internal::GetCapturedStdout(),
              HasSubstr("{name: id, type: bigint}"));
}

TEST(InferCommandTest, WhatCannotBeReadIsAnError) {
  const core::TempDir directory;
  testing::internal::CaptureStderr();
  EXPECT_NE(RunInfer({.file = directory.Path("none")}), CliExit::kOk);
  EXPECT_EQ(RunInfer({.file = "-", .pipeline = true}), CliExit::kUsage);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("none"));
}

}  // namespace
}  // namespace penstock::client
