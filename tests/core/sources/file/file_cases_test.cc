// What went wrong in the field with files, each reduced to the smallest input
// that shows it: cases/README.md. Whatever the size of a read, records, errors
// and hashes are those expected.
#include "core/base/path_policy.h"
#include "core/format/ndjson/ndjson_format.h"
#include "core/format/raw/raw_format.h"
#include "core/sources/file/file_source.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/manual_executor.h"
#include "tests/support/recording_consumer.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <simdjson.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace penstock::core {
namespace {

using simdjson::dom::element;

constexpr char kPath[] = "/in";
constexpr size_t kBlocksBytes[] = {1, 7, 64, size_t{1} << 20};

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string Text(element value) {
  return std::string(value.get_string().value());
}

bool Has(element value, std::string_view member) {
  return value[member].error() == simdjson::SUCCESS;
}

// What came of reading a file to its end, as one step.
struct Outcome {
  RecordingConsumer::RecordedStep step;
  std::vector<ParseError> errors;
  bool has_failed = false;
};

// A source of the one file, read in blocks of so many bytes.
class Reading {
 public:
  Reading(const std::string& bytes, bool is_ndjson, bool follows,
          size_t block_bytes)
      : is_ndjson_(is_ndjson) {
    config_.path = kPath;
    config_.follow = follows;
    config_.block_bytes = block_bytes;
    files_.Put(kPath, bytes);
  }

  Outcome Read() {
    Open();
    reader_->Request(ExtendCommand{});
    executor_.Advance(absl::Seconds(2));
    reader_->Request(QueueCommand{});
    return Seen();
  }
  // The step that `seek` describes.
  Outcome Replay(const std::string& seek) {
    Open();
    reader_->Request(
        ReplayCommand{.metadata = seek, .data = std::string(kMsgpackNil)});
    executor_.RunUntilIdle();
    return Seen();
  }

 private:
  void Open() {
    FileSource source(config_, {.files = files_,
                                .io = executor_,
                                .clock = executor_.clock(),
                                .paths = paths_});
    std::unique_ptr<Parser> parser = is_ndjson_
                                         ? *MakeNdjsonParser(NdjsonConfig{}, {})
                                         : *MakeRawParser(RawConfig{});
    absl::StatusOr<OpenedInput> opened =
        source.Open(consumer_, std::move(parser), Schema{}, std::nullopt);
    ASSERT_OK(opened);
    reader_ = std::move(opened->reader);
  }
  Outcome Seen() {
    const RecordingConsumer::Transcript seen = consumer_.transcript();
    Outcome outcome{
        .step = {}, .errors = seen.parse_errors, .has_failed = seen.HasFatal()};
    if (!seen.steps.empty()) outcome.step = seen.steps.back();
    return outcome;
  }

  const bool is_ndjson_;
  FileSourceConfig config_;
  FakeFileSystem files_;
  ManualExecutor executor_;
  const PathPolicy paths_{{}};
  RecordingConsumer consumer_{FtModel::kExactlyOnce};
  std::unique_ptr<InputReader> reader_;
};

std::vector<std::string> ExpectedRecords(element expected, bool is_ndjson) {
  std::vector<std::string> records;
  for (const element record : expected.get_array()) {
    records.push_back(is_ndjson ? simdjson::minify(record) : Text(record));
  }
  return records;
}

// The records as they came, as JSON without white space if they are that.
std::vector<std::string> RecordsOf(const Outcome& outcome, bool is_ndjson) {
  std::vector<std::string> records;
  simdjson::dom::parser parser;
  for (const OwnedRecord& record : outcome.step.records) {
    const std::string& value = *record.value;
    records.push_back(is_ndjson ? simdjson::minify(parser.parse(
                                      simdjson::padded_string(value)))
                                : value);
  }
  return records;
}

class FileCase {
 public:
  explicit FileCase(const std::filesystem::path& directory)
      : directory_(directory),
        json_(simdjson::padded_string::load(
            (directory / "expected.json").string())) {
    root_ = parser_.parse(json_);
    is_ndjson_ = !Has(root_, "format") || Text(root_["format"]) == "ndjson";
  }

