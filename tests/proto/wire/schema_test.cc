#include "proto/wire/schema.h"

#include "proto/penstock/v1/spec.pb.h"
#include "proto/wire/spec.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace penstock::wire {
namespace {

using core::Column;
using core::HasReason;
using core::Reason;
using core::Schema;
using core::SqlType;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

v1::SchemaSpec ParseText(const std::string& text) {
  v1::SchemaSpec spec;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &spec));
  return spec;
}

std::vector<FieldViolation> ViolationsOf(const v1::SchemaSpec& spec) {
  Violations violations;
  SchemaFromProto(spec, "schema", violations);
  return violations.kept();
}

std::vector<std::string> FieldsOf(const v1::SchemaSpec& spec) {
  std::vector<std::string> fields;
  for (const FieldViolation& violation : ViolationsOf(spec)) {
    fields.push_back(violation.field);
  }
  return fields;
}

Schema Read(const v1::SchemaSpec& spec) {
  Violations violations;
  Schema schema = SchemaFromProto(spec, "schema", violations);
  EXPECT_THAT(violations.kept(), IsEmpty());
  return schema;
}

TEST(SchemaTest, DefaultsAreThoseOfTheProtoComments) {
  const Schema schema = Read(ParseText(R"pb(
    columns { name: "text" type: COLUMN_TYPE_VARCHAR }
    columns { name: "price" type: COLUMN_TYPE_DECIMAL }
    columns { name: "paid" type: COLUMN_TYPE_DECIMAL precision: 12 }
    columns { name: "at" type: COLUMN_TYPE_TIMESTAMPTZ }
    columns {
      name: "tags"
      type: COLUMN_TYPE_ARRAY
      children { type: COLUMN_TYPE_INTEGER }
    }
    columns {
      name: "counts"
      type: COLUMN_TYPE_MAP
      children { type: COLUMN_TYPE_VARCHAR }
      children { type: COLUMN_TYPE_BIGINT_UNSIGNED nullable: false }
    }
  )pb"));
  const Schema expected{
      {{.name = "text"},
       {.name = "price", .type = SqlType::kDecimal},
       {.name = "paid", .type = SqlType::kDecimal, .precision = 12},
       {.name = "at", .type = SqlType::kTimestamptz, .precision = 6},
       {.name = "tags",
        .type = SqlType::kArray,
        .children = {{.name = "element", .type = SqlType::kInteger}}},
       {.name = "counts",
        .type = SqlType::kMap,
        .children = {{.name = "key", .nullable = false},
                     {.name = "value",
                      .type = SqlType::kBigintUnsigned,
                      .nullable = false}}}}};
  EXPECT_EQ(schema, expected);
}

TEST(SchemaTest, ResolvedSchemaResolvesToItself) {
  const v1::SchemaSpec given = ParseText(R"pb(
    columns { name: "a" type: COLUMN_TYPE_BOOLEAN nullable: false }
    columns {
      name: "b"
      type: COLUMN_TYPE_DECIMAL
      nullable: true
      precision: 10
      scale: 2
    }
    columns { name: "c" type: COLUMN_TYPE_TIME nullable: true precision: 0 }
    columns {
      name: "d"
      type: COLUMN_TYPE_STRUCT
      nullable: true
      children {
        name: "a"
        type: COLUMN_TYPE_VARBINARY
        nullable: true
        precision: 4294967295
      }
    }
  )pb");
  EXPECT_EQ(SchemaToProto(Read(given)).DebugString(), given.DebugString());
}

TEST(SchemaTest, ASpecHasIt) {
  v1::ConnectorSpec given;
  given.set_name("orders");
  given.mutable_source()->mutable_file()->set_path("/in");
  given.mutable_format()->mutable_ndjson();
  given.mutable_sink()->mutable_null();
  *given.mutable_schema() =
      ParseText(R"pb(columns { name: "id" type: COLUMN_TYPE_UUID })pb");
  ASSERT_OK_AND_ASSIGN(const core::ConnectorSpec once, SpecFromProto(given));
  EXPECT_EQ(once.schema, Schema({{{.name = "id", .type = SqlType::kUuid}}}));
  ASSERT_OK_AND_ASSIGN(const core::ConnectorSpec twice,
                       SpecFromBytes(SpecToBytes(once)));
  EXPECT_EQ(twice.schema, once.schema);
}

TEST(SchemaTest, RawLinesHaveNoColumns) {
  v1::ConnectorSpec given;
  given.set_name("orders");
  given.mutable_source()->mutable_file()->set_path("/in");
  given.mutable_format()->mutable_raw();
  given.mutable_sink()->mutable_null();
  *given.mutable_schema() =
      ParseText(R"pb(columns { name: "id" type: COLUMN_TYPE_UUID })pb");
  const absl::Status status = SpecFromProto(given).status();
  EXPECT_THAT(status, HasReason(Reason::INVALID_CONFIG));
  EXPECT_THAT(std::string(status.message()), HasSubstr("spec.schema"));
}

TEST(SchemaTest, AnUnknownTypeIsAnsweredWithTheList) {
  v1::SchemaSpec spec;
  spec.add_columns()->set_name("a");
  spec.mutable_columns(0)->set_type(static_cast<v1::ColumnType>(99));
  const std::vector<FieldViolation> violations = ViolationsOf(spec);
  ASSERT_EQ(violations.size(), 1u);
  EXPECT_EQ(violations[0].field, "schema.columns[0].type");
  EXPECT_THAT(violations[0].description,
              HasSubstr("known are: boolean, tinyint, "));
  EXPECT_THAT(violations[0].description,
              HasSubstr(", bigint_unsigned, real, "));
  EXPECT_EQ(violations[0].reason, kUnknownValue);
}

// `levels` arrays of each other, an integer in the innermost.
v1::SchemaSpec Nested(int levels) {
  v1::SchemaSpec spec;
  v1::ColumnSpec* column = spec.add_columns();
  column->set_name("a");
  for (int i = 0; i < levels; ++i) {
    column->set_type(v1::COLUMN_TYPE_ARRAY);
    column = column->add_children();
  }
  column->set_type(v1::COLUMN_TYPE_INTEGER);
  return spec;
}

TEST(SchemaTest, NestingHasALimit) {
  EXPECT_THAT(FieldsOf(Nested(15)), IsEmpty());
  std::string path = "schema.columns";
  for (int i = 0; i < 16; ++i) absl::StrAppend(&path, "[0].children");
  EXPECT_THAT(FieldsOf(Nested(16)), ElementsAre(path));
}

// Two structs with `fields` fields, all in all.
v1::SchemaSpec Wide(int fields) {
  v1::SchemaSpec spec;
  for (const char* name : {"a", "b"}) {
    v1::ColumnSpec& column = *spec.add_columns();
    column.set_name(name);
    column.set_type(v1::COLUMN_TYPE_STRUCT);
  }
  for (int i = 0; i < fields; ++i) {
    v1::ColumnSpec& child = *spec.mutable_columns(i % 2)->add_children();
    child.set_name(absl::StrCat("c", i));
    child.set_type(v1::COLUMN_TYPE_REAL);
  }
  return spec;
}

TEST(SchemaTest, ColumnsHaveALimitInAll) {
  EXPECT_THAT(FieldsOf(Wide(998)), IsEmpty());
  EXPECT_THAT(FieldsOf(Wide(1010)), ElementsAre("schema.columns[1].children"));
}

// A column that is wrong in one thing.
struct Wrong {
  const char* name;
  const char* columns;
  const char* field;
};
class WrongSchemaTest : public ::testing::TestWithParam<Wrong> {};

TEST_P(WrongSchemaTest, IsRefusedByName) {
  EXPECT_THAT(FieldsOf(ParseText(GetParam().columns)),
              ElementsAre(std::string("schema.columns") + GetParam().field));
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongSchemaTest,
    ::testing::Values(
        Wrong{"NoColumns", "", ""},
        Wrong{"NoName", "columns { type: COLUMN_TYPE_DATE }", "[0].name"},
        Wrong{"ControlCharacter",
              "columns { name: 'a\\n' type: COLUMN_TYPE_DATE }", "[0].name"},
        Wrong{"SameName",
              "columns { name: 'a' type: COLUMN_TYPE_DATE }"
              "columns { name: 'b' type: COLUMN_TYPE_DATE }"
              "columns { name: 'a' type: COLUMN_TYPE_UUID }",
              "[2].name"},
        Wrong{"SameNameInAStruct",
              "columns { name: 'a' type: COLUMN_TYPE_STRUCT"
              "  children { name: 'a' type: COLUMN_TYPE_DATE }"
              "  children { name: 'a' type: COLUMN_TYPE_DATE } }",
              "[0].children[1].name"},
        Wrong{"NoNameInAStruct",
              "columns { name: 'a' type: COLUMN_TYPE_STRUCT"
              "  children { type: COLUMN_TYPE_DATE } }",
              "[0].children[0].name"},
        Wrong{"NoType", "columns { name: 'a' }", "[0].type"},
        Wrong{"PrecisionOfAnInteger",
              "columns { name: 'a' type: COLUMN_TYPE_BIGINT precision: 3 }",
              "[0].precision"},
        Wrong{"NoDigits",
              "columns { name: 'a' type: COLUMN_TYPE_DECIMAL precision: 0 }",
              "[0].precision"},
        Wrong{"ManyDigits",
              "columns { name: 'a' type: COLUMN_TYPE_DECIMAL precision: 1001 }",
              "[0].precision"},
        Wrong{"NoCharacters",
              "columns { name: 'a' type: COLUMN_TYPE_VARCHAR precision: 0 }",
              "[0].precision"},
        Wrong{"FineSeconds",
              "columns { name: 'a' type: COLUMN_TYPE_TIME precision: 10 }",
              "[0].precision"},
        Wrong{"ScaleAbovePrecision",
              "columns { name: 'a' type: COLUMN_TYPE_DECIMAL"
              "  precision: 3 scale: 4 }",
              "[0].scale"},
        Wrong{"ScaleWithoutPrecision",
              "columns { name: 'a' type: COLUMN_TYPE_DECIMAL scale: 4 }",
              "[0].scale"},
        Wrong{"ScaleOfADouble",
              "columns { name: 'a' type: COLUMN_TYPE_DOUBLE scale: 0 }",
              "[0].scale"},
        Wrong{"ChildrenOfText",
              "columns { name: 'a' type: COLUMN_TYPE_VARCHAR"
              "  children { name: 'b' type: COLUMN_TYPE_DATE } }",
              "[0].children"},
        Wrong{"ArrayOfNothing", "columns { name: 'a' type: COLUMN_TYPE_ARRAY }",
              "[0].children"},
        Wrong{"ArrayOfTwo",
              "columns { name: 'a' type: COLUMN_TYPE_ARRAY"
              "  children { type: COLUMN_TYPE_DATE }"
              "  children { type: COLUMN_TYPE_DATE } }",
              "[0].children"},
        Wrong{"MapWithoutValue",
              "columns { name: 'a' type: COLUMN_TYPE_MAP"
              "  children { type: COLUMN_TYPE_VARCHAR } }",
              "[0].children"},
        Wrong{"EmptyStruct", "columns { name: 'a' type: COLUMN_TYPE_STRUCT }",
              "[0].children"},
        Wrong{"NullAsKey",
              "columns { name: 'a' type: COLUMN_TYPE_MAP"
              "  children { type: COLUMN_TYPE_VARCHAR nullable: true }"
              "  children { type: COLUMN_TYPE_VARCHAR } }",
              "[0].children[0].nullable"},
        Wrong{"VariantAsKey",
              "columns { name: 'a' type: COLUMN_TYPE_MAP"
              "  children { type: COLUMN_TYPE_VARIANT }"
              "  children { type: COLUMN_TYPE_VARCHAR } }",
              "[0].children[0].type"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(SchemaTest, ALongNameIsRefused) {
  v1::SchemaSpec spec;
  spec.add_columns()->set_name(std::string(256, 'n'));
  spec.mutable_columns(0)->set_type(v1::COLUMN_TYPE_DATE);
  EXPECT_THAT(FieldsOf(spec), IsEmpty());
  spec.mutable_columns(0)->mutable_name()->push_back('n');
  EXPECT_THAT(FieldsOf(spec), ElementsAre("schema.columns[0].name"));
}

}  // namespace
}  // namespace penstock::wire
