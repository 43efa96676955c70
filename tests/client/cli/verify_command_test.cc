#include "client/cli/verify_command.h"

#include "core/sinks/file/layout.h"
#include "core/sinks/file/manifest.h"
#include "tests/support/compress.h"
#include "tests/support/temp_dir.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace penstock::client {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr core::Writer kWriter = {.epoch = 1, .open_number = 1};

void Write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// One input file, and the directory of a sink with one shard.
class VerifyCommandTest : public testing::Test {
 protected:
  void Have(const std::string& input, const std::string& output) {
    Write(directory_.Path("in"), input);
    std::filesystem::create_directory(directory_.Path("out"));
    const core::ManifestHeader header = {
        .identity = {"1234abcd", "p", "c"}, .writer = kWriter, .shards = 1};
    const std::string out = directory_.Path("out/");
    Write(out + core::DataName(0, kWriter), output);
    Write(out + core::ClaimName(kWriter), core::EncodeHeader(header));
    Write(out + core::ManifestName(kWriter, 0),
          core::EncodeHeader(header) +
              core::EncodeState({.progress = {},
                                 .data = {{.shard = 0,
                                           .writer = kWriter,
                                           .bytes = output.size()}}}));
  }
  // In one file that was compressed and renamed.
  void HaveRenamed(const std::string& input, const std::string& output) {
    Write(directory_.Path("in"), input);
    std::filesystem::create_directories(directory_.Path("out/files"));
    const core::ManifestHeader header = {
        .identity = {"1234abcd", "p", "c"}, .writer = kWriter, .shards = 1};
    const std::string out = directory_.Path("out/");
    const std::string bytes = core::Gzip(output);
    Write(out + "files/orders.gz", bytes);
    Write(out + core::ClaimName(kWriter), core::EncodeHeader(header));
    Write(out + core::ManifestName(kWriter, 0),
          core::EncodeHeader(header) +
              core::EncodeState(
                  {.progress = {},
                   .data = {{.shard = 0,
                             .writer = kWriter,
                             .bytes = bytes.size(),
                             .stage = core::DataStage::kPlaced,
                             .compression = core::Compression::kGzip,
                             .final_name = "orders.gz"}}}));
  }
  CliExit Verify(const std::string& level, const std::string& format = "text") {
    return Run({.inputs = {directory_.Path("in")},
                .output = directory_.Path("out"),
                .level = level,
                .format = format});
  }
  CliExit VerifyInputs(const std::vector<std::string>& inputs) {
    return Run({.inputs = inputs, .output = Path("out")});
  }
  std::string Path(const std::string& name) { return directory_.Path(name); }
  CliExit VerifyFile(const std::string& connector_fields,
                     const std::string& format = "raw: {}") {
    const std::string path = directory_.Path("pipeline.yaml");
    Write(path, absl::StrCat("name: p\nconnectors:\n  - name: c\n"
                             "    source: {file: {path: ",
                             directory_.Path("in"), "}}\n    format: {", format,
                             "}\n    sink: {file: {path: ",
                             directory_.Path("out"), "}}\n", connector_fields));
    return Run({.pipeline_file = path});
  }

  std::string printed_;

 private:
  CliExit Run(const VerifyOptions& options) {
    testing::internal::CaptureStdout();
    const CliExit exit = RunVerify(options);
    printed_ = testing::internal::GetCapturedStdout();
    return exit;
  }

  core::TempDir directory_;
};

TEST_F(VerifyCommandTest, ExactlyOnceTakesNoDoubledRecord) {
  Have("1\n2\n", "1\n2\n1\n");
  EXPECT_EQ(Verify("exactly_once"), CliExit::kVerifyFailed);
  EXPECT_THAT(printed_, HasSubstr("FAILED"));
}

