#include "core/kafka/kafka_client.h"

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/filesystem.h"
#include "core/base/mutex.h"
#include "core/base/path_policy.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

absl::StatusOr<std::unique_ptr<KafkaClient>> Create(const KafkaOptions& options,
                                                    KafkaObserver& observer) {
  FakeFileSystem files;
  EXPECT_OK(WriteFileDurably(files, "/password", "hush"));
  absl::StatusOr<KafkaConf> conf =
      ResolveKafkaOptions(options, {}, files, PathPolicy({}));
  if (!conf.ok()) return conf.status();
  return KafkaClient::Create(RD_KAFKA_CONSUMER, *std::move(conf), observer,
                             RealClock());
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

}  // namespace
}  // namespace penstock::core
