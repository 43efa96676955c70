// Each kind of error that Kafka knows, made by mock brokers.
#include "core/kafka/kafka_producer.h"

#include "core/base/clock.h"
#include "core/base/error.h"
#include "tests/support/kafka_client.h"
#include "tests/support/kafka_mock.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

using testing::Not;

absl::Time In(absl::Duration time) { return RealClock().SteadyNow() + time; }
absl::Time Soon() { return In(absl::Seconds(20)); }

class KafkaProducerTest : public testing::Test {
 protected:
  KafkaProducerTest() { mock_.CreateTopic("t", 1); }

  std::unique_ptr<KafkaProducer> Make(
      std::map<std::string, std::string> options = {}) {
    options["bootstrap.servers"] = mock_.bootstrap();
    options.insert({"enable.idempotence", "true"});
    KafkaConf conf{.conf = KafkaConfHandle(rd_kafka_conf_new()), .secrets = {}};
    for (const auto& [name, value] : options) EXPECT_OK(conf.Set(name, value));
    auto made = KafkaProducer::Create(std::move(conf), "t", RealClock());
    EXPECT_OK(made);
    return *std::move(made);
  }
  std::unique_ptr<KafkaProducer> MakeTransactional() {
    auto producer = Make({{"transactional.id", "tx"}});
    EXPECT_OK(producer->Init(Soon()));
    return producer;
  }
  static absl::Status Produce(KafkaProducer& producer,
                              const std::string& value) {
    return producer.Produce({.value = value, .partition = 0},
                            [] { return Soon(); });
  }
  std::vector<std::string> Values() {
    std::vector<std::string> values;
    for (const KafkaRecord& record : ReadKafka(mock_.bootstrap(), "t")) {
      values.push_back(*record.value);
    }
    return values;
  }

  KafkaMock mock_;
};

TEST_F(KafkaProducerTest, RetriableErrorIsRetriedByTheLibrary) {
  const auto producer = Make();
  mock_.FailNext(KafkaRequest::kProduce,
                 RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION);
  ASSERT_OK(Produce(*producer, "a"));
  ASSERT_OK(producer->Flush(Soon()));
  EXPECT_THAT(Values(), testing::ElementsAre("a"));
  EXPECT_EQ(producer->queued_bytes(), 0u);
}

TEST_F(KafkaProducerTest, RefusedMessageIsNamed) {
  const auto producer = Make({{"linger.ms", "0"}});
  ASSERT_OK(Produce(*producer, "a"));
  ASSERT_OK(producer->Flush(Soon()));
  mock_.FailNext(KafkaRequest::kProduce, RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE);
  ASSERT_OK(Produce(*producer, "b"));
  EXPECT_THAT(producer->Flush(Soon()), HasReason(Reason::ROW_REFUSED));
  EXPECT_EQ(producer->failed_message(), 1u);
  EXPECT_THAT(Produce(*producer, "c"), Not(IsOk())) << "until it is forgotten";
}

TEST_F(KafkaProducerTest, MessageAboveTheClientsLimitIsRefusedAtOnce) {
  const auto producer = Make({{"message.max.bytes", "1000"}});
  ASSERT_OK(Produce(*producer, "a"));
  EXPECT_THAT(Produce(*producer, std::string(1001, 'x')),
              HasReason(Reason::ROW_REFUSED));
  EXPECT_EQ(producer->failed_message(), 1u);
}

TEST_F(KafkaProducerTest, NoBrokerIsTheEndOfAWaitAtItsDeadline) {
  const auto producer = Make();
  mock_.SetDown();
  ASSERT_OK(Produce(*producer, "a"));
  EXPECT_GT(producer->queued_bytes(), 0u);
  EXPECT_THAT(producer->Flush(In(absl::Milliseconds(200))),
              HasReason(Reason::DEADLINE));
  mock_.SetUp();
  EXPECT_OK(producer->Flush(Soon()));
}

TEST_F(KafkaProducerTest, FullQueueWaitsForRoomOrTheDeadline) {
  const auto producer = Make({{"queue.buffering.max.messages", "2"}});
  mock_.SetDown();
  ASSERT_OK(Produce(*producer, "a"));
  ASSERT_OK(Produce(*producer, "b"));
  const absl::Time end = In(absl::Milliseconds(200));
  EXPECT_THAT(
      producer->Produce({.value = "c", .partition = 0}, [&] { return end; }),
      HasReason(Reason::DEADLINE));
  mock_.SetUp();
  producer->ForgetFailures();
  ASSERT_OK(Produce(*producer, "c"));
  ASSERT_OK(producer->Flush(Soon()));
  EXPECT_THAT(Values(), testing::ElementsAre("a", "b", "c"));
}

TEST_F(KafkaProducerTest, TakingOverIsRetriedWhileTheCoordinatorIsNotReady) {
  mock_.FailNext(KafkaRequest::kInitProducerId,
                 RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS);
  EXPECT_OK(Make({{"transactional.id", "tx"}})->Init(Soon()));
}

TEST_F(KafkaProducerTest, AbortableErrorIsOverWithTheTransaction) {
  const auto producer = MakeTransactional();
  ASSERT_OK(producer->Begin());
  mock_.FailNext(KafkaRequest::kTxnOffsetCommit,
                 RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED);
  const absl::Status met = producer->SendOffset("g", 1, "", Soon());
  EXPECT_THAT(met, HasReason(Reason::PERMISSION_DENIED));
  EXPECT_TRUE(IsKafkaAbortable(met));
  EXPECT_FALSE(producer->IsBroken());
  ASSERT_OK(producer->Abort(Soon()));
  ASSERT_OK(producer->Begin());
  EXPECT_OK(producer->SendOffset("g", 1, "", Soon()));
  EXPECT_OK(producer->Commit(Soon()));
}

TEST_F(KafkaProducerTest, FencedProducerIsBroken) {
  const auto producer = MakeTransactional();
  ASSERT_OK(producer->Begin());
  ASSERT_OK(producer->SendOffset("g", 1, "", Soon()));
  mock_.FailNext(KafkaRequest::kEndTxn, RD_KAFKA_RESP_ERR_PRODUCER_FENCED);
  EXPECT_THAT(producer->Commit(Soon()), HasReason(Reason::WRITER_FENCED));
  EXPECT_TRUE(producer->IsBroken());
}

TEST_F(KafkaProducerTest, CommitThatIsNotAnsweredEndsAtItsDeadline) {
  const auto producer = MakeTransactional();
  ASSERT_OK(producer->Begin());
  ASSERT_OK(producer->SendOffset("g", 1, "", Soon()));
  mock_.SetDown();
  const absl::Status met = producer->Commit(In(absl::Milliseconds(300)));
  EXPECT_THAT(met, HasReason(Reason::DEADLINE));
  EXPECT_FALSE(IsKafkaAbortable(met));
}

TEST_F(KafkaProducerTest, PartitionsOfATopicAreCounted) {
  KafkaConf conf{.conf = KafkaConfHandle(rd_kafka_conf_new()), .secrets = {}};
  ASSERT_OK(conf.Set("bootstrap.servers", mock_.bootstrap()));
  auto made = KafkaProducer::Create(std::move(conf), "t", RealClock());
  ASSERT_OK(made);
  EXPECT_THAT((*made)->PartitionCount(Soon()), IsOkAndHolds(1));
}

}  // namespace
}  // namespace penstock::core
