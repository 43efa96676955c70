// What the contract suite does not ask of the null sink.
#include "core/sinks/null/null_sink.h"

#include "core/sinks/null/config.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/manual_executor.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock::core {
namespace {

using testing::ElementsAre;

OutputOpen OpenAt(Step base_steps) {
  return {.incarnation = "1234abcd",
          .pipeline = "p",
          .connector = "c",
          .writer = {.epoch = 1, .open_number = 1},
          .base_steps = base_steps,
          .first_open = false,
          .shards = 2,
          .level = FtModel::kExactlyOnce};
}

TEST(NullSinkTest, ProgressIsTheOpenedBaseOnEveryOpen) {
  NullSink sink;
  EXPECT_THAT(sink.Open(OpenAt(7)), IsOkAndHolds(ElementsAre(7, 7)));
  NullSink again;
  EXPECT_THAT(again.Open(OpenAt(9)), IsOkAndHolds(ElementsAre(9, 9)));
}

TEST(NullSinkTest, BatchesThatEndedAreCounted) {
  NullSink sink;
  ASSERT_OK(sink.Open(OpenAt(0)));
  ASSERT_OK_AND_ASSIGN(const auto endpoint, sink.MakeEndpoint(1));
  ASSERT_OK(endpoint->Connect(nullptr));
  ASSERT_OK(endpoint->BatchStart({.steps = {0, 1}}));
  ASSERT_OK(endpoint->PushBuffer("dropped"));
  ASSERT_OK(endpoint->BatchStart({.steps = {0, 1}}));
  ASSERT_OK(endpoint->PushBuffer("four"));
  ASSERT_OK(endpoint->PushBuffer("more!"));
  ASSERT_OK(endpoint->PushKey("k", std::nullopt, {}));
  EXPECT_EQ(sink.counts().bytes, 0);
  ASSERT_OK(endpoint->BatchEnd());
  EXPECT_EQ(sink.counts().batches, 1);
  EXPECT_EQ(sink.counts().buffers, 2);
  EXPECT_EQ(sink.counts().messages, 1);
  EXPECT_EQ(sink.counts().bytes, 10);
}

TEST(NullSinkTest, BatchThatComesAgainIsCountedOnce) {
  NullSink sink;
  ASSERT_OK(sink.Open(OpenAt(0)));
  ASSERT_OK_AND_ASSIGN(const auto endpoint, sink.MakeEndpoint(1));
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK(endpoint->BatchStart({.steps = {0, 1}}));
    ASSERT_OK(endpoint->PushBuffer("four"));
    ASSERT_OK(endpoint->BatchEnd());
  }
  EXPECT_EQ(sink.counts().bytes, 4);
}

TEST(NullSinkTest, OpenWithoutShardsIsRefused) {
  OutputOpen open = OpenAt(0);
  open.shards = 0;
  NullSink sink;
  EXPECT_THAT(sink.Open(open), HasReason(Reason::INVALID_CONFIG));
}

TEST(NullSinkTest, UnknownShardIsRefused) {
  NullSink sink;
  ASSERT_OK(sink.Open(OpenAt(0)));
  EXPECT_THAT(sink.MakeEndpoint(2), HasReason(Reason::INVALID_REQUEST));
}

TEST(NullSinkTest, FactoryMakesASinkThatReadsAndWritesNoFile) {
  FakeFileSystem files;
  ManualExecutor io;
  const PathPolicy paths({"/nowhere"});
  ASSERT_OK_AND_ASSIGN(
      const auto sink,
      MakeNullSink(
          NullSinkConfig(),
          {.files = files, .io = io, .clock = io.clock(), .paths = paths}));
  EXPECT_OK(sink->Open(OpenAt(0)));
  EXPECT_EQ(files.mutating_operations(), 0);
}

}  // namespace
}  // namespace penstock::core
