#include "client/pipeline_file.h"

#include "client/placement.h"
#include "core/base/error.h"
#include "core/format/ndjson/config.h"
#include "core/sinks/file/config.h"
#include "core/sources/file/config.h"
#include "proto/wire/spec.h"
#include "proto/wire/violations.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/string_view.h>
#include <absl/time/time.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace penstock::client {
namespace {

using core::HasReason;
using core::Reason;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr absl::string_view kShop = R"yaml(
name: shop
connectors:
  - name: orders
    source: {file: {path: orders.ndjson}}
    format: {ndjson: {key: user.id}}
    sink:   {file: {path: out}}
    shards: 4
)yaml";

// A connector with `more` lines in it, in a pipeline of its own.
std::string WithConnector(absl::string_view more) {
  return absl::StrCat("name: shop\nconnectors:\n  - name: orders\n",
                      "    source: {file: {path: in}}\n",
                      "    format: {raw: {}}\n", "    sink: {null: {}}\n",
                      more);
}

std::vector<std::string> FieldsOf(absl::string_view text) {
  std::vector<std::string> fields;
  const absl::Status status = ParsePipelineFile(text, "p.yaml").status();
  for (const wire::FieldViolation& violation : wire::GetViolations(status)) {
    fields.push_back(violation.field);
  }
  return fields;
}

std::string MessageOf(absl::string_view text) {
  return std::string(ParsePipelineFile(text, "p.yaml").status().message());
}

TEST(PipelineFileTest, ASpecificationSaysHowToDeliver) {
  ASSERT_OK_AND_ASSIGN(
      const PipelineFile file,
      ParsePipelineFile(
          WithConnector("    delivery:\n"
                        "      write_deadline: 30s\n"
                        "      batch_rows_max: 1000\n"
                        "      batch_bytes_max: 1MiB\n"
                        "      batch_linger: 20ms\n"
                        "      writes_in_flight_max: 2\n"
                        "      retry: {backoff_max: 5s, jitter: 0.5}\n"
                        "      breaker: {probe_interval: 2s}\n"),
          "p.yaml"));
  const core::DeliveryOptions& delivery = file.connectors[0].delivery;
  EXPECT_EQ(delivery.write_deadline, absl::Seconds(30));
  EXPECT_EQ(delivery.batch_rows_max, 1000u);
  EXPECT_EQ(delivery.batch_bytes_max, uint64_t{1} << 20);
  EXPECT_EQ(delivery.batch_linger, absl::Milliseconds(20));
  EXPECT_EQ(delivery.writes_in_flight_max, 2u);
  EXPECT_EQ(delivery.retry.max, absl::Seconds(5));
  EXPECT_EQ(delivery.retry.jitter, 0.5);
  EXPECT_EQ(delivery.breaker.probe_interval, absl::Seconds(2));
}

TEST(PipelineFileTest, AWrongDeliveryIsRefusedWithItsPlace) {
  EXPECT_THAT(
      MessageOf(WithConnector("    delivery: {retry: {backoff_max: 2h}}\n")),
      HasSubstr("connectors[0].delivery.retry.backoff_max: must be a time span "
                "from 1ms to 1h"));
}

TEST(PipelineFileTest, FirstPipelineOfTheReadmeIsRead) {
  ASSERT_OK_AND_ASSIGN(const PipelineFile file,
                       ParsePipelineFile(kShop, "shop.yaml"));
  EXPECT_EQ(file.name, "shop");
  EXPECT_EQ(file.incarnation, std::nullopt);
  EXPECT_EQ(file.store_path, "shop.penstock.db");
  EXPECT_EQ(file.checkpoint_interval, absl::Seconds(10));
  EXPECT_THAT(file.workers, IsEmpty());
  EXPECT_THAT(file.placement, ElementsAre(0));
  ASSERT_THAT(file.connectors, SizeIs(1));
  const core::ConnectorSpec& orders = file.connectors[0];
  EXPECT_EQ(orders.name, "orders");
  EXPECT_EQ(orders.shards, 4u);
  EXPECT_EQ(orders.level, core::FtModel::kExactlyOnce);
  EXPECT_EQ(dynamic_cast<const core::FileSourceConfig&>(*orders.source).path,
            "orders.ndjson");
  EXPECT_EQ(dynamic_cast<const core::NdjsonConfig&>(*orders.format).key,
            "user.id");
  EXPECT_EQ(orders.route->type(), "key_hash");
  EXPECT_EQ(dynamic_cast<const core::FileSinkConfig&>(*orders.sink).path,
            "out");
}

