// The messages of a .proto file, as whoever wrote a record had them.
// Source: Protocol Buffers, "Language Guide (proto3)" and "Encoding".
#pragma once

#include "core/format/schemas/schema_source.h"

#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {

enum class ProtobufType : uint8_t {
  kDouble,
  kFloat,
  kInt32,
  kInt64,
  kUint32,
  kUint64,
  kSint32,
  kSint64,
  kFixed32,
  kFixed64,
  kSfixed32,
  kSfixed64,
  kBool,
  kEnum,
  kString,
  kBytes,
  kMessage,
  kGroup,
};

enum class ProtobufShape : uint8_t { kSingular, kRepeated, kMap };

// Messages of google.protobuf that stand for another kind of value.
enum class ProtobufWellKnown : uint8_t {
  kNone,
  kTimestamp,
  kDuration,
  // DoubleValue, StringValue and the like: its one field.
  kWrapper,
  kStruct,
  kValue,
  kListValue,
};

struct ProtobufField {
  static constexpr uint32_t kNone = UINT32_MAX;

  uint32_t number = 0;
  std::string name = {};
  ProtobufType type = ProtobufType::kInt32;
  ProtobufShape shape = ProtobufShape::kSingular;
  // Unset is not the same as its default.
  bool has_presence = false;
  bool is_required = false;
  // Of a string: the bytes must be UTF-8 (proto3).
  bool is_utf8 = false;
  // Which of the message's oneofs it is in.
  uint32_t oneof = kNone;
  // Number of its message, of a map that of the entry (key 1, value 2); or of
  // its enum.
  uint32_t of = kNone;
};

struct ProtobufMessage {
  // With its package.
  std::string name = {};
  ProtobufWellKnown well_known = ProtobufWellKnown::kNone;
  uint32_t oneofs = 0;
  bool has_required = false;
  // By rising numbers.
  std::vector<ProtobufField> fields = {};
  // Numbers of the messages declared in it, in that order.
  std::vector<uint32_t> nested = {};

  // Which of `fields` has that number; kNone: none.
  uint32_t Find(uint32_t number) const;
};

struct ProtobufEnum {
  // Other numbers than its own are as good as unset (proto2).
  bool is_closed = false;
  // google.protobuf.NullValue.
  bool is_null = false;
  // By rising numbers, the first name of each.
  std::vector<std::pair<int32_t, std::string>> values = {};

  // Null: it has no such number.
  const std::string* Find(int32_t number) const;
};

// Constant. Messages refer to each other by their numbers.
class ProtobufSchema final : public WriterSchema {
 public:
  // `roots`: the messages declared at the top of the file, in that order.
  // Requires: every number that is named is there.
  ProtobufSchema(std::vector<ProtobufMessage> messages,
                 std::vector<ProtobufEnum> enums, std::vector<uint32_t> roots)
      : messages_(std::move(messages)),
        enums_(std::move(enums)),
        roots_(std::move(roots)) {}

  const ProtobufMessage& message(uint32_t number) const {
    return messages_[number];
  }
  const ProtobufEnum& enumeration(uint32_t number) const {
    return enums_[number];
  }
  // The message at a path: which of the file's messages, then which of those
  // declared in it, and so on. nullopt: there is none.
  std::optional<uint32_t> FindByPath(std::span<const uint32_t> path) const;
  // By its name with its package.
  std::optional<uint32_t> FindByName(absl::string_view name) const;
  size_t MemoryBytes() const override;

 private:
  const std::vector<ProtobufMessage> messages_;
  const std::vector<ProtobufEnum> enums_;
  const std::vector<uint32_t> roots_;
};

// What makes schemas; core knows no library of Protobuf.
struct ProtobufCompiler {
  // Reads ProtobufSchemas of .proto files and what they import.
  SchemaLanguage language;
  // Of a serialized google.protobuf.FileDescriptorSet. Errors: INVALID_CONFIG.
  std::function<absl::StatusOr<std::shared_ptr<const ProtobufSchema>>(
      absl::string_view)>
      read_descriptor_set;
};

}  // namespace penstock::core
