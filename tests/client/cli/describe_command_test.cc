#include "client/cli/describe_command.h"

#include "proto/penstock/v1/spec.pb.h"

#include <gtest/gtest.h>

namespace penstock::client {
namespace {

TEST(DescribeTest, AFieldSaysWhatMayBeWritten) {
  // Linked in, so that its types are known.
  ASSERT_NE(v1::FileSink::descriptor(), nullptr);
  EXPECT_EQ(TypeText("penstock.v1.OutputCompression"),
            "one of none, gzip, zstd");
  EXPECT_EQ(TypeText("penstock.v1.FileRoll"), "mapping");
  EXPECT_EQ(TypeText("google.protobuf.Duration"), "duration, such as 100ms");
  EXPECT_EQ(TypeText("uint64"), "integer");
  EXPECT_EQ(TypeText("string"), "text");
  EXPECT_EQ(TypeText("penstock.v9.Newer"), "penstock.v9.Newer");
}

TEST(DescribeTest, WhenItMayChangeIsSaidAsThePageSaysIt) {
  EXPECT_EQ(ChangeText(v1::CHANGE_CLASS_REPLAY_SAFE), "at once");
  EXPECT_EQ(ChangeText(v1::CHANGE_CLASS_NEEDS_CLEAN_CHECKPOINT),
            "clean checkpoint");
  EXPECT_EQ(ChangeText(v1::CHANGE_CLASS_NEEDS_RESET), "never");
}

}  // namespace
}  // namespace penstock::client