TEST(PipelineFileTest, JsonIsYaml) {
  EXPECT_OK(ParsePipelineFile(
      R"({"name": "shop", "connectors": [{"name": "orders",
          "source": {"file": {"path": "in"}}, "format": {"raw": {}},
          "sink": {"null": {}}}]})",
      "shop.json"));
}

TEST(PipelineFileTest, HeadIsRead) {
  ASSERT_OK_AND_ASSIGN(
      const PipelineFile file,
      ParsePipelineFile(absl::StrCat(WithConnector(""),
                                     "incarnation: abcdefgh\n"
                                     "store: sqlite:/var/shop.db\n"
                                     "checkpoint_interval: 500ms\n"
                                     "level: at-least-once\n"
                                     "allow_lower: true\n"),
                        "dir/p.yaml"));
  EXPECT_EQ(file.incarnation, "abcdefgh");
  EXPECT_EQ(file.store_path, "/var/shop.db");
  EXPECT_EQ(file.checkpoint_interval, absl::Milliseconds(500));
  EXPECT_EQ(file.connectors[0].level, core::FtModel::kAtLeastOnce);
  EXPECT_TRUE(file.connectors[0].allow_lower);
}

TEST(PipelineFileTest, RelativeStoreIsBesideTheFile) {
  ASSERT_OK_AND_ASSIGN(PipelineFile file,
                       ParsePipelineFile(kShop, "/etc/shop.yaml"));
  EXPECT_EQ(file.store_path, "/etc/shop.penstock.db");
  ASSERT_OK_AND_ASSIGN(
      file, ParsePipelineFile(absl::StrCat(kShop, "store: sqlite:db/a.db\n"),
                              "dir/shop.yaml"));
  EXPECT_EQ(file.store_path, "dir/db/a.db");
}

TEST(PipelineFileTest, ConnectorsOwnLevelGoesBeforeThePipelines) {
  ASSERT_OK_AND_ASSIGN(
      const PipelineFile file,
      ParsePipelineFile(absl::StrCat(WithConnector("    level: EXACTLY_ONCE\n"
                                                   "    allow_lower: false\n"),
                                     "level: none\nallow_lower: true\n"),
                        "p.yaml"));
  EXPECT_EQ(file.connectors[0].level, core::FtModel::kExactlyOnce);
  EXPECT_FALSE(file.connectors[0].allow_lower);
}

class NullSinkTest : public ::testing::TestWithParam<std::string> {};
TEST_P(NullSinkTest, KeyMayBePlainOrQuoted) {
  const std::string text = absl::StrCat(
      "name: shop\nconnectors:\n- name: a\n  source: {file: {path: in}}\n",
      "  format: {raw: }\n  sink: ", GetParam(), "\n");
  ASSERT_OK_AND_ASSIGN(const PipelineFile file,
                       ParsePipelineFile(text, "p.yaml"));
  EXPECT_EQ(file.connectors[0].sink->type(), "null");
}
INSTANTIATE_TEST_SUITE_P(All, NullSinkTest,
                         ::testing::Values("{null: {}}", "{\"null\": {}}",
                                           "{null: }", "{'null': null}"));