TEST_F(VerifyCommandTest, AnInputMayBeAPattern) {
  Have("3\n", "1\n2\n3\n");
  std::filesystem::create_directory(Path("logs"));
  Write(Path("logs/a.log"), "1\n");
  Write(Path("logs/b.log.gz"), core::Gzip("2\n"));
  EXPECT_EQ(VerifyInputs({Path("in"), Path("logs/*.log*")}), CliExit::kOk);
  Write(Path("logs/c.log"), "4\n");
  EXPECT_EQ(VerifyInputs({Path("in"), Path("logs/*.log*")}),
            CliExit::kVerifyFailed);
  EXPECT_THAT(printed_, HasSubstr("lost: " + Path("logs/c.log") + " byte 0"));
  EXPECT_NE(VerifyInputs({Path("nothing/*")}), CliExit::kOk);
}

TEST_F(VerifyCommandTest, WhatIsLostOfACompressedInputIsFoundInItsContent) {
  Have("", "1\n");
  Write(Path("in"), core::Gzip("1\n22\n"));
  EXPECT_EQ(Verify("exactly_once"), CliExit::kVerifyFailed);
  EXPECT_THAT(printed_, HasSubstr("lost: " + Path("in") + " byte 2"));
}

TEST_F(VerifyCommandTest, ReadsFilesThatWereCompressedAndRenamed) {
  HaveRenamed("1\n2\n", "1\n2\n");
  EXPECT_EQ(Verify("exactly_once"), CliExit::kOk);
  HaveRenamed("1\n2\n", "1\n2\n1\n");
  EXPECT_EQ(Verify("exactly_once"), CliExit::kVerifyFailed);
  // Where it stands in the rows, not in the compressed bytes.
  EXPECT_THAT(printed_, HasSubstr("files/orders.gz byte 4"));
}

constexpr char kColumns[] =
    "    schema: {columns: [{name: a, type: varchar}, "
    "{name: b, type: bigint}]}\n";

TEST_F(VerifyCommandTest, FieldsAreComparedAsTheyAreWritten) {
  const std::string in = "b,c,a\r\n1,,x\n2,,\"y\nz\"\n+3,q,\"\"\n";
  Have(in, "x,1\n\"y\nz\",2\n\"\",3\n");
  EXPECT_EQ(VerifyFile(kColumns, "csv: {header: true}"), CliExit::kOk)
      << printed_;
  Have(in, "x,1\n\"\",3\n\"y\nz\",3\n");
  EXPECT_EQ(VerifyFile(kColumns, "csv: {header: true}"),
            CliExit::kVerifyFailed);
  EXPECT_THAT(printed_, HasSubstr("lost: " + Path("in") + " byte 12"));
  EXPECT_THAT(printed_, HasSubstr("byte 9"));
}

TEST_F(VerifyCommandTest, BadFieldsAreSkipped) {
  Have("x,1\ny,?\n", "x,1\n");
  EXPECT_EQ(VerifyFile(kColumns, "csv: {}"), CliExit::kOk) << printed_;
  EXPECT_THAT(printed_, HasSubstr("bad, skipped  1"));
}

TEST_F(VerifyCommandTest, ValuesOverSeveralLinesAreComparedAsTheyStand) {
  // An array is written inside of one: by itself it would be its elements.
  const std::string in = "[{\n\"a\": 1}, [2,\n3],\n4]\n{\"a\":5}";
  Have(in, "{\n\"a\": 1}\n[[2,\n3]]\n4\n{\"a\":5}\n");
  EXPECT_EQ(VerifyFile("", "json: {}"), CliExit::kOk) << printed_;
  Have(in, "{\n\"a\": 1}\n[[2,\n3]]\n{\"a\":5}\n");
  EXPECT_EQ(VerifyFile("", "json: {}"), CliExit::kVerifyFailed);
  EXPECT_THAT(printed_, HasSubstr("lost: " + Path("in") + " byte 20"));
}

TEST_F(VerifyCommandTest, PackedValuesAreCompared) {
  // {b: 1, a: "\n"}, {a: "y"}; the members come in the order of the columns.
  const std::string in =
      "\x82\xa1"
      "b\x01\xa1"
      "a\xa1\n\x81\xa1"
      "a\xa1y";
  const std::string out =
      "\x82\xa1"
      "a\xa1\n\xa1"
      "b\x01\x81\xa1"
      "a\xa1y";
  Have(in, out);
  EXPECT_EQ(VerifyFile(kColumns, "msgpack: {}"), CliExit::kOk) << printed_;
  Have(in, out + out);
  EXPECT_EQ(VerifyFile(kColumns, "msgpack: {}"), CliExit::kVerifyFailed);
  EXPECT_THAT(printed_, HasSubstr("doubled       2"));
  Have(in, out.substr(8));
  EXPECT_EQ(VerifyFile(kColumns, "msgpack: {}"), CliExit::kVerifyFailed);
}

