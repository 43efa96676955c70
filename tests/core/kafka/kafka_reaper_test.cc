#include "core/kafka/kafka_reaper.h"

#include "core/base/notification.h"
#include "core/kafka/kafka_handles.h"
#include "tests/support/kafka_client.h"
#include "tests/support/kafka_mock.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

namespace penstock::core {
namespace {

rd_kafka_t* MakeClient(const std::string& bootstrap) {
  rd_kafka_conf_t* const conf = rd_kafka_conf_new();
  for (const auto& [name, value] :
       {std::pair("bootstrap.servers", bootstrap.c_str()),
        std::pair("group.id", "test")}) {
    rd_kafka_conf_set(conf, name, value, nullptr, 0);
  }
  return rd_kafka_new(RD_KAFKA_CONSUMER, conf, nullptr, 0);
}

// Tells when it goes.
struct Kept {
  explicit Kept(Notification& told) : gone(told) {}
  ~Kept() { gone.Notify(); }
  Notification& gone;
};

TEST(KafkaReaperTest, EndsAClient) {
  KafkaReaper reaper(absl::Minutes(1));
  Notification gone;
  EXPECT_TRUE(
      reaper.End(MakeClient("127.0.0.1:1"), std::make_shared<Kept>(gone)));
  EXPECT_TRUE(gone.HasBeenNotified());
  EXPECT_EQ(reaper.Stuck(), 0u);
}

// A message that is not given back keeps its partition, and that its broker's
// thread.
TEST(KafkaReaperTest, NobodyWaitsForAClientThatDoesNotEnd) {
  KafkaMock mock;
  mock.CreateTopic("topic", 1);
  WriteKafka(mock.bootstrap(), "topic", {{.value = "a"}});
  rd_kafka_t* const client = MakeClient(mock.bootstrap());
  KafkaPartitionsHandle all(rd_kafka_topic_partition_list_new(1));
  rd_kafka_topic_partition_list_add(all.get(), "topic", 0)->offset = 0;
  ASSERT_EQ(rd_kafka_assign(client, all.get()), RD_KAFKA_RESP_ERR_NO_ERROR);
  rd_kafka_message_t* message = nullptr;
  while (message == nullptr) message = rd_kafka_consumer_poll(client, 100);
  ASSERT_EQ(message->err, RD_KAFKA_RESP_ERR_NO_ERROR);
  all.reset();

  KafkaReaper reaper(absl::Milliseconds(10));
  Notification gone;
  EXPECT_FALSE(reaper.End(client, std::make_shared<Kept>(gone)));
  EXPECT_EQ(reaper.Stuck(), 1u);
  EXPECT_FALSE(gone.HasBeenNotified());
  rd_kafka_message_destroy(message);
  gone.WaitForNotification();
  // Its thread is about to say so.
  while (reaper.Stuck() > 0) {
  }
}

}  // namespace
}  // namespace penstock::core