TEST(PipelineFileTest, LimitsTakeSizesAndTimesWithUnits) {
  ASSERT_OK_AND_ASSIGN(
      const PipelineFile file,
      ParsePipelineFile(WithConnector("    on_parse_error: fail\n"
                                      "    limits:\n"
                                      "      step_bytes: 2MiB\n"
                                      "      memory_max: 1GiB\n"
                                      "      step_linger: 1m30s\n"
                                      "      in_flight_high_mark: 0.9\n"
                                      "      steps_outstanding_max: 7\n"),
                        "p.yaml"));
  const core::ConnectorLimits& limits = file.connectors[0].limits;
  EXPECT_EQ(limits.step_bytes, uint64_t{2} << 20);
  EXPECT_EQ(limits.memory_max, uint64_t{1} << 30);
  EXPECT_EQ(limits.step_linger, absl::Seconds(90));
  EXPECT_EQ(limits.inflight_high, 0.9);
  EXPECT_EQ(limits.steps_outstanding_max, 7u);
  EXPECT_EQ(file.connectors[0].on_parse_error, core::BadRecordPolicy::kFail);
}

TEST(PipelineFileTest, ReferencesStayAsTheyAre) {
  ASSERT_OK_AND_ASSIGN(
      const PipelineFile file,
      ParsePipelineFile(
          "name: shop\nconnectors:\n- name: a\n"
          "  source: {file: {path: \"${env:DATA}/in\"}}\n"
          "  format: {raw: {}}\n  sink: {file: {path: \"${file:/s}\"}}\n",
          "p.yaml"));
  const std::string bytes = wire::SpecToBytes(file.connectors[0]);
  EXPECT_THAT(bytes, HasSubstr("${env:DATA}/in"));
  EXPECT_THAT(bytes, HasSubstr("${file:/s}"));
}

TEST(PipelineFileTest, TextMayLookLikeANumber) {
  ASSERT_OK_AND_ASSIGN(
      const PipelineFile file,
      ParsePipelineFile(
          "name: 7\nconnectors:\n- name: 0x1F\n  source: {file: {path: 1e3}}\n"
          "  format: {raw: {}}\n  sink: {null: {}}\n",
          "p.yaml"));
  EXPECT_EQ(file.name, "7");
  EXPECT_EQ(file.connectors[0].name, "0x1F");
}

// --- Workers ---------------------------------------------------------------

constexpr absl::string_view kThree = R"yaml(
name: shop
connectors:
- {name: a, source: {file: {path: i}}, format: {raw: {}}, sink: {null: {}}}
- {name: b, source: {file: {path: i}}, format: {raw: {}}, sink: {null: {}}}
- {name: c, source: {file: {path: i}}, format: {raw: {}}, sink: {null: {}}}
)yaml";

TEST(PipelineFileTest, ConnectorsGoToWorkersByRankOrByName) {
  ASSERT_OK_AND_ASSIGN(
      const PipelineFile file,
      ParsePipelineFile(absl::StrCat(kThree,
                                     "workers:\n"
                                     "- {address: \"unix:/a.sock\"}\n"
                                     "- {name: two, address: h:7000, "
                                     "connectors: [a]}\n"),
                        "p.yaml"));
  ASSERT_THAT(file.workers, SizeIs(2));
  EXPECT_EQ(file.workers[0].name, "unix:/a.sock");
  EXPECT_EQ(file.workers[1].name, "two");
  EXPECT_THAT(file.workers[1].addresses, ElementsAre("h:7000"));
  const std::vector<std::string> names = {"unix:/a.sock", "two"};
  EXPECT_THAT(file.placement,
              ElementsAre(1, PlaceOf("b", names), PlaceOf("c", names)));
}

TEST(PipelineFileTest, AWorkerMayBeFoundElsewhere) {
  ASSERT_OK_AND_ASSIGN(
      const PipelineFile file,
      ParsePipelineFile(
          absl::StrCat(kThree,
                       "workers:\n"
                       "- {name: w, address: h:1, other_addresses: [h:2, "
                       "\"unix:/a.sock\"]}\n"),
          "p.yaml"));
  EXPECT_THAT(file.workers[0].addresses,
              ElementsAre("h:1", "h:2", "unix:/a.sock"));
}

