// What went wrong in the field with file sinks: cases/README.md.
#include "tests/core/sinks/file/file_sink_fixture.h"

#include "core/sinks/file/layout.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <simdjson.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace penstock::core {
namespace {

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> CaseNames() {
  std::vector<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator(PENSTOCK_FILE_SINK_CASES)) {
    if (entry.is_directory()) names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class FileSinkCasesTest : public FileSinkTest,
                          public testing::WithParamInterface<std::string> {};

TEST_P(FileSinkCasesTest, ReadersSeeWhatWasCommitted) {
  const std::filesystem::path directory =
      std::filesystem::path(PENSTOCK_FILE_SINK_CASES) / GetParam();
  simdjson::dom::parser parser;
  const simdjson::padded_string json =
      simdjson::padded_string::load((directory / "expected.json").string());
  const simdjson::dom::element expected = parser.parse(json);
  const std::string before =
      ReadFile(directory / "output_before_restart.ndjson");
  const uint64_t committed = expected["committed_length"].get_uint64();
  ASSERT_LT(committed, before.size());

  ASSERT_OK(Open(1));
  ASSERT_OK(WriteAndCommit(0, {0, 1}, before.substr(0, committed)));
  // The row that the disk had no room for, or the process no time.
  ASSERT_OK(Write(0, {1, 2}, before.substr(committed)));
  ASSERT_EQ(*files_.Contents(PathOf(DataName(0, {1, 1}))), before);

  ASSERT_OK(Open(2));
  std::string then;
  for (const simdjson::dom::element record :
       expected["then_records"].get_array()) {
    absl::StrAppend(&then, simdjson::minify(record), "\n");
  }
  ASSERT_OK(WriteAndCommit(0, {1, 2}, then));
  EXPECT_EQ(Read().contents[0],
            std::string(std::string_view(expected["final"].get_string())));
}

INSTANTIATE_TEST_SUITE_P(All, FileSinkCasesTest, testing::ValuesIn(CaseNames()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace penstock::core
