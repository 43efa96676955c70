// A schema of Avro, as whoever wrote a datum had it.
// Source: Apache Avro specification 1.11, "Schema Declaration".
#pragma once

#include "core/format/schemas/schema_source.h"

#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace penstock::core {

// Deepest nesting of schemas, and of values.
inline constexpr size_t kAvroDepthMax = 64;

enum class AvroType : uint8_t {
  kNull,
  kBoolean,
  kInt,
  kLong,
  kFloat,
  kDouble,
  kBytes,
  kString,
  kFixed,
  kEnum,
  kArray,
  kMap,
  kUnion,
  kRecord,
};

// What a value means beyond its type: logical types, and the names by which
// Debezium says the same. One that its type cannot have is none.
enum class AvroLogical : uint8_t {
  kNone,
  kDate,
  kTimeMillis,
  kTimeMicros,
  kTimeNanos,
  // Moments.
  kTimestampMillis,
  kTimestampMicros,
  kTimestampNanos,
  // Without a zone.
  kLocalMillis,
  kLocalMicros,
  kLocalNanos,
  kDecimal,
  kUuid,
};

struct AvroNode {
  AvroType type = AvroType::kNull;
  AvroLogical logical = AvroLogical::kNone;
  // Bytes of a fixed.
  uint32_t size = 0;
  // Of a decimal.
  uint32_t scale = 0;
  // Numbers of nodes. record: its fields; union: its branches; array, map: what
  // is in it.
  std::vector<uint32_t> children = {};
  // record: its fields; enum: its symbols.
  std::vector<std::string> names = {};
};

// Constant. Types that refer to themselves do so by the numbers of their nodes.
class AvroSchema final : public WriterSchema {
 public:
  // Longest text, and most nodes.
  static constexpr size_t kTextBytesMax = kSchemaTextBytesMax;
  static constexpr size_t kNodesMax = 10'000;

  // `references`: schemas whose types it, or a later one of them, names.
  // Errors: INVALID_CONFIG: `json` is no schema, or with them beyond these
  // bounds.
  static absl::StatusOr<AvroSchema> Parse(
      absl::string_view json, std::span<const ReferredSchema> references = {});

  const AvroNode& root() const { return nodes_[root_]; }
  const AvroNode& node(uint32_t number) const { return nodes_[number]; }
  size_t MemoryBytes() const override;

 private:
  AvroSchema(std::vector<AvroNode> nodes, uint32_t root)
      : nodes_(std::move(nodes)), root_(root) {}

  std::vector<AvroNode> nodes_;
  uint32_t root_ = 0;
};

// Reads AvroSchemas.
SchemaLanguage AvroLanguage();

}  // namespace penstock::core
