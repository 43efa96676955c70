// What went wrong in the field with formats, each reduced to the smallest input
// that shows it: cases/README.md. However the input is cut, records and errors
// are those expected.
#include "core/format/csv/csv_format.h"
#include "core/format/ndjson/ndjson_format.h"
#include "tests/core/format/parse_text.h"

#include <absl/strings/escaping.h>
#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <gtest/gtest.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

using simdjson::dom::element;
using simdjson::dom::object;

// Cases that cannot be run here, and why. One that passes or that is not there
// has no place in it.
struct SkippedCase {
  absl::string_view name;
  absl::string_view reason;
};
constexpr std::array<SkippedCase, 0> kSkipped = {};

// Inputs up to these sizes are read in reads of every size, and cut everywhere.
constexpr size_t kReadsBytesMax = 10'000;
constexpr size_t kSplitsBytesMax = 1'000;
constexpr size_t kReadBytesMax = 256;

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string Text(element value) {
  return std::string(value.get_string().value());
}

// The same text for equal documents, whatever their escapes and blanks.
// `{"$int": "..."}` is an integer beyond 64 bits.
std::string Canonical(element value) {
  if (value.is_array()) {
    std::vector<std::string> parts;
    for (const element part : value.get_array()) {
      parts.push_back(Canonical(part));
    }
    return absl::StrCat("[", absl::StrJoin(parts, ","), "]");
  }
  if (value.is_object()) {
    std::vector<std::string> parts;
    for (const auto& [name, member] : object(value)) {
      if (name == "$int") return Text(member);
      parts.push_back(absl::StrCat(
          absl::CHexEscape(absl::string_view(name.data(), name.size())), ":",
          Canonical(member)));
    }
    std::sort(parts.begin(), parts.end());
    return absl::StrCat("{", absl::StrJoin(parts, ","), "}");
  }
  if (value.is_string()) {
    return absl::StrCat("'", absl::CHexEscape(Text(value)), "'");
  }
  return simdjson::to_string(value);
}

std::string CanonicalText(absl::string_view json) {
  simdjson::dom::parser parser;
  const simdjson::padded_string padded(json.data(), json.size());
  return Canonical(parser.parse(padded));
}

SqlType TypeOf(const std::string& name) {
  EXPECT_EQ(name, "int64");
  return SqlType::kBigint;
}

// One expected*.json.
class FormatCase {
 public:
  FormatCase(std::filesystem::path directory,
             const std::filesystem::path& expected)
      : directory_(std::move(directory)),
        json_(simdjson::padded_string::load(expected.string())) {
    root_ = parser_.parse(json_);
    input_ = ReadFile(directory_ / Text(root_["input"]));
    is_csv_ = absl::EndsWith(Text(root_["input"]), ".csv");
    ReadOptions();
  }

  // Throws: nothing. What is wrong; empty: it passes.
  std::vector<std::string> Run() {
    Check("whole", ParseWhole(*MakeParser(), input_));
    Check("1-byte", ParseInReads(*MakeParser(), input_, 1));
    CheckSplits();
    if (input_.size() <= kReadsBytesMax) {
      for (size_t bytes = 2; bytes <= kReadBytesMax; ++bytes) {
        Check(absl::StrCat("reads of ", bytes),
              ParseInReads(*MakeParser(), input_, bytes));
      }
    }
    if (input_.size() <= kSplitsBytesMax) {
      for (size_t split = 1; split < input_.size(); ++split) {
        Check(absl::StrCat("split at ", split),
              ParseSplit(*MakeParser(), input_, {split}));
      }
    }
    CheckFollow();
    CheckAtLimit();
    return problems_;
  }

 private:
  void Problem(std::string problem) { problems_.push_back(std::move(problem)); }

