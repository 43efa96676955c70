#include "proto/wire/fragments.h"

#include "core/base/error.h"
#include "proto/penstock/v1/common.pb.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace penstock::wire {
namespace {

using core::HasReason;
using core::IsOkAndHolds;
using core::Reason;

v1::Fragment MakeFragment(uint64_t offset, const std::string& data) {
  v1::Fragment fragment;
  fragment.set_offset(offset);
  fragment.set_data(data);
  return fragment;
}

TEST(FragmentsTest, PartIsLengthAndXxh3OfTheWhole) {
  // XXH3-64 of "", seed 0: golden value of xxHash.
  EXPECT_EQ(PartOf("").hash, 0x2D06800538D394C2u);
  EXPECT_EQ(PartOf("abc").length, 3u);
}

TEST(FragmentsTest, CuttingAndAssemblingGivesTheWholeBack) {
  std::string whole(1000, 'x');
  for (size_t i = 0; i < whole.size(); ++i) {
    whole[i] = static_cast<char>(i);
  }
  FragmentAssembler assembler(PartOf(whole));
  size_t fragments = 0;
  for (uint64_t offset = 0; !assembler.complete(); ++fragments) {
    const v1::Fragment fragment = FragmentAt(whole, offset, 300);
    offset += fragment.data().size();
    ASSERT_OK(assembler.Add(fragment));
  }
  EXPECT_EQ(fragments, 4u);
  EXPECT_THAT(std::move(assembler).Finish(), IsOkAndHolds(whole));
}

TEST(FragmentsTest, FragmentAtTheEndIsEmpty) {
  EXPECT_EQ(FragmentAt("abc", 3).data(), "");
  EXPECT_EQ(FragmentAt("abc", 3).offset(), 3u);
}

TEST(FragmentsTest, NothingIsCompleteAtOnce) {
  FragmentAssembler assembler(PartOf(""));
  EXPECT_TRUE(assembler.complete());
  EXPECT_THAT(std::move(assembler).Finish(), IsOkAndHolds(std::string()));
}

TEST(FragmentsTest, GapIsMalformed) {
  FragmentAssembler assembler(PartOf("abcdef"));
  ASSERT_OK(assembler.Add(MakeFragment(0, "ab")));
  const absl::Status status = assembler.Add(MakeFragment(3, "def"));
  EXPECT_THAT(status, HasReason(Reason::MALFORMED_FRAME));
  EXPECT_EQ(core::GetErrorInfo(status)->metadata.at("offset"), "2");
}

TEST(FragmentsTest, OverlapIsMalformed) {
  FragmentAssembler assembler(PartOf("abcdef"));
  ASSERT_OK(assembler.Add(MakeFragment(0, "abc")));
  EXPECT_THAT(assembler.Add(MakeFragment(2, "cdef")),
              HasReason(Reason::MALFORMED_FRAME));
}

TEST(FragmentsTest, MoreThanAnnouncedIsMalformed) {
  FragmentAssembler assembler(PartOf("abc"));
  EXPECT_THAT(assembler.Add(MakeFragment(0, "abcd")),
              HasReason(Reason::MALFORMED_FRAME));
}

TEST(FragmentsTest, LessThanAnnouncedIsMalformed) {
  FragmentAssembler assembler(PartOf("abc"));
  ASSERT_OK(assembler.Add(MakeFragment(0, "ab")));
  EXPECT_THAT(std::move(assembler).Finish(),
              HasReason(Reason::MALFORMED_FRAME));
}

TEST(FragmentsTest, AnotherHashIsMalformed) {
  FragmentAssembler assembler(PartOf("abc"));
  ASSERT_OK(assembler.Add(MakeFragment(0, "abd")));
  EXPECT_THAT(std::move(assembler).Finish(),
              HasReason(Reason::MALFORMED_FRAME));
}

TEST(FragmentsTest, AnnouncedAboveTheLimitIsRefusedAtTheFirstFragment) {
  FragmentAssembler assembler({.length = uint64_t{1} << 63, .hash = 0}, 1000);
  EXPECT_THAT(assembler.Add(MakeFragment(0, "a")),
              HasReason(Reason::RECORD_TOO_LARGE));
}

}  // namespace
}  // namespace penstock::wire
