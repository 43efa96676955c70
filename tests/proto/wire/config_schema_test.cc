#include "proto/wire/config_schema.h"

#include "proto/penstock/v1/spec.pb.h"
#include "proto/wire/config_comments.h"

#include <gmock/gmock.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

namespace penstock::wire {
namespace {

using google::protobuf::Struct;
using google::protobuf::Value;
using ::testing::HasSubstr;

Struct Parsed(const std::string& schema) {
  Struct parsed;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(schema, &parsed).ok())
      << schema;
  return parsed;
}

const Value& At(const Struct& parsed, std::initializer_list<const char*> path) {
  const Struct* here = &parsed;
  const Value* value = nullptr;
  for (const char* name : path) {
    value = &here->fields().at(name);
    here = &value->struct_value();
  }
  return *value;
}

TEST(ConfigSchemaTest, NamesFieldsTypesAndWhatIsRequired) {
  const Struct schema = Parsed(ConfigSchema(*v1::FileSource::descriptor()));
  EXPECT_EQ(At(schema, {"$ref"}).string_value(), "#/$defs/FileSource");
  const Struct& file = At(schema, {"$defs", "FileSource"}).struct_value();
  EXPECT_EQ(At(file, {"properties", "path", "type"}).string_value(), "string");
  EXPECT_EQ(At(file, {"required"}).list_value().values(0).string_value(),
            "path");
  EXPECT_FALSE(At(file, {"additionalProperties"}).bool_value());
}

TEST(ConfigSchemaTest, EnumsAreShortAndWithoutUnspecified) {
  const Struct schema = Parsed(ConfigSchema(*v1::FileSink::descriptor()));
  const auto& values =
      At(schema, {"$defs", "FileSink", "properties", "compression", "enum"})
          .list_value();
  ASSERT_EQ(values.values_size(), 3);
  EXPECT_EQ(values.values(0).string_value(), "none");
}

TEST(ConfigSchemaTest, AMessageThatContainsItselfRefersToItself) {
  const Struct schema = Parsed(ConfigSchema(*v1::SchemaSpec::descriptor()));
  EXPECT_EQ(At(schema, {"$defs", "ColumnSpec", "properties", "children",
                        "items", "$ref"})
                .string_value(),
            "#/$defs/ColumnSpec");
}

TEST(ConfigSchemaTest, AWholeConnectorHasASchema) {
  const Struct schema = Parsed(ConfigSchema(*v1::ConnectorSpec::descriptor()));
  EXPECT_EQ(At(schema, {"$defs", "SinkSpec", "maxProperties"}).number_value(),
            1);
}

TEST(ConfigFieldsTest, PathsGoIntoMessages) {
  const auto fields = ConfigFields(*v1::FileSink::descriptor());
  std::vector<std::string> names;
  for (const v1::ConfigField& field : fields) names.push_back(field.name());
  EXPECT_THAT(names, ::testing::IsSupersetOf({"path", "roll", "roll.bytes"}));
}

TEST(ConfigFieldsTest, AFieldBearsItsCommentAndDefault) {
  for (const v1::ConfigField& field : ConfigFields(*v1::Limits::descriptor())) {
    if (field.name() != "block_bytes") continue;
    EXPECT_THAT(field.description(), HasSubstr("Size of a block"));
    EXPECT_EQ(field.default_value(), "1 MiB");
    EXPECT_EQ(field.change(), v1::CHANGE_CLASS_REPLAY_SAFE);
    return;
  }
  FAIL() << "no block_bytes";
}

TEST(ConfigCommentsTest, TheDefaultIsOneSentence) {
  EXPECT_EQ(DefaultIn("Bytes. Default: 1.5 MiB. More."), "1.5 MiB");
  EXPECT_EQ(DefaultIn("Default: none, and they wait"), "none, and they wait");
  EXPECT_EQ(DefaultIn("Required."), "");
}

}  // namespace
}  // namespace penstock::wire
