// What Kafka's errors mean to us: one table by librdkafka's codes.
#pragma once

#include "core/base/error.h"

#include <absl/status/status.h>
#include <absl/strings/string_view.h>
#include <librdkafka/rdkafka.h>

#include <optional>
#include <string>

namespace penstock::core {

// Retryable are UNAVAILABLE and DEADLINE; about a row is ROW_REFUSED; a newer
// producer of the same transactional id is WRITER_FENCED; an offset that is not
// there is POSITION_EXPIRED; all else is fatal.
// Source: librdkafka 2.0.2, rdkafka.h; https://kafka.apache.org/protocol.html
Reason ReasonOfKafkaError(rd_kafka_resp_err_t code);

// Whether to try again: of UNAVAILABLE and DEADLINE.
bool IsKafkaRetryable(rd_kafka_resp_err_t code);

// "kafka: <doing>: <librdkafka's words, or `text` if there is one> (NAME)".
// Metadata: "kafka_error", the code's name.
// Requires: `code` is not NO_ERROR.
absl::Status MakeKafkaError(rd_kafka_resp_err_t code, absl::string_view doing,
                            absl::string_view text = {});
// The same of an error object, whose own flags win over the table: one that
// may be tried again is UNAVAILABLE; "abortable" in the metadata says "true"
// where the transaction must be aborted first. OK for null.
absl::Status MakeKafkaError(const rd_kafka_error_t* error,
                            absl::string_view doing);

// The code of an error that MakeKafkaError made, by its name, "_TRANSPORT" or
// "NOT_LEADER_FOR_PARTITION"; nullopt: another error.
std::optional<std::string> KafkaErrorOf(const absl::Status& error);

}  // namespace penstock::core
