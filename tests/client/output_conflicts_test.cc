#include "client/output_conflicts.h"

#include "client/pipeline_file.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace penstock::client {
namespace {

using ::testing::HasSubstr;

std::string MessageOf(absl::string_view text) {
  return std::string(ParsePipelineFile(text, "p.yaml").status().message());
}

std::string OneFrom(absl::string_view source, absl::string_view sink,
                    absl::string_view more = "") {
  return absl::StrCat(
      "name: shop\nconnectors:\n  - name: a\n    source: ", source,
      "\n    format: {raw: {}}\n    sink: ", sink, "\n", more);
}

TEST(OutputConflictsTest, AConnectorDoesNotReadWhatItWrites) {
  const char kOut[] = "{file: {path: in/out}}";
  EXPECT_THAT(MessageOf(OneFrom("{file: {path: './in/**'}}", kOut)),
              HasSubstr("p.yaml:6: connectors[0].sink.file.path: its source "
                        "reads './in/**', which matches files there such as "
                        "'in/out/claim."));
  EXPECT_THAT(MessageOf(OneFrom("{file: {path: 'in/*/data*'}}", kOut)),
              HasSubstr("it would read what it wrote"));
  EXPECT_THAT(MessageOf(OneFrom("{file: {path: 'in/*.gz'}}",
                                "{file: {path: in/, compression: gzip}}")),
              HasSubstr("it would read what it wrote"));
  EXPECT_THAT(
      MessageOf(OneFrom("{file: {path: '/d/**/*.ndjson'}}", "{null: {}}",
                        "    dead_letter: {file: {path: /d/dead}}\n")),
      HasSubstr("connectors[0].dead_letter.file.path"));
}

TEST(OutputConflictsTest, OutputsBesideWhatIsReadAreTaken) {
  for (const char* source :
       {"in/*", "in/*.log", "in/**/*.log", "in/out", "/in/**", "in/out/x/*"}) {
    EXPECT_OK(ParsePipelineFile(
        OneFrom(absl::StrCat("{file: {path: '", source, "'}}"),
                "{file: {path: in/out}}"),
        "p.yaml"))
        << source;
  }
}

TEST(OutputConflictsTest, TwoConnectorsOfAWorkerNeedTwoDirectories) {
  const std::string two = OneFrom(
      "{file: {path: x}}", "{file: {path: out}}",
      "  - {name: b, source: {file: {path: y}}, format: {raw: {}}, sink: "
      "{file: {path: ./out/}}}\n");
  EXPECT_THAT(MessageOf(two),
              HasSubstr("p.yaml:7: connectors[1].sink.file.path: './out/' is "
                        "the directory of connectors[0], too"));
  EXPECT_OK(ParsePipelineFile(
      absl::StrCat(two,
                   "workers:\n"
                   "  - {address: 'unix:/a', connectors: [a]}\n"
                   "  - {address: 'unix:/b', connectors: [b]}\n"),
      "p.yaml"));
}

}  // namespace
}  // namespace penstock::client