  void ReadOptions() {
    for (const auto& [name_view, value] : object(root_["options"])) {
      const std::string name(name_view);
      if (name == "delimiter") {
        csv_.dialect.delimiter = Text(value)[0];
      } else if (name == "quote") {
        csv_.dialect.quote = Text(value)[0];
      } else if (name == "header") {
        csv_.header = value.get_bool().value();
      } else if (name == "escape") {
        if (Text(value) == "backslash") {
          csv_.dialect.escape = CsvEscape::kBackslash;
        } else if (Text(value) != "double") {
          Problem("unknown escape");
        }
      } else if (name == "schema") {
        for (const auto& [column, type] : object(value)) {
          schema_.columns.push_back(
              {.name = std::string(column), .type = TypeOf(Text(type))});
        }
      } else if (name == "lone_surrogates" || name == "invalid_utf8") {
        if (Text(value) != "error") Problem("only strict UTF-8 is built");
      } else if (name == "max_depth") {
        if (value.get_int64().value() != 256) Problem("another depth");
      } else if (name != "transport") {
        Problem(absl::StrCat("unknown option ", name));
      }
    }
    if (!is_csv_) return;
    // Cells, so that they can be compared; without "quoted" an empty one is
    // empty, whether quoted or not.
    has_quoted_ = root_["quoted"].error() == simdjson::SUCCESS;
    csv_.empty_is_null = has_quoted_;
    size_t columns = 0;
    for (const element row : root_["rows"].get_array()) {
      columns = std::max(columns, row.get_array().size());
    }
    for (size_t i = 0; i < columns; ++i) {
      schema_.columns.push_back({.name = absl::StrCat("c", i)});
    }
  }

  std::unique_ptr<Parser> MakeParser() const {
    return is_csv_ ? *MakeCsvParser(csv_, schema_)
                   : *MakeNdjsonParser(NdjsonConfig(), schema_);
  }

  void CheckSplits() {
    auto chunkings = root_["chunkings"];
    if (chunkings.error() != simdjson::SUCCESS) return;
    for (const element chunking : chunkings.get_array()) {
      if (chunking.is_string()) continue;
      std::vector<size_t> splits;
      for (const element split : chunking["split_at"].get_array()) {
        splits.push_back(split.get_uint64().value());
      }
      Check(absl::StrCat("split at ", absl::StrJoin(splits, ",")),
            ParseSplit(*MakeParser(), input_, splits));
    }
  }

  std::vector<std::string> ExpectedRecords() {
    std::vector<std::string> expected;
    if (!is_csv_) {
      for (const element record : root_["records"].get_array()) {
        expected.push_back(Canonical(record));
      }
      return expected;
    }
    size_t number = 0;
    for (const element row : root_["rows"].get_array()) {
      std::vector<std::string> cells;
      for (const element cell : row.get_array()) {
        const bool is_quoted =
            !has_quoted_ ||
            root_["quoted"].at(number).at(cells.size()).get_bool().value();
        const std::string text = Text(cell);
        cells.push_back(
            text.empty() && !is_quoted
                ? "null"
                : absl::StrCat("string '", absl::CHexEscape(text), "'"));
      }
      expected.push_back(absl::StrJoin(cells, " | "));
      ++number;
    }
    return expected;
  }

  std::vector<std::string> ExpectedErrors() {
    std::vector<std::string> expected;
    for (const element error : root_["errors"].get_array()) {
      auto field = error["field"];
      expected.push_back(absl::StrCat(
          Text(error["kind"]), " record ", error["record"].get_uint64().value(),
          " line ", error["line"].get_uint64().value(), " byte ",
          error["byte"].get_uint64().value(),
          field.error() == simdjson::SUCCESS
              ? absl::StrCat(" field ", Text(field.value()))
              : ""));
    }
    return expected;
  }

