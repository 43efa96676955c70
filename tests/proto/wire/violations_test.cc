#include "proto/wire/violations.h"

#include "core/base/error.h"
#include "proto/penstock/v1/spec.pb.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <google/protobuf/unknown_field_set.h>
#include <gtest/gtest.h>

namespace penstock::wire {
namespace {

using core::HasReason;
using core::IsOk;
using core::Reason;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(ViolationsTest, NoneIsOk) {
  EXPECT_THAT(Violations().ToStatus(Reason::INVALID_CONFIG), IsOk());
}

TEST(ViolationsTest, StatusNamesTheFirstAndCarriesAll) {
  Violations violations;
  violations.Add("a.b", "is missing", kRequired);
  violations.Add("c", "is 7", kOutOfRange);
  const absl::Status status = violations.ToStatus(Reason::INVALID_CONFIG);
  EXPECT_THAT(status, HasReason(Reason::INVALID_CONFIG));
  EXPECT_EQ(status.message(), "a.b: is missing (and 1 more wrong field)");
  EXPECT_EQ(core::GetErrorInfo(status)->metadata.at("field"), "a.b");
  EXPECT_EQ(GetViolations(status), violations.kept());
}

TEST(ViolationsTest, OnlyUnsupportedFieldsAreUnsupported) {
  Violations violations;
  violations.Add("a", "not yet", kUnsupportedField);
  EXPECT_THAT(violations.ToStatus(Reason::INVALID_REQUEST),
              HasReason(Reason::UNSUPPORTED));
  violations.Add("b", "is missing", kRequired);
  EXPECT_THAT(violations.ToStatus(Reason::INVALID_REQUEST),
              HasReason(Reason::INVALID_REQUEST));
}

TEST(ViolationsTest, KeepsTheFirstHundredAndCountsAll) {
  Violations violations;
  for (int i = 0; i < 150; ++i) {
    violations.Add(absl::StrCat("f", i), "is wrong", kMalformed);
  }
  EXPECT_EQ(violations.count(), 150u);
  EXPECT_THAT(violations.kept(), SizeIs(100));
  EXPECT_THAT(
      std::string(violations.ToStatus(Reason::INVALID_CONFIG).message()),
      HasSubstr("149 more"));
}

TEST(ViolationsTest, StatusWithoutViolationsHasNone) {
  EXPECT_THAT(GetViolations(absl::OkStatus()), IsEmpty());
  EXPECT_THAT(GetViolations(core::MakeError(Reason::INTERNAL, "x")), IsEmpty());
}

TEST(ViolationsTest, UnknownFieldsAreNamedByPathAndNumber) {
  v1::ConnectorSpec spec;
  spec.GetReflection()->MutableUnknownFields(&spec)->AddVarint(99, 1);
  v1::FileSink& sink = *spec.mutable_sink()->mutable_file();
  sink.GetReflection()->MutableUnknownFields(&sink)->AddLengthDelimited(7, "x");
  Violations violations;
  AddUnknownFields(spec, "connectors[1]", violations);
  ASSERT_THAT(violations.kept(), SizeIs(2));
  EXPECT_EQ(violations.kept()[0].field, "connectors[1].#99");
  EXPECT_EQ(violations.kept()[0].reason, "UNKNOWN_FIELD");
  EXPECT_EQ(violations.kept()[1].field, "connectors[1].sink.file.#7");
}

TEST(ViolationsTest, JoinPathLeavesNoDotAtTheRoot) {
  EXPECT_EQ(JoinPath("", "a"), "a");
  EXPECT_EQ(JoinPath("a", "b"), "a.b");
}

}  // namespace
}  // namespace penstock::wire