  void Run() {
    if (!Has(root_, "cases")) return RunInput(root_);
    for (const element one : root_["cases"].get_array()) {
      if (Has(one, "verdict")) {
        RunReplay(one);
      } else {
        RunInput(one);
      }
    }
  }

 private:
  std::string Bytes(element name) { return ReadFile(directory_ / Text(name)); }

  void RunInput(element one) {
    for (const size_t block_bytes : kBlocksBytes) {
      SCOPED_TRACE(
          absl::StrCat(Text(one["input"]), ", blocks of ", block_bytes));
      // NUL runs are passed over where a file is followed.
      Reading reading(Bytes(one["input"]), is_ndjson_,
                      /*follows=*/!is_ndjson_, block_bytes);
      const Outcome outcome = reading.Read();
      EXPECT_FALSE(outcome.has_failed);
      CheckRecords(one, RecordsOf(outcome, is_ndjson_));
      CheckErrors(one["errors"], outcome.errors);
    }
  }

  void CheckRecords(element one, const std::vector<std::string>& found) {
    if (Has(one, "records")) {
      EXPECT_EQ(found, ExpectedRecords(one["records"], is_ndjson_));
      return;
    }
    const element prefix = one["records_prefix_of"];
    const std::vector<std::string> repeat =
        ExpectedRecords(prefix["repeat"], is_ndjson_);
    EXPECT_LE(found.size(),
              repeat.size() * uint64_t{prefix["times"].get_uint64()});
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i], repeat[i % repeat.size()]);
    }
  }

  void CheckErrors(element expected, const std::vector<ParseError>& found) {
    ASSERT_EQ(found.size(), expected.get_array().size());
    size_t i = 0;
    for (const element error : expected.get_array()) {
      EXPECT_EQ(found[i].tag, Text(error["kind"]));
      if (Has(error, "byte")) {
        EXPECT_EQ(found[i].byte_offset, uint64_t{error["byte"].get_uint64()});
      }
      if (Has(error, "length")) {
        EXPECT_TRUE(absl::StrContains(
            found[i].description,
            absl::StrCat(uint64_t{error["length"].get_uint64()}, " NUL")));
      }
      ++i;
    }
  }

  void RunReplay(element one) {
    for (const size_t block_bytes : kBlocksBytes) {
      SCOPED_TRACE(absl::StrCat(Text(one["recorded"]), " as ",
                                Text(one["replayed"]), ", blocks of ",
                                block_bytes));
      Reading recording(Bytes(one["recorded"]), true, false, size_t{1} << 20);
      const Outcome made = recording.Read();
      ASSERT_FALSE(made.has_failed);
      Reading replaying(Bytes(one["replayed"]), true, false, block_bytes);
      const Outcome again = replaying.Replay(made.step.seek());
      const bool matches = !again.has_failed &&
                           again.step.replay_hash == made.step.hash.value &&
                           again.step.amount == made.step.amount;
      EXPECT_EQ(matches, Text(one["verdict"]) == "match");
    }
  }

  const std::filesystem::path directory_;
  const simdjson::padded_string json_;
  simdjson::dom::parser parser_;
  element root_;
  bool is_ndjson_ = false;
};

std::vector<std::string> CaseNames() {
  std::vector<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator(PENSTOCK_FILE_CASES)) {
    if (entry.is_directory()) names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class FileCasesTest : public testing::TestWithParam<std::string> {};

TEST_P(FileCasesTest, IsAsExpected) {
  FileCase(std::filesystem::path(PENSTOCK_FILE_CASES) / GetParam()).Run();
}

INSTANTIATE_TEST_SUITE_P(All, FileCasesTest, testing::ValuesIn(CaseNames()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace penstock::core