TEST(PipelineFileTest, WrongOtherAddressesAreNamed) {
  EXPECT_THAT(FieldsOf(absl::StrCat(
                  kThree,
                  "workers:\n"
                  "- {address: h:1, other_addresses: [h:2, nowhere]}\n")),
              ElementsAre("workers[0].other_addresses[1]"));
  std::string many = "[h:2";
  for (int i = 0; i < 15; ++i) absl::StrAppend(&many, ", h:", 3 + i);
  EXPECT_THAT(FieldsOf(absl::StrCat(kThree,
                                    "workers:\n"
                                    "- {address: h:1, other_addresses: ",
                                    many, "]}\n")),
              ElementsAre("workers[0].other_addresses"));
}

TEST(PipelineFileTest, TwoWorkersShareNoAddress) {
  const std::string text =
      absl::StrCat(kThree,
                   "workers:\n"
                   "- {name: v, address: h:1, other_addresses: [h:2, h:1]}\n"
                   "- {name: w, address: h:3, other_addresses: [h:4, h:2]}\n"
                   "- {name: x, address: h:1}\n");
  EXPECT_THAT(FieldsOf(text), ElementsAre("workers[1].other_addresses[1]",
                                          "workers[2].address"));
  EXPECT_THAT(MessageOf(text),
              HasSubstr("'h:2' is an address of worker 'v' (workers[0]), too"));
}

TEST(PipelineFileTest, WrongWorkersAreNamed) {
  EXPECT_THAT(
      FieldsOf(absl::StrCat(kThree,
                            "workers:\n"
                            "- {name: w, address: nowhere}\n"
                            "- {name: w, address: h:1, connectors: [a, z]}\n"
                            "- {connectors: [a]}\n")),
      ElementsAre("workers[0].address", "workers[1].name",
                  "workers[1].connectors[1]", "workers[2].address",
                  "workers[2].connectors[0]"));
}

TEST(PipelineFileTest, FilesForTlsAreBesideTheFile) {
  ASSERT_OK_AND_ASSIGN(
      const PipelineFile file,
      ParsePipelineFile(absl::StrCat(kThree,
                                     "tls: {ca: ca.pem, certificate: /c.pem, "
                                     "private_key: k/c.key, "
                                     "server_name: w.example}\n"),
                        "dir/p.yaml"));
  EXPECT_EQ(file.tls.ca, "dir/ca.pem");
  EXPECT_EQ(file.tls.certificate, "/c.pem");
  EXPECT_EQ(file.tls.private_key, "dir/k/c.key");
  EXPECT_EQ(file.tls.server_name, "w.example");
}

TEST(PipelineFileTest, TlsNeedsAnAuthorityAndBothHalvesOfAPair) {
  EXPECT_THAT(FieldsOf(absl::StrCat(kThree, "tls: {certificate: c.pem}\n")),
              ElementsAre("tls.ca", "tls"));
}

// --- Errors: file, line, field ---------------------------------------------

TEST(PipelineFileErrorTest, UnknownKeyIsNamedWithItsLineAndTheNearest) {
  EXPECT_EQ(MessageOf("name: shop\n"
                      "connectors:\n"
                      "  - name: a\n"
                      "    sink:\n"
                      "      file:\n"
                      "        pth: out\n"),
            "p.yaml:6: connectors[0].sink.file.pth: unknown; did you mean "
            "'path'?");
}

TEST(PipelineFileErrorTest, UnknownTypeListsThoseThatExist) {
  EXPECT_EQ(MessageOf("name: p\nconnectors:\n  - source: {pulsar: {}}\n"),
            "p.yaml:3: connectors[0].source.pulsar: unknown; known are: file, "
            "kafka");
}

TEST(PipelineFileErrorTest, EachHasALine) {
  EXPECT_EQ(MessageOf("nam: shop\n"
                      "connectors:\n"
                      "  - shards: many\n"
                      "    level: twice\n"),
            "p.yaml:1: nam: unknown; did you mean 'name'?\n"
            "p.yaml:3: connectors[0].shards: 'many' is not a whole number "
            "from 0 to 2^32 - 1\n"
            "p.yaml:4: connectors[0].level: 'twice' is unknown; known are: "
            "none, at_least_once, exactly_once");
}

