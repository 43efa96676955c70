#include "server/schemas/protobuf_compiler.h"

#include "core/format/protobuf/protobuf_schema.h"
#include "core/format/schemas/schema_source.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.pb.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace penstock::server {
namespace {

using core::ProtobufSchema;
using core::ProtobufWellKnown;
using core::Reason;
using core::ReferredSchema;
using testing::HasSubstr;

absl::StatusOr<std::shared_ptr<const ProtobufSchema>> Read(
    std::string text, std::vector<ReferredSchema> references = {}) {
  absl::StatusOr<std::shared_ptr<const core::WriterSchema>> read =
      MakeProtobufCompiler().language.read({.text = std::move(text),
                                            .type = "PROTOBUF",
                                            .references = references});
  if (!read.ok()) return read.status();
  return std::dynamic_pointer_cast<const ProtobufSchema>(*read);
}

std::string NameAt(const ProtobufSchema& schema, std::vector<uint32_t> path) {
  const std::optional<uint32_t> found = schema.FindByPath(path);
  return found.has_value() ? schema.message(*found).name : "(none)";
}

// Entries of maps are declared by nobody, so that they have no place.
TEST(ProtobufCompilerTest, MessagesAreFoundByTheirPath) {
  ASSERT_OK_AND_ASSIGN(const auto schema,
                       Read(R"(syntax = "proto3"; package a.b;
              message First {}
              message Second {
                map<string, First> m = 1;
                message Inner { message Most {} }
                message Other {}
              })"));
  EXPECT_EQ(NameAt(*schema, {0}), "a.b.First");
  EXPECT_EQ(NameAt(*schema, {1}), "a.b.Second");
  EXPECT_EQ(NameAt(*schema, {1, 0, 0}), "a.b.Second.Inner.Most");
  EXPECT_EQ(NameAt(*schema, {1, 1}), "a.b.Second.Other");
  EXPECT_EQ(NameAt(*schema, {2}), "(none)");
  EXPECT_EQ(NameAt(*schema, {1, 2}), "(none)");
  EXPECT_GT(schema->MemoryBytes(), 100u);
}

TEST(ProtobufCompilerTest, ImportsAreReferencesAndWhatTheLibraryHas) {
  ASSERT_OK_AND_ASSIGN(
      const auto schema,
      Read(R"(syntax = "proto3";
              import "shop/order.proto";
              import "google/protobuf/timestamp.proto";
              import "confluent/meta.proto";
              import "confluent/type/decimal.proto";
              message M {
                shop.Order order = 1 [(confluent.field_meta).doc = "what"];
                google.protobuf.Timestamp at = 2;
                confluent.type.Decimal price = 3;
              })",
           {{.name = "shop/line.proto",
             .text = "syntax = \"proto3\"; package shop; message Line {}"},
            {.name = "shop/order.proto",
             .text = "syntax = \"proto3\"; package shop; "
                     "import \"shop/line.proto\"; "
                     "message Order { repeated Line lines = 1; }"},
            // What the library has is the library's.
            {.name = "google/protobuf/timestamp.proto", .text = "nonsense"}}));
  const core::ProtobufMessage& message = schema->message(0);
  EXPECT_EQ(schema->message(message.fields[0].of).name, "shop.Order");
  EXPECT_EQ(schema->message(message.fields[1].of).well_known,
            ProtobufWellKnown::kTimestamp);
  EXPECT_EQ(schema->message(message.fields[2].of).name,
            "confluent.type.Decimal");
}

TEST(ProtobufCompilerTest, WhatIsWrongIsSaidWithItsFileAndLine) {
  const absl::Status bad =
      Read("syntax = \"proto3\";\nmessage M {\n oops\n}").status();
  EXPECT_THAT(bad, HasReason(Reason::INVALID_CONFIG));
  EXPECT_THAT(bad.message(), HasSubstr("the schema, line 4"));
  const absl::Status missing =
      Read("syntax = \"proto3\"; import \"not/there.proto\";").status();
  EXPECT_THAT(missing, HasReason(Reason::INVALID_CONFIG));
  EXPECT_THAT(missing.message(), HasSubstr("not/there.proto"));
  EXPECT_THAT(missing.message(), HasSubstr("among no references"));
  EXPECT_THAT(Read("syntax = \"proto3\"; message M { Other o = 1; }").status(),
              HasReason(Reason::INVALID_CONFIG));
}

// The library's parser calls itself for each.
TEST(ProtobufCompilerTest, DepthAndLengthOfTextAreBounded) {
  std::string deep = "syntax = \"proto3\";";
  for (int i = 0; i < 100'000; ++i) deep += "message M{";
  EXPECT_THAT(Read(deep).status().message(), HasSubstr("within each other"));
  const std::string padding(core::kSchemaTextBytesMax / 2, ' ');
  EXPECT_OK(Read("syntax = \"proto3\";" + padding).status());
  EXPECT_THAT(Read("syntax = \"proto3\";" + padding,
                   {{.name = "a.proto", .text = padding}})
                  .status()
                  .message(),
              HasSubstr("longer than"));
}

TEST(ProtobufCompilerTest, AMessageOfThatNameButAnotherShapeIsPlain) {
  google::protobuf::FileDescriptorSet set;
  google::protobuf::FileDescriptorProto& file = *set.add_file();
  file.set_name("google/protobuf/timestamp.proto");
  file.set_package("google.protobuf");
  file.add_message_type()->set_name("Timestamp");
  ASSERT_OK_AND_ASSIGN(
      const std::shared_ptr<const ProtobufSchema> schema,
      MakeProtobufCompiler().read_descriptor_set(set.SerializeAsString()));
  const std::optional<uint32_t> found =
      schema->FindByName("google.protobuf.Timestamp");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(schema->message(*found).well_known, ProtobufWellKnown::kNone);
}

TEST(ProtobufCompilerTest, ADescriptorSetThatCannotBeUsedIsRefused) {
  const auto read = MakeProtobufCompiler().read_descriptor_set;
  EXPECT_THAT(read("no set at all").status(),
              HasReason(Reason::INVALID_CONFIG));
  google::protobuf::FileDescriptorSet set;
  set.add_file()->set_name("a.proto");
  set.mutable_file(0)->add_dependency("b.proto");
  const absl::Status unlinked = read(set.SerializeAsString()).status();
  EXPECT_THAT(unlinked, HasReason(Reason::INVALID_CONFIG));
  EXPECT_THAT(unlinked.message(), HasSubstr("--include_imports"));
  set.mutable_file(0)->clear_dependency();
  *set.add_file() = set.file(0);
  EXPECT_THAT(read(set.SerializeAsString()).status().message(),
              HasSubstr("twice"));
}

}  // namespace
}  // namespace penstock::server
