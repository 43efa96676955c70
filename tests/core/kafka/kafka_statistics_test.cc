#include "core/kafka/kafka_statistics.h"

#include "core/base/error.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock::core {
namespace {

constexpr absl::string_view kText = R"({
  "name": "x", "msg_size": 100,
  "brokers": {
    "a:1/bootstrap": {"name": "a:1/bootstrap", "nodeid": -1,
                      "source": "configured", "state": "UP"},
    "a:1/1": {"name": "a:1/1", "nodeid": 1,
              "source": "learned", "state": "TRY_CONNECT"},
    "GroupCoordinator": {"name": "GroupCoordinator", "nodeid": -1,
                         "source": "logical", "state": "INIT"}},
  "topics": {"t": {"topic": "t", "partitions": {
    "0": {"partition": 0, "fetchq_size": 5000, "ls_offset": 7,
          "hi_offset": 9, "lo_offset": 2, "consumer_lag": 3},
    "1": {"partition": 1, "fetchq_size": 5000, "ls_offset": -1001,
          "hi_offset": 4, "lo_offset": 0, "consumer_lag": -1},
    "-1": {"partition": -1}}}}})";

TEST(KafkaStatisticsTest, QueueOfAConsumerIsCountedOnce) {
  ASSERT_OK_AND_ASSIGN(const KafkaStatistics statistics,
                       ParseKafkaStatistics(kText));
  EXPECT_EQ(statistics.memory_bytes, 5100u);
}

TEST(KafkaStatisticsTest, BrokersThatAreHostsAreListed) {
  ASSERT_OK_AND_ASSIGN(const KafkaStatistics statistics,
                       ParseKafkaStatistics(kText));
  EXPECT_EQ(statistics.brokers.size(), 2u);
  EXPECT_TRUE(statistics.IsAnyUp());
  EXPECT_EQ(statistics.DownBrokers(), "a:1/1");
}

TEST(KafkaStatisticsTest, PartitionsHaveTheirMarks) {
  ASSERT_OK_AND_ASSIGN(const KafkaStatistics statistics,
                       ParseKafkaStatistics(kText));
  ASSERT_EQ(statistics.partitions.size(), 2u);
  const KafkaStatistics::Partition& first = statistics.partitions[0];
  EXPECT_EQ(first.topic, "t");
  EXPECT_EQ(first.end_offset, 7);
  EXPECT_EQ(first.lag, 3);
  EXPECT_EQ(statistics.partitions[1].end_offset, 4);
}

TEST(KafkaStatisticsTest, OtherTextIsAnError) {
  EXPECT_THAT(ParseKafkaStatistics("[1"), HasReason(Reason::INTERNAL));
}

}  // namespace
}  // namespace penstock::core
