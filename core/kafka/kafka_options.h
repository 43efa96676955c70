// Options of librdkafka: passed through, checked before use, their secrets
// kept.
#pragma once

#include "core/base/filesystem.h"
#include "core/base/path_policy.h"
#include "core/kafka/kafka_handles.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <map>
#include <span>
#include <string>
#include <vector>

namespace penstock::core {

// By librdkafka's names ("bootstrap.servers", "sasl.mechanism"); values may be
// references to secrets, `${env:NAME}` and `${file:/path}`, also in part.
// Source: librdkafka's CONFIGURATION.md.
using KafkaOptions = std::map<std::string, std::string>;

// Whether the option's value is one: a password, a key, a token.
bool IsKafkaSecret(absl::string_view name);

// Whether a topic can have that name.
// Source: Apache Kafka, org.apache.kafka.common.internals.Topic.
bool IsKafkaTopicName(absl::string_view name);

// Looks at names and values without a connection.
// `reserved`: options that the connector sets itself.
// Errors: INVALID_CONFIG, metadata "field" is "options.NAME": an option that
// librdkafka does not know, a value that it refuses, a reserved one, one that
// would run code or programs on the worker or take away what a client tells us,
// or a secret in plain text, where it would be stored and shown. A secret's
// value is never quoted (INV-10).
absl::Status CheckKafkaOptions(const KafkaOptions& options,
                               std::span<const absl::string_view> reserved);

// Options as a client takes them. Move-only.
struct KafkaConf {
  KafkaConfHandle conf;
  // What references stood for: to be blotted out of logs and errors.
  std::vector<std::string> secrets;

  // Errors: INVALID_CONFIG, naming the option.
  absl::Status Set(absl::string_view name, const std::string& value);
};

// `defaults` first, then `options` with their references resolved, which win.
// Errors: as CheckKafkaOptions without `reserved`, and ResolveSecretPart;
// PATH_NOT_ALLOWED for an option that names a file outside of the roots.
absl::StatusOr<KafkaConf> ResolveKafkaOptions(const KafkaOptions& options,
                                              const KafkaOptions& defaults,
                                              FileSystem& files,
                                              const PathPolicy& paths);

}  // namespace penstock::core
