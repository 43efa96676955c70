#include "core/kafka/kafka_reaper.h"

#include "core/base/notification.h"
#include "core/kafka/kafka_handles.h"
#include "tests/support/kafka_client.h"
#include "tests/support/kafka_mock.h"
#include "tests/support/status_matchers.h"

#include <absl/time/clock.h>
#include <gtest/gtest.h>

#include <pthread.h>
#include <memory>
#include <string>
#include <utility>

namespace penstock::core {
namespace {

constexpr absl::Duration kPatience = absl::Minutes(1);

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

bool End(KafkaReaper& reaper, rd_kafka_t* client, Notification& gone) {
  return reaper.Wait(reaper.Begin(
      {.handle = client, .kept = std::make_shared<Kept>(gone), .first = {}}));
}

// Whoever holds one back gets no further thread, until it is gone.
class NoThreads {
 public:
  NoThreads() {
    pthread_getattr_default_np(&before_);
    pthread_attr_t wanted;
    pthread_attr_init(&wanted);
    // There is no room for that anywhere.
    pthread_attr_setstacksize(&wanted, size_t{1} << 50);
    pthread_setattr_default_np(&wanted);
    pthread_attr_destroy(&wanted);
  }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;
  ~NoThreads() {
    pthread_setattr_default_np(&before_);
    pthread_attr_destroy(&before_);
  }

 private:
  pthread_attr_t before_;
};

TEST(KafkaReaperTest, EndsAClient) {
  KafkaReaper reaper(absl::Minutes(1), absl::ZeroDuration());
  Notification gone;
  EXPECT_TRUE(End(reaper, MakeClient("127.0.0.1:1"), gone));
  EXPECT_TRUE(gone.HasBeenNotified());
  EXPECT_EQ(reaper.Left(), 0u);
}

TEST(KafkaReaperTest, WhereNoThreadCanBeMadeItIsEndedAllTheSame) {
  rd_kafka_t* const client = MakeClient("127.0.0.1:1");
  KafkaReaper reaper(absl::Minutes(1), absl::ZeroDuration());
  Notification gone;
  const NoThreads none;
  EXPECT_TRUE(End(reaper, client, gone));
  EXPECT_TRUE(gone.HasBeenNotified());
}

// None of them ends unless all of them are ending.
TEST(KafkaReaperTest, SeveralEndAtTheSameTime) {
  Notification first;
  Notification second;
  KafkaReaper reaper(absl::Minutes(1), absl::ZeroDuration());
  const auto meet = [](Notification& mine, Notification& theirs) {
    return [&mine, &theirs] {
      mine.Notify();
      EXPECT_TRUE(theirs.WaitForNotificationWithTimeout(kPatience));
    };
  };
  auto one = reaper.Begin({.handle = MakeClient("127.0.0.1:1"),
                           .kept = {},
                           .first = meet(first, second)});
  auto other = reaper.Begin({.handle = MakeClient("127.0.0.1:1"),
                             .kept = {},
                             .first = meet(second, first)});
  EXPECT_TRUE(reaper.Wait(std::move(one)));
  EXPECT_TRUE(reaper.Wait(std::move(other)));
}

// A message that is not given back keeps its partition, and that its broker's
// thread.
TEST(KafkaReaperTest, NobodyWaitsForAClientThatDoesNotEnd) {
  const absl::Time give_up = absl::Now() + kPatience;
  KafkaMock mock;
  mock.CreateTopic("topic", 1);
  WriteKafka(mock.bootstrap(), "topic", {{.value = "a"}});
  rd_kafka_t* const client = MakeClient(mock.bootstrap());
  KafkaPartitionsHandle all(rd_kafka_topic_partition_list_new(1));
  rd_kafka_topic_partition_list_add(all.get(), "topic", 0)->offset = 0;
  ASSERT_EQ(rd_kafka_assign(client, all.get()), RD_KAFKA_RESP_ERR_NO_ERROR);
  rd_kafka_message_t* message = nullptr;
  while (message == nullptr && absl::Now() < give_up) {
    message = rd_kafka_consumer_poll(client, 100);
  }
  ASSERT_NE(message, nullptr);
  ASSERT_EQ(message->err, RD_KAFKA_RESP_ERR_NO_ERROR);
  all.reset();

  Notification gone;
  KafkaReaper reaper(absl::Milliseconds(10), absl::Minutes(1));
  EXPECT_FALSE(End(reaper, client, gone));
  EXPECT_EQ(reaper.Left(), 1u);
  EXPECT_EQ(reaper.Stuck(), 0u);
  EXPECT_FALSE(gone.HasBeenNotified());
  rd_kafka_message_destroy(message);
  ASSERT_TRUE(gone.WaitForNotificationWithTimeout(kPatience));
  // Its thread is about to say so.
  while (reaper.Left() > 0 && absl::Now() < give_up) {
  }
  EXPECT_EQ(reaper.Left(), 0u);
}

// As many clients that are slow to end as make a number of stuck ones.
TEST(KafkaReaperTest, OnlyWhatHasHadItsTimeCountsAsStuck) {
  for (const bool is_late : {false, true}) {
    Notification go_on;
    KafkaReaper reaper(absl::ZeroDuration(),
                       is_late ? absl::ZeroDuration() : absl::Hours(1));
    for (size_t i = 0; i < KafkaReaper::kStuckMax; ++i) {
      EXPECT_OK(reaper.CheckRoom());
      EXPECT_FALSE(reaper.Wait(reaper.Begin(
          {.handle = MakeClient("127.0.0.1:1"), .kept = {}, .first = [&] {
             EXPECT_TRUE(go_on.WaitForNotificationWithTimeout(kPatience));
           }})));
    }
    EXPECT_EQ(reaper.Left(), KafkaReaper::kStuckMax);
    if (is_late) {
      EXPECT_THAT(reaper.CheckRoom(), HasReason(Reason::UNAVAILABLE));
    } else {
      EXPECT_OK(reaper.CheckRoom());
    }
    go_on.Notify();
  }
}

}  // namespace
}  // namespace penstock::core
