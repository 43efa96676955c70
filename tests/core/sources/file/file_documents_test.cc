// Files that are one record each, and documents that are none.
#include "core/format/ndjson/ndjson_format.h"
#include "tests/core/sources/file/many_files_fixture.h"

#include <gmock/gmock.h>

namespace penstock::core {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class BlobFilesTest : public ManyFilesTest {
 protected:
  BlobFilesTest() {
    config_.path = "/l/*";
    config_.block_bytes = 4;
    make_parser_ = [] {
      RawConfig config;
      config.record_bytes_max = 20;
      config.is_blob = true;
      return *MakeRawParser(config);
    };
  }
};

TEST_F(BlobFilesTest, EachIsARecordAndOneThatIsTooLongABadOne) {
  files_.Put("/l/a", "one\ntwo\n\n");
  files_.Put("/l/b", "");
  files_.Put("/l/c", std::string(1000, '\n'));
  files_.Put("/l/d", std::string(20, '\0'));
  Open();
  EXPECT_THAT(Read(), ElementsAre("one\ntwo\n\n", std::string(20, '\0')));
  EXPECT_THAT(ErrorTags(), ElementsAre("record_too_large"));
  EXPECT_EQ(consumer_->transcript().parse_errors[0].input, "/l/c");
  EXPECT_FALSE(HasFailed());
}

TEST_F(BlobFilesTest, AStepIsReplayedAndGoneOnBehind) {
  files_.Put("/l/a", "one\ntwo");
  files_.Put("/l/b", "three\n");
  Open();
  Send(ExtendCommand{});
  RecordedStep first;
  while (first.records.empty()) {
    ASSERT_TRUE(executor_.RunOne());
    first = Queue();
  }
  ASSERT_THAT(first.records, SizeIs(1));
  Open(first.seek());
  EXPECT_THAT(Read(), SizeIs(1));
  Open();
  EXPECT_EQ(Replay(first).hash, first.hash);
}

TEST_F(BlobFilesTest, OneThatHasGrownWasTorn) {
  files_.Put("/l/a", "one");
  Open();
  EXPECT_THAT(Read(), ElementsAre("one"));
  files_.Put("/l/a", "one\n more");
  Open(steps_.back().seek());
  EXPECT_THAT(Read(), ElementsAre("\n more"));
  ASSERT_THAT(consumer_->transcript().errors, SizeIs(1));
  EXPECT_FALSE(consumer_->transcript().errors[0].fatal);
}

TEST_F(ManyFilesTest, DocumentsThatSayNoChangeAreCounted) {
  make_parser_ = [] {
    NdjsonConfig config;
    config.envelope = {.kind = EnvelopeKind::kDebezium};
    return *MakeNdjsonParser(config);
  };
  files_.Put("/l/a.log",
             "null\n{\"ts_ms\":1}\n{\"op\":\"c\",\"after\":{\"id\":1}}\n7\n");
  files_.Put("/l/b.log", "{\"schema\":null,\"payload\":null}\n");
  Open();
  EXPECT_THAT(Read(), ElementsAre("{\"id\":1}"));
  EXPECT_THAT(ErrorTags(), ElementsAre("text_envelope_err"));
  ASSERT_NE(consumer_->custom_metrics(), nullptr);
  EXPECT_THAT(consumer_->custom_metrics()->Metrics(),
              Contains(testing::AllOf(
                  testing::Field(&ConnectorMetrics::Sample::name,
                                 "documents_passed_total"),
                  testing::Field(&ConnectorMetrics::Sample::value, 3.0))));
}

}  // namespace
}  // namespace penstock::core