TEST(PipelineFileErrorTest, MissingFieldHasTheLineOfWhatItIsMissingIn) {
  EXPECT_EQ(MessageOf("name: shop\n"
                      "connectors:\n"
                      "  - name: a\n"
                      "    source: {file: {path: in}}\n"
                      "    format: {raw: {}}\n"
                      "    sink:\n"
                      "      file: {}\n"),
            "p.yaml:7: connectors[0].sink.file.path: is missing");
}

TEST(PipelineFileErrorTest, SyntaxHasItsLine) {
  EXPECT_THAT(MessageOf("name: shop\nconnectors: [\n"),
              AllOf(HasSubstr("p.yaml:3: is not YAML: "),
                    HasSubstr("indented as its neighbours")));
  EXPECT_THAT(MessageOf("a:\n\t- b\n"), HasSubstr("line 2 begins with a tab"));
  EXPECT_THAT(ParsePipelineFile("a: [", "p.yaml"),
              HasReason(Reason::INVALID_CONFIG));
}

TEST(PipelineFileErrorTest, EmptyFileSaysWhatItMustBe) {
  EXPECT_THAT(MessageOf(""), HasSubstr("must be one YAML document"));
  EXPECT_THAT(MessageOf("just text"), HasSubstr("must be a mapping"));
  EXPECT_THAT(MessageOf("a: 1\n---\nb: 1\n"),
              HasSubstr("must be one YAML document, not 2"));
}

TEST(PipelineFileErrorTest, NothingGivenNamesAllThatIsMissing) {
  EXPECT_THAT(FieldsOf("{}"), ElementsAre("name", "connectors"));
}

TEST(PipelineFileErrorTest, KeyGivenTwice) {
  EXPECT_THAT(FieldsOf("name: a\nname: b\n"), ElementsAre("name"));
}

TEST(PipelineFileErrorTest, TwoArmsOfOneChoice) {
  EXPECT_THAT(FieldsOf("connectors:\n- sink: {file: {path: a}, null: {}}\n"),
              ElementsAre("connectors[0].sink.null"));
}

TEST(PipelineFileErrorTest, ConnectorsOfOneName) {
  EXPECT_THAT(FieldsOf(absl::StrCat(
                  kThree,
                  "- {name: b, source: {file: {path: i}}, format: {raw: {}}, "
                  "sink: {null: {}}}\n")),
              ElementsAre("connectors[3].name"));
}

TEST(PipelineFileTest, StateMayBeInPostgresql) {
  const auto file = ParsePipelineFile(
      absl::StrCat(kThree,
                   "store: postgresql://me:${env:WORD}@h/db\nlease: 20s\n"),
      "dir/p.yaml");
  ASSERT_OK(file);
  EXPECT_EQ(file->store_path, "");
  EXPECT_EQ(file->store_url, "postgresql://me:${env:WORD}@h/db")
      << "secrets stay references";
  EXPECT_EQ(file->lease, absl::Seconds(20));
  EXPECT_EQ(file->worker_state_dir,
            absl::StrCat("dir/", file->name, ".penstock.worker"));
}

TEST(PipelineFileTest, WholeConnectionStringMayBeAReference) {
  const auto file = ParsePipelineFile(
      absl::StrCat(kThree, "store: '${file:/etc/state}'\n"), "p.yaml");
  ASSERT_OK(file);
  EXPECT_EQ(file->store_url, "${file:/etc/state}");
}

TEST(PipelineFileErrorTest, PasswordInPlainTextIsRefusedAndNotShown) {
  const std::string text =
      absl::StrCat(kThree, "store: postgresql://me:hidden-word@h/db\n");
  EXPECT_THAT(FieldsOf(text), ElementsAre("store"));
  EXPECT_THAT(MessageOf(text), HasSubstr("${env:NAME}"));
  EXPECT_THAT(MessageOf(text), Not(HasSubstr("hidden-word")));
}