TEST_F(VerifyCommandTest, AtLeastOnceTakesDoubledRecordsAndCountsThem) {
  Have("1\n2\n3\n", "1\n2\n1\n2\n3\n");
  EXPECT_EQ(Verify("at_least_once"), CliExit::kOk);
  EXPECT_THAT(printed_, HasSubstr("doubled       2"));
  EXPECT_THAT(printed_, HasSubstr("OK: every record at least once, 2 doubled"));
}

TEST_F(VerifyCommandTest, AtLeastOnceTakesNoLostRecord) {
  Have("1\n2\n3\n", "1\n1\n3\n");
  EXPECT_EQ(Verify("at_least_once"), CliExit::kVerifyFailed);
  EXPECT_THAT(printed_, HasSubstr("lost          1"));
}

TEST_F(VerifyCommandTest, AtLeastOnceTakesNoForeignRecord) {
  Have("1\n", "1\n4\n");
  EXPECT_EQ(Verify("at_least_once"), CliExit::kVerifyFailed);
}

TEST_F(VerifyCommandTest, AtLeastOnceTakesAnyOrder) {
  Have("1\n2\n3\n", "3\n1\n2\n");
  EXPECT_EQ(Verify("at_least_once"), CliExit::kOk);
  EXPECT_EQ(Verify("exactly_once"), CliExit::kVerifyFailed);
}

TEST_F(VerifyCommandTest, NonePromisesOnlyThatNothingIsForeign) {
  Have("1\n2\n", "2\n2\n");
  EXPECT_EQ(Verify("none"), CliExit::kOk);
  Have("1\n2\n", "4\n");
  EXPECT_EQ(Verify("none"), CliExit::kVerifyFailed);
}

TEST_F(VerifyCommandTest, JsonNamesTheLevel) {
  Have("1\n", "1\n1\n");
  EXPECT_EQ(Verify("at_least_once", "json"), CliExit::kOk);
  EXPECT_THAT(printed_, HasSubstr("\"doubled\":1"));
  EXPECT_THAT(printed_, HasSubstr("\"level\":\"at_least_once\",\"ok\":true"));
}

TEST_F(VerifyCommandTest, ALevelThatDoesNotExistIsRefused) {
  Have("1\n", "1\n");
  EXPECT_EQ(Verify("twice"), CliExit::kUsage);
}

TEST_F(VerifyCommandTest, APipelineFileSaysItsLevel) {
  Have("1\n2\n", "1\n2\n1\n");
  EXPECT_EQ(VerifyFile("    level: at_least_once\n"), CliExit::kOk);
  EXPECT_EQ(VerifyFile(""), CliExit::kVerifyFailed);
}

TEST_F(VerifyCommandTest, ARecordAboveTheFilesLimitIsSkippedAndNotLost) {
  Have("1\n12345\n2\n", "1\n2\n");
  EXPECT_EQ(VerifyFile("    limits: {record_bytes_max: 4}\n"), CliExit::kOk);
  EXPECT_THAT(printed_, HasSubstr("bad, skipped  1"));
  EXPECT_EQ(VerifyFile("    limits: {record_bytes_max: 5}\n"),
            CliExit::kVerifyFailed);
  EXPECT_THAT(printed_, Not(HasSubstr("skipped")));
}

TEST_F(VerifyCommandTest, ABadRecordOfNdjsonIsSkippedAndNotLost) {
  Have("1\n{]\n2\n", "1\n2\n");
  EXPECT_EQ(VerifyFile("", "ndjson: {}"), CliExit::kOk);
  EXPECT_THAT(printed_, HasSubstr("bad, skipped  1"));
}

}  // namespace
}  // namespace penstock::client
