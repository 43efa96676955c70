// How large a batch a topic takes.
#pragma once

#include "core/base/clock.h"

#include <absl/time/time.h>
#include <librdkafka/rdkafka.h>

#include <cstdint>
#include <optional>
#include <string>

namespace penstock::core {

// The topic's max.message.bytes, which is about what is sent together, as it is
// compressed; nullopt: it cannot be asked, as without the right to
// DESCRIBE_CONFIGS. Blocks: until the deadline, at most for three seconds.
std::optional<uint64_t> AskKafkaTopicLimit(rd_kafka_t* client,
                                           const std::string& topic,
                                           const Clock& clock,
                                           absl::Time deadline);

}  // namespace penstock::core