  void Check(absl::string_view how, const ParsedText& parsed) {
    std::vector<std::string> records = parsed.rows;
    if (!is_csv_) {
      records.clear();
      for (const std::string& value : parsed.values()) {
        records.push_back(CanonicalText(value));
      }
    }
    const std::vector<std::string> expected_errors = ExpectedErrors();
    std::vector<std::string> errors;
    for (const ParseError& error : parsed.errors) {
      // A field is compared where one is expected.
      const size_t place = errors.size();
      const bool names_field =
          place < expected_errors.size() &&
          absl::StrContains(expected_errors[place], " field ");
      errors.push_back(absl::StrCat(
          error.tag, " record ", error.record_number, " line ", error.line,
          " byte ", error.byte_offset,
          names_field ? absl::StrCat(" field ", error.field.value_or("(none)"))
                      : ""));
    }
    if (records != ExpectedRecords()) {
      Problem(absl::StrCat(how, ": records\n  ", absl::StrJoin(records, "\n  "),
                           "\nexpected\n  ",
                           absl::StrJoin(ExpectedRecords(), "\n  ")));
    }
    if (errors != expected_errors) {
      Problem(absl::StrCat(how, ": errors\n  ", absl::StrJoin(errors, "\n  "),
                           "\nexpected\n  ",
                           absl::StrJoin(expected_errors, "\n  ")));
    }
  }

  // A line that is being written is no record yet.
  void CheckFollow() {
    auto follow = root_["follow"];
    if (follow.error() != simdjson::SUCCESS) return;
    const std::unique_ptr<Splitter> splitter = MakeParser()->MakeSplitter();
    const std::string grown = input_ + Text(follow["then_append"]);
    if (splitter->Input(input_) !=
        follow["committed_offset"].get_uint64().value()) {
      Problem("follow: the boundary is not that of the last whole line");
    }
    splitter->Clear();
    if (splitter->Input(grown) !=
        follow["then_committed_offset"].get_uint64().value()) {
      Problem("follow: the boundary does not come with the line end");
    }
  }

  // As deep as may be is good.
  void CheckAtLimit() {
    const std::filesystem::path path = directory_ / "at_limit.ndjson";
    if (!std::filesystem::exists(path)) return;
    const ParsedText parsed = ParseWhole(*MakeParser(), ReadFile(path));
    if (parsed.records.size() != 1 || !parsed.errors.empty()) {
      Problem("at_limit.ndjson is not one good record");
    }
  }

  const std::filesystem::path directory_;
  const simdjson::padded_string json_;
  simdjson::dom::parser parser_;
  element root_;
  std::string input_;
  bool is_csv_ = false;
  bool has_quoted_ = false;
  CsvConfig csv_;
  Schema schema_;
  std::vector<std::string> problems_;
};

std::vector<std::string> CaseNames() {
  std::vector<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator(PENSTOCK_FORMAT_CASES)) {
    if (entry.is_directory()) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> ProblemsOf(const std::string& name) {
  const std::filesystem::path directory =
      std::filesystem::path(PENSTOCK_FORMAT_CASES) / name;
  std::vector<std::string> problems;
  size_t runs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const std::string file = entry.path().filename().string();
    if (!absl::StartsWith(file, "expected")) continue;
    ++runs;
    for (const std::string& problem :
         FormatCase(directory, entry.path()).Run()) {
      problems.push_back(absl::StrCat(file, ": ", problem));
    }
  }
  if (runs == 0) problems.push_back("there is no expected.json");
  return problems;
}

class CasesTest : public testing::TestWithParam<std::string> {};

TEST_P(CasesTest, RecordsAndErrorsAreThoseExpected) {
  const std::vector<std::string> problems = ProblemsOf(GetParam());
  for (const SkippedCase& skipped : kSkipped) {
    if (skipped.name != GetParam()) continue;
    ASSERT_FALSE(problems.empty()) << "it passes: take it out of kSkipped";
    GTEST_SKIP() << skipped.reason;
  }
  ASSERT_TRUE(problems.empty())
      << problems.size() << " problems, the first: " << problems.front();
}

TEST(SkippedCasesTest, AreThere) {
  const std::vector<std::string> names = CaseNames();
  EXPECT_GE(names.size(), 25u);
  for (const SkippedCase& skipped : kSkipped) {
    EXPECT_EQ(std::count(names.begin(), names.end(), skipped.name), 1)
        << skipped.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Field, CasesTest, testing::ValuesIn(CaseNames()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace penstock::core
