#include "proto/wire/spec_change.h"

#include "proto/penstock/v1/spec.pb.h"
#include "proto/wire/spec.h"
#include "tests/proto/wire/classed.pb.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace penstock::wire {
namespace {

using core::HasReason;
using core::Reason;
using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

v1::ConnectorSpec Given() {
  v1::ConnectorSpec spec;
  spec.set_name("orders");
  spec.mutable_source()->mutable_file()->set_path("/data/in.ndjson");
  spec.mutable_format()->mutable_ndjson()->set_key("user.id");
  spec.mutable_sink()->mutable_file()->set_path("/data/out");
  spec.set_shards(4);
  return spec;
}

std::string Resolved(const v1::ConnectorSpec& spec) {
  const auto resolved = SpecFromProto(spec);
  EXPECT_OK(resolved);
  return resolved.ok() ? SpecToBytes(*resolved) : "";
}

// What `edit` changes of Given().
std::vector<SpecChange> ChangesBy(
    const std::function<void(v1::ConnectorSpec&)>& edit) {
  v1::ConnectorSpec edited = Given();
  edit(edited);
  const auto changes = CompareSpecBytes(Resolved(Given()), Resolved(edited));
  EXPECT_OK(changes);
  return changes.ok() ? *changes : std::vector<SpecChange>();
}

TEST(SpecChangeTest, WhatIsWrittenOutAndWhatIsLeftOutIsTheSame) {
  EXPECT_THAT(ChangesBy([](v1::ConnectorSpec& spec) {
                spec.mutable_route()->mutable_key_hash();
                spec.mutable_limits()->set_step_bytes(8 << 20);
              }),
              IsEmpty());
}

TEST(SpecChangeTest, EachFieldHasItsPathClassAndValues) {
  EXPECT_THAT(
      ChangesBy([](v1::ConnectorSpec& spec) {
        spec.mutable_source()->mutable_file()->set_path("/data/new.ndjson");
        spec.mutable_format()->mutable_ndjson()->clear_key();
        spec.mutable_route()->mutable_key_hash();
        spec.set_on_parse_error(v1::BAD_RECORD_POLICY_FAIL);
        spec.mutable_limits()->mutable_step_linger()->set_seconds(1);
        spec.mutable_limits()->set_step_bytes(1 << 20);
      }),
      ElementsAre(
          SpecChange{"source.file.path", v1::CHANGE_CLASS_NEEDS_RESET,
                     "'/data/in.ndjson'", "'/data/new.ndjson'"},
          SpecChange{"format.ndjson.key",
                     v1::CHANGE_CLASS_NEEDS_CLEAN_CHECKPOINT, "'user.id'",
                     "unset"},
          SpecChange{"on_parse_error", v1::CHANGE_CLASS_NEEDS_CLEAN_CHECKPOINT,
                     "BAD_RECORD_POLICY_SKIP", "BAD_RECORD_POLICY_FAIL"},
          SpecChange{"limits.step_bytes", v1::CHANGE_CLASS_REPLAY_SAFE,
                     "8388608", "1048576", true},
          SpecChange{"limits.step_linger", v1::CHANGE_CLASS_REPLAY_SAFE,
                     "100ms", "1s", true}));
}

TEST(SpecChangeTest, AnotherTypeIsOneChangeOfTheStricterClass) {
  EXPECT_THAT(
      ChangesBy([](v1::ConnectorSpec& spec) {
        spec.mutable_sink()->mutable_null();
        spec.mutable_format()->mutable_raw();
      }),
      ElementsAre(
          SpecChange{"format", v1::CHANGE_CLASS_NEEDS_CLEAN_CHECKPOINT,
                     "ndjson", "raw"},
          SpecChange{"route", v1::CHANGE_CLASS_NEEDS_CLEAN_CHECKPOINT,
                     "key_hash", "partition"},
          SpecChange{"sink", v1::CHANGE_CLASS_NEEDS_RESET, "file", "null"}));
}

TEST(SpecChangeTest, DefaultsThatFollowAreNamedToo) {
  EXPECT_THAT(
      ChangesBy([](v1::ConnectorSpec& spec) { spec.set_shards(32); }),
      ElementsAre(SpecChange{"shards", v1::CHANGE_CLASS_NEEDS_CLEAN_CHECKPOINT,
                             "4", "32"},
                  SpecChange{"limits.shard_queue_chunks_max",
                             v1::CHANGE_CLASS_REPLAY_SAFE, "8", "2"}));
}

TEST(SpecChangeTest, VersionsAreThoseThatEachSideNames) {
  v1::ConnectorSpec old;
  ASSERT_TRUE(old.ParseFromString(Resolved(Given())));
  old.mutable_versions()->clear_route();
  // 0 is the newest.
  const auto changes =
      CompareSpecBytes(old.SerializeAsString(), Resolved(Given()));
  ASSERT_OK(changes);
  EXPECT_THAT(*changes, IsEmpty());
  v1::ConnectorSpec newer = Given();
  newer.mutable_versions()->set_encoder(2);
  EXPECT_THAT(CompareSpecs(Given(), newer),
              ElementsAre(SpecChange{"versions",
                                     v1::CHANGE_CLASS_NEEDS_CLEAN_CHECKPOINT,
                                     "unset", "given"}));
}

TEST(SpecChangeTest, StoredBytesThatAreNoSpecAreDamage) {
  EXPECT_THAT(CompareSpecBytes("\xff", Resolved(Given())),
              HasReason(Reason::STATE_DAMAGED));
}

TEST(SpecChangeTest, AColumnIsNamedByItsPlace) {
  const auto with_element = [](v1::ColumnType type) {
    v1::ConnectorSpec spec = Given();
    v1::ColumnSpec& column = *spec.mutable_schema()->add_columns();
    column.set_name("tags");
    column.set_type(v1::COLUMN_TYPE_ARRAY);
    column.add_children()->set_type(type);
    return Resolved(spec);
  };
  const auto changes = CompareSpecBytes(with_element(v1::COLUMN_TYPE_INTEGER),
                                        with_element(v1::COLUMN_TYPE_BIGINT));
  ASSERT_OK(changes);
  EXPECT_THAT(*changes, ElementsAre(SpecChange{
                            "schema.columns[0].children[0].type",
                            v1::CHANGE_CLASS_NEEDS_CLEAN_CHECKPOINT,
                            "COLUMN_TYPE_INTEGER", "COLUMN_TYPE_BIGINT"}));
}

TEST(SpecChangeTest, AnotherNumberOfColumnsIsOneChange) {
  const auto changes = ChangesBy([](v1::ConnectorSpec& spec) {
    v1::ColumnSpec& column = *spec.mutable_schema()->add_columns();
    column.set_name("id");
    column.set_type(v1::COLUMN_TYPE_UUID);
  });
  EXPECT_THAT(changes, ElementsAre(SpecChange{
                           "schema", v1::CHANGE_CLASS_NEEDS_CLEAN_CHECKPOINT,
                           "unset", "given"}));
}

TEST(SpecChangeTest, TheStrictestClassDecides) {
  EXPECT_EQ(StrictestOf({}), v1::CHANGE_CLASS_REPLAY_SAFE);
  EXPECT_EQ(
      StrictestOf(
          {{.field = "a", .change = v1::CHANGE_CLASS_NEEDS_CLEAN_CHECKPOINT},
           {.field = "b", .change = v1::CHANGE_CLASS_REPLAY_SAFE}}),
      v1::CHANGE_CLASS_NEEDS_CLEAN_CHECKPOINT);
}

TEST(SpecChangeTest, ADescriptionHasPathAndBothValues) {
  EXPECT_EQ(Describe({.field = "shards", .before = "4", .after = "2"}),
            "shards: 4 -> 2");
}

TEST(ClassedTest, ASecretIsNeverShown) {
  test::Classed before;
  test::Classed after;
  before.set_password("hunter2");
  after.set_password("hunter3");
  const std::vector<SpecChange> changes = CompareSpecs(before, after);
  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_THAT(Describe(changes[0]), Not(HasSubstr("hunter")));
  EXPECT_EQ(changes[0].field, "password");
  EXPECT_THAT(Describe(CompareSpecs(test::Classed(), after)[0]),
              Not(HasSubstr("hunter")));
}

TEST(ClassedTest, ARepeatedFieldChangesAsOne) {
  test::Classed before;
  test::Classed after;
  before.add_columns("a");
  before.add_columns("b");
  after.add_columns("b");
  after.add_columns("a");
  EXPECT_THAT(CompareSpecs(before, before), IsEmpty());
  EXPECT_THAT(
      CompareSpecs(before, after),
      ElementsAre(SpecChange{"columns", v1::CHANGE_CLASS_NEEDS_CLEAN_CHECKPOINT,
                             "2 given", "2 given"}));
}

TEST(ClassedTest, OneOfAsManyIsNamedByItsPlace) {
  test::Classed before;
  before.add_parts()->set_size(1);
  before.add_parts()->set_size(2);
  test::Classed after = before;
  after.mutable_parts(1)->set_size(3);
  EXPECT_THAT(CompareSpecs(before, after),
              ElementsAre(SpecChange{"parts[1].size",
                                     v1::CHANGE_CLASS_NEEDS_RESET, "2", "3"}));
}

TEST(ClassedTest, AFieldWithoutClassMayNotChange) {
  test::Classed after;
  after.set_forgotten(true);
  EXPECT_THAT(CompareSpecs(test::Classed(), after),
              ElementsAre(SpecChange{"forgotten", v1::CHANGE_CLASS_NEEDS_RESET,
                                     "unset", "true"}));
}

TEST(ClassedTest, APartThatComesOrGoesHasTheStrictestClassInIt) {
  test::Classed after;
  after.mutable_part()->set_size(1);
  EXPECT_THAT(CompareSpecs(test::Classed(), after),
              ElementsAre(SpecChange{"part", v1::CHANGE_CLASS_NEEDS_RESET,
                                     "unset", "given"}));
  test::Classed before;
  before.mutable_part()->set_size(2);
  EXPECT_THAT(CompareSpecs(before, after),
              ElementsAre(SpecChange{"part.size", v1::CHANGE_CLASS_NEEDS_RESET,
                                     "2", "1"}));
}

TEST(ClassedTest, ALongTextIsCut) {
  test::Classed after;
  after.set_text(std::string(5000, 'x'));
  EXPECT_THAT(CompareSpecs(test::Classed(), after)[0].after, SizeIs(202));
}

TEST(ClassedTest, SmallDifferencesOfNumbersCount) {
  test::Classed before;
  test::Classed after;
  before.set_share(0.8);
  after.set_share(0.8 + 1e-15);
  EXPECT_THAT(CompareSpecs(before, after), SizeIs(1));
}

// Collects what is wrong with the classes in `message` and below.
void LookAtClasses(const Descriptor& message, std::set<std::string>& seen,
                   std::vector<std::string>& wrong) {
  if (!seen.insert(message.full_name()).second) {
    return;
  }
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    if (field.options().GetExtension(v1::config).change() ==
        v1::CHANGE_CLASS_UNSPECIFIED) {
      wrong.push_back(field.full_name());
    }
    if (field.message_type() != nullptr && !field.is_map() &&
        field.message_type()->file()->package() == "penstock.v1") {
      LookAtClasses(*field.message_type(), seen, wrong);
    }
  }
}

TEST(ConnectorSpecTest, EveryFieldHasAClass) {
  std::set<std::string> seen;
  std::vector<std::string> wrong;
  LookAtClasses(*v1::ConnectorSpec::descriptor(), seen, wrong);
  EXPECT_THAT(wrong, IsEmpty());
  EXPECT_GT(seen.size(), 5u);
}

}  // namespace
}  // namespace penstock::wire
