// What is around the rows of a format's records.
#pragma once

#include <absl/strings/string_view.h>

#include <cstdint>
#include <string>

namespace penstock::core {

enum class EnvelopeKind : uint8_t {
  // Nothing: the record is the row.
  kRaw,
  // {"insert": row} or {"delete": row}.
  kInsertDelete,
  // Debezium's, with or without its schema around it.
  kDebezium,
};

struct EnvelopeConfig {
  EnvelopeKind kind = EnvelopeKind::kRaw;
  // Columns that are filled from the envelope, by their names; empty: none is.
  // `op` varchar; `timestamp` timestamptz, timestamp or bigint; `source` and
  // `before` variant. All but `op` are of Debezium's envelope only.
  std::string op = {};
  std::string timestamp = {};
  std::string source = {};
  std::string before = {};
  // What stands for a value that Debezium was not told. Source: its property
  // `unavailable.value.placeholder`, whose default this is.
  std::string unavailable_value = std::string(kUnavailableByDefault);

  static constexpr absl::string_view kUnavailableByDefault =
      "__debezium_unavailable_value";

  bool HasColumns() const {
    return !op.empty() || !timestamp.empty() || !source.empty() ||
           !before.empty();
  }
};

}  // namespace penstock::core