TEST(PipelineFileErrorTest, StoreThatNobodyKnows) {
  EXPECT_THAT(FieldsOf(absl::StrCat(kThree, "store: mysql://h/db\n")),
              ElementsAre("store"));
  EXPECT_THAT(FieldsOf(absl::StrCat(kThree, "store: postgresql://h:x/db\n")),
              ElementsAre("store"));
}

TEST(PipelineFileErrorTest, LeaseGoesWithPostgresqlAndHasLimits) {
  EXPECT_THAT(FieldsOf(absl::StrCat(kThree, "lease: 15s\n")),
              ElementsAre("lease"));
  const std::string three = absl::StrCat(kThree, "store: postgresql://h/db\n");
  EXPECT_THAT(FieldsOf(absl::StrCat(three, "lease: 500ms\n")),
              ElementsAre("lease"));
  EXPECT_THAT(FieldsOf(absl::StrCat(three, "lease: 11m\n")),
              ElementsAre("lease"));
}

TEST(PipelineFileErrorTest, ManyErrorsAreCut) {
  std::string text = "name: shop\nconnectors:\n";
  for (int i = 0; i < 150; ++i) absl::StrAppend(&text, "- {shards: x}\n");
  EXPECT_THAT(MessageOf(text), HasSubstr("\nand 50 more"));
}

// Each gives one wrong value to one field of the file.
struct Wrong {
  const char* name;
  const char* text;
  const char* field;
};
class WrongValueTest : public ::testing::TestWithParam<Wrong> {};

