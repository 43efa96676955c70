#include "tests/support/kafka_mock.h"

#include "core/base/check.h"

#include <array>

namespace penstock::core {

KafkaMock::KafkaMock(int brokers) {
  std::array<char, 512> error = {};
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  CHECK_EQ(
      rd_kafka_conf_set(conf, "log_level", "2", error.data(), error.size()),
      RD_KAFKA_CONF_OK);
  client_.reset(
      rd_kafka_new(RD_KAFKA_PRODUCER, conf, error.data(), error.size()));
  CHECK(client_ != nullptr) << error.data();
  cluster_ = rd_kafka_mock_cluster_new(client_.get(), brokers);
  CHECK(cluster_ != nullptr) << "no mock cluster";
  bootstrap_ = rd_kafka_mock_cluster_bootstraps(cluster_);
}

KafkaMock::~KafkaMock() { rd_kafka_mock_cluster_destroy(cluster_); }

void KafkaMock::CreateTopic(const std::string& topic, int partitions) {
  CHECK_EQ(rd_kafka_mock_topic_create(cluster_, topic.c_str(), partitions, 1),
           RD_KAFKA_RESP_ERR_NO_ERROR);
}

void KafkaMock::Forget(const std::string& topic) {
  rd_kafka_mock_topic_set_error(cluster_, topic.c_str(),
                                RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
}

void KafkaMock::FailNext(KafkaRequest request,
                         std::span<const rd_kafka_resp_err_t> errors) {
  rd_kafka_mock_push_request_errors_array(
      cluster_, static_cast<int16_t>(request), errors.size(), errors.data());
}

void KafkaMock::DelayNext(int broker, KafkaRequest request,
                          absl::Duration delay) {
  CHECK_EQ(rd_kafka_mock_broker_push_request_error_rtts(
               cluster_, broker, static_cast<int16_t>(request), 1,
               RD_KAFKA_RESP_ERR_NO_ERROR,
               static_cast<int>(absl::ToInt64Milliseconds(delay))),
           RD_KAFKA_RESP_ERR_NO_ERROR);
}

void KafkaMock::SetRoundTrip(absl::Duration time) {
  CHECK_EQ(rd_kafka_mock_broker_set_rtt(
               cluster_, -1, static_cast<int>(absl::ToInt64Milliseconds(time))),
           RD_KAFKA_RESP_ERR_NO_ERROR);
}

void KafkaMock::SetDown() {
  CHECK_EQ(rd_kafka_mock_broker_set_down(cluster_, -1),
           RD_KAFKA_RESP_ERR_NO_ERROR);
}

void KafkaMock::SetUp() {
  CHECK_EQ(rd_kafka_mock_broker_set_up(cluster_, -1),
           RD_KAFKA_RESP_ERR_NO_ERROR);
}

}  // namespace penstock::core
