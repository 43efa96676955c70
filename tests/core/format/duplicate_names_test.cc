// Of equal names the last one counts: one rule, whatever the format.
#include "core/format/json/json_format.h"
#include "core/format/msgpack/msgpack_format.h"
#include "core/format/ndjson/ndjson_format.h"
#include "tests/core/format/parse_text.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/string_view.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>

namespace penstock::core {
namespace {

using testing::ElementsAre;

Schema Columns() {
  return {{{.name = "a", .type = SqlType::kBigint},
           {.name = "s", .type = SqlType::kStruct, .children = {{.name = "x"}}},
           {.name = "m",
            .type = SqlType::kMap,
            .children = {{.name = "key", .nullable = false},
                         {.name = "value", .type = SqlType::kBigint}}}}};
}

template <typename Config>
Config WithKey() {
  Config config;
  config.key = "s.x";
  return config;
}

struct FormatCase {
  std::string name;
  std::function<std::unique_ptr<Parser>()> make;
  // {"a": "no number", "s": 5, "s": {"x": "first", "x": "last"}, "a": 2,
  //  "m": {"k": 1, "k": 3}}
  std::string record;
  // {"a": 2, "a": "no number"}
  std::string bad_at_last;

  friend std::ostream& operator<<(std::ostream& out, const FormatCase& format) {
    return out << format.name;
  }
};

constexpr char kJson[] =
    R"({"a":"no number","s":5,"s":{"x":"first","x":"last"},"a":2,)"
    R"("m":{"k":1,"k":3}})"
    "\n";
constexpr char kBadJson[] = R"({"a":2,"a":"no number"})"
                            "\n";

class DuplicateNamesTest : public testing::TestWithParam<FormatCase> {};

TEST_P(DuplicateNamesTest, TheLastOneCountsInRowsStructsMapsAndKeys) {
  const ParsedText parsed = ParseWhole(*GetParam().make(), GetParam().record);
  EXPECT_THAT(
      parsed.rows,
      ElementsAre(
          "int64 2 | struct (string 'last') | map {string 'k': int64 3}"));
  EXPECT_THAT(parsed.keys(), ElementsAre("last"));
}

TEST_P(DuplicateNamesTest, TheLastOneCountsThoughItIsBad) {
  EXPECT_THAT(ParseWhole(*GetParam().make(), GetParam().bad_at_last).tags(),
              ElementsAre("wrong_type"));
}

INSTANTIATE_TEST_SUITE_P(
    All, DuplicateNamesTest,
    testing::Values(FormatCase{"Ndjson",
                               [] {
                                 return *MakeNdjsonParser(
                                     WithKey<NdjsonConfig>(), Columns());
                               },
                               kJson, kBadJson},
                    FormatCase{"Json",
                               [] {
                                 return *MakeJsonParser(WithKey<JsonConfig>(),
                                                        Columns());
                               },
                               kJson, kBadJson},
                    FormatCase{"Msgpack",
                               [] {
                                 return *MakeMsgpackParser(
                                     WithKey<MsgpackConfig>(), Columns());
                               },
                               "\x85\xa1"
                               "a\xa9no number\xa1s\x05\xa1s\x82\xa1x\xa5"
                               "first\xa1x\xa4last\xa1"
                               "a\x02\xa1m\x82\xa1k\x01\xa1k\x03",
                               "\x82\xa1"
                               "a\x02\xa1"
                               "a\xa9no number"}),
    [](const testing::TestParamInfo<FormatCase>& test) {
      return test.param.name;
    });

}  // namespace
}  // namespace penstock::core