TEST_P(WrongValueTest, IsRefusedByName) {
  EXPECT_THAT(FieldsOf(GetParam().text), ElementsAre(GetParam().field));
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongValueTest,
    ::testing::Values(
        Wrong{"NoValue", "name:\n", "name"},
        Wrong{"MapForText", "name: {a: b}\n", "name"},
        Wrong{"ListForText", "name: [a]\n", "name"},
        Wrong{"TextForList", "connectors: a\n", "connectors"},
        Wrong{"NullForList", "connectors:\n", "connectors"},
        Wrong{"TextForMap", "connectors: [a]\n", "connectors[0]"},
        Wrong{"TextForArm", "connectors: [{sink: file}]\n",
              "connectors[0].sink"},
        Wrong{"NullItem", "workers: [{connectors: [null]}]\n",
              "workers[0].connectors[0]"},
        Wrong{"Bool", "allow_lower: yes\n", "allow_lower"},
        Wrong{"TimeWithoutUnit", "checkpoint_interval: 10\n",
              "checkpoint_interval"},
        Wrong{"NegativeTime", "checkpoint_interval: -1s\n",
              "checkpoint_interval"},
        Wrong{"SizeForACount", "connectors: [{shards: 4KiB}]\n",
              "connectors[0].shards"},
        Wrong{"NegativeNumber", "connectors: [{shards: -4}]\n",
              "connectors[0].shards"},
        Wrong{"TooLargeNumber", "connectors: [{shards: 4294967296}]\n",
              "connectors[0].shards"},
        Wrong{"WrongUnit", "connectors: [{limits: {step_bytes: 8Mb}}]\n",
              "connectors[0].limits.step_bytes"},
        Wrong{"NotANumber",
              "connectors: [{limits: {in_flight_low_mark: .nan}}]\n",
              "connectors[0].limits.in_flight_low_mark"},
        Wrong{"LevelUnspecified", "level: unspecified\n", "level"},
        Wrong{"LevelByNumber", "level: 3\n", "level"},
        Wrong{"ShortInterval",
              "name: a\ncheckpoint_interval: 9ms\nconnectors:\n"
              "- {name: a, source: {file: {path: i}}, format: {raw: {}}, "
              "sink: {null: {}}}\n",
              "checkpoint_interval"},
        Wrong{"MergeKey", "<<: {name: a}\n", "<<"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(PipelineFileErrorTest, AliasesMayBeUsed) {
  EXPECT_OK(ParsePipelineFile(
      "name: shop\nconnectors:\n"
      "- {name: a, source: &in {file: {path: i}}, format: &raw {raw: {}}, "
      "sink: {null: {}}}\n"
      "- {name: b, source: *in, format: *raw, sink: {null: {}}}\n",
      "p.yaml"));
}

TEST(PipelineFileTest, ColumnsAreRead) {
  ASSERT_OK_AND_ASSIGN(const PipelineFile file, ParsePipelineFile(R"yaml(
name: shop
connectors:
  - name: orders
    source: {file: {path: in}}
    format: {ndjson: {}}
    schema:
      columns:
        - {name: id, type: bigint, nullable: false}
        - {name: price, type: decimal, precision: 12, scale: 2}
        - {name: size, type: smallint unsigned}
        - {name: tags, type: array, children: [{type: varchar}]}
    sink: {null: {}}
)yaml",
                                                                  "p.yaml"));
  const core::Schema expected{
      {{.name = "id", .type = core::SqlType::kBigint, .nullable = false},
       {.name = "price",
        .type = core::SqlType::kDecimal,
        .precision = 12,
        .scale = 2},
       {.name = "size", .type = core::SqlType::kSmallintUnsigned},
       {.name = "tags",
        .type = core::SqlType::kArray,
        .children = {{.name = "element"}}}}};
  EXPECT_EQ(file.connectors[0].schema, expected);
}

TEST(PipelineFileErrorTest, AMisspeltTypeIsAnsweredWithTheNearest) {
  EXPECT_THAT(MessageOf("connectors:\n"
                        "- schema:\n"
                        "    columns:\n"
                        "    - {name: id, type: bigit}\n"),
              HasSubstr("p.yaml:4: connectors[0].schema.columns[0].type: "
                        "'bigit' is unknown; did you mean 'bigint'?"));
}

TEST(PipelineFileErrorTest, WrongColumnsAreNamedWithTheirLines) {
  EXPECT_THAT(MessageOf("name: shop\n"
                        "connectors:\n"
                        "- name: orders\n"
                        "  source: {file: {path: in}}\n"
                        "  format: {ndjson: {}}\n"
                        "  sink: {null: {}}\n"
                        "  schema:\n"
                        "    columns:\n"
                        "    - {name: id, type: bigint}\n"
                        "    - {name: id, type: date, precision: 3}\n"),
              AllOf(HasSubstr("p.yaml:10: connectors[0].schema.columns[1]."
                              "precision: is nothing that date has"),
                    HasSubstr("p.yaml:10: connectors[0].schema.columns[1]."
                              "name: 'id' is the name of ")));
}

TEST(PipelineFileErrorTest, AliasesInsideOfAliasesHaveALimit) {
  std::string text = "connectors:\n- schema:\n    columns:\n";
  absl::StrAppend(&text, "    - &a0 {type: date}\n");
  for (int i = 1; i <= 15; ++i) {
    absl::StrAppend(&text, "    - &a", i, " {type: struct, children: [*a",
                    i - 1, ", *a", i - 1, ", *a", i - 1, ", *a", i - 1, "]}\n");
  }
  EXPECT_THAT(MessageOf(text), HasSubstr("values, aliases followed"));
}

TEST(PipelineFileErrorTest, DeepNestingIsAnErrorAndNoCrash) {
  EXPECT_THAT(ParsePipelineFile(std::string(100'000, '['), "p.yaml"),
              HasReason(Reason::INVALID_CONFIG));
}

TEST(LoadPipelineFileTest, ReadsTheFile) {
  core::FakeFileSystem files;
  files.Put("/etc/shop.yaml", kShop);
  ASSERT_OK_AND_ASSIGN(const PipelineFile file,
                       LoadPipelineFile(files, "/etc/shop.yaml"));
  EXPECT_EQ(file.name, "shop");
}

TEST(LoadPipelineFileTest, FileThatIsNotThere) {
  core::FakeFileSystem files;
  EXPECT_THAT(LoadPipelineFile(files, "/nowhere.yaml"),
              HasReason(Reason::INVALID_CONFIG))
      << "as what is wrong inside of it: exit code 2";
}

}  // namespace
}  // namespace penstock::client
