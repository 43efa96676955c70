#include "core/kafka/kafka_client.h"

#include "core/base/error.h"
#include "core/base/filesystem.h"
#include "core/base/log.h"
#include "core/base/notification.h"
#include "core/base/path_policy.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>

namespace penstock::core {
namespace {

// Remembers what it was told of.
class RecordingObserver final : public KafkaObserver {
 public:
  void OnError(rd_kafka_resp_err_t code, absl::string_view text) override {
    code_ = code;
    text_ = std::string(text);
  }
  void OnStatistics(const KafkaStatistics& /*statistics*/) override {
    ++statistics_;
  }

  rd_kafka_resp_err_t code_ = RD_KAFKA_RESP_ERR_NO_ERROR;
  std::string text_;
  int statistics_ = 0;
};

absl::StatusOr<std::unique_ptr<KafkaClient>> Create(
    const KafkaOptions& options, KafkaObserver& observer,
    KafkaReaper& reaper = KafkaReaper::Shared()) {
  FakeFileSystem files;
  EXPECT_OK(WriteFileDurably(files, "/password", "hush"));
  absl::StatusOr<KafkaConf> conf =
      ResolveKafkaOptions(options, {}, files, PathPolicy({}));
  if (!conf.ok()) return conf.status();
  return KafkaClient::Create(RD_KAFKA_CONSUMER, *std::move(conf), observer,
                             reaper);
}

TEST(KafkaClientTest, TellsThatNoBrokerIsThere) {
  RecordingObserver observer;
  // A port that nobody listens on: reserved for TCP's multiplexer.
  ASSERT_OK_AND_ASSIGN(
      const std::unique_ptr<KafkaClient> client,
      Create({{"bootstrap.servers", "127.0.0.1:1"}}, observer));
  while (observer.code_ == RD_KAFKA_RESP_ERR_NO_ERROR) {
    rd_kafka_poll(client->handle(), 100);
  }
  EXPECT_THAT(observer.code_,
              testing::AnyOf(RD_KAFKA_RESP_ERR__TRANSPORT,
                             RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN));
  EXPECT_FALSE(observer.text_.empty());
}

TEST(KafkaClientTest, TellsItsStatistics) {
  RecordingObserver observer;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<KafkaClient> client,
                       Create({{"statistics.interval.ms", "10"}}, observer));
  while (observer.statistics_ == 0) rd_kafka_poll(client->handle(), 100);
}

TEST(KafkaClientTest, OptionsThatContradictAreRefused) {
  RecordingObserver observer;
  EXPECT_THAT(Create({{"session.timeout.ms", "10000"},
                      {"max.poll.interval.ms", "5000"}},
                     observer),
              HasReason(Reason::INVALID_CONFIG));
}

TEST(KafkaClientTest, BlotsOutSecrets) {
  RecordingObserver observer;
  ASSERT_OK_AND_ASSIGN(
      const std::unique_ptr<KafkaClient> client,
      Create({{"sasl.password", "${file:/password}"}}, observer));
  EXPECT_EQ(client->Redact("say hush now"), "say *** now");
}

// Its first line takes as long as a full pipe may.
class HeldLogSink final : public LogSink {
 public:
  void Send(const LogEntry& /*entry*/) override {
    if (is_held_.exchange(true)) return;
    held_.Notify();
    EXPECT_TRUE(go_on_.WaitForNotificationWithTimeout(absl::Minutes(1)));
  }

  std::atomic<bool> is_held_ = false;
  Notification held_;
  Notification go_on_;
};

TEST(KafkaClientTest, NobodyWaitsForALineOfALog) {
  const auto sink = std::make_shared<HeldLogSink>();
  KafkaReaper reaper(absl::Milliseconds(10), absl::Minutes(1));
  const ScopedLogSink scoped(sink);
  RecordingObserver observer;
  ASSERT_OK_AND_ASSIGN(
      std::unique_ptr<KafkaClient> client,
      Create({{"bootstrap.servers", "127.0.0.1:1"}}, observer, reaper));
  ASSERT_TRUE(sink->held_.WaitForNotificationWithTimeout(absl::Minutes(1)));
  client.reset();
  EXPECT_FALSE(sink->go_on_.HasBeenNotified());
  EXPECT_EQ(reaper.Left(), 1u);
  sink->go_on_.Notify();
}

TEST(KafkaClientTest, NoneIsMadeBesideManyThatDoNotEnd) {
  Notification go_on;
  KafkaReaper reaper(absl::ZeroDuration(), absl::ZeroDuration());
  RecordingObserver observer;
  for (size_t i = 0; i < KafkaReaper::kStuckMax; ++i) {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<KafkaClient> client,
                         Create({}, observer, reaper));
    client->BeginEnd([&] {
      EXPECT_TRUE(go_on.WaitForNotificationWithTimeout(absl::Minutes(1)));
    });
  }
  EXPECT_THAT(Create({}, observer, reaper), HasReason(Reason::UNAVAILABLE));
  go_on.Notify();
}

}  // namespace
}  // namespace penstock::core
