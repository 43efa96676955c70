#include "core/format/avro/avro_tokens.h"

#include "core/base/json_text.h"
#include "core/format/avro/avro_value.h"
#include "core/format/rows/typed_value.h"
#include "core/format/rows/whole_record.h"
#include "core/format/value_text/value_print.h"
#include "core/format/value_text/value_text.h"

#include <absl/strings/str_cat.h>

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace penstock::core {
namespace {

template <typename Real>
ValueFault AppendReal(Real real, std::string& json) {
  std::array<char, 32> digits;
  if (!std::isfinite(real)) {
    json += "null";
    return ValueFault::kNotNumber;
  }
  const std::to_chars_result end =
      std::to_chars(digits.data(), digits.data() + digits.size(), real);
  json.append(digits.data(), end.ptr);
  return ValueFault::kNone;
}

void AppendNumber(const AvroNode& node, int64_t number, std::string& json) {
  Value time;
  if (!AvroTimeValue(node.logical, number, time)) {
    absl::StrAppend(&json, number);
    return;
  }
  json += '"';
  PrintValue(time, json);
  json += '"';
}

ValueFault AppendBytes(const AvroNode& node, absl::string_view bytes,
                       std::string& json) {
  if (node.logical == AvroLogical::kDecimal &&
      PrintAvroDecimal(bytes, node.scale, json)) {
    return ValueFault::kNone;
  }
  if (node.logical == AvroLogical::kUuid && bytes.size() == 16) {
    json += '"';
    PrintValue(Value::Uuid(bytes), json);
    json += '"';
    return ValueFault::kNone;
  }
  json += "null";
  return ValueFault::kIsBinary;
}

ValueFault AppendSingle(AvroCursor& cursor, const AvroNode& node,
                        std::string& json) {
  absl::string_view bytes;
  switch (node.type) {
    case AvroType::kNull:
      json += "null";
      return ValueFault::kNone;
    case AvroType::kBoolean: {
      bool boolean = false;
      cursor.ReadBoolean(boolean);
      json += boolean ? "true" : "false";
      return ValueFault::kNone;
    }
    case AvroType::kInt:
    case AvroType::kLong: {
      int64_t number = 0;
      cursor.ReadLong(number);
      AppendNumber(node, number, json);
      return ValueFault::kNone;
    }
    case AvroType::kFloat: {
      float real = 0;
      cursor.ReadFloat(real);
      return AppendReal(real, json);
    }
    case AvroType::kDouble: {
      double real = 0;
      cursor.ReadDouble(real);
      return AppendReal(real, json);
    }
    case AvroType::kString:
      cursor.ReadBytes(bytes);
      return AppendTextJson(bytes, json);
    case AvroType::kEnum: {
      size_t symbol = 0;
      cursor.ReadSymbol(node, symbol);
      return AppendTextJson(node.names[symbol], json);
    }
    case AvroType::kBytes:
      cursor.ReadBytes(bytes);
      return AppendBytes(node, bytes, json);
    case AvroType::kFixed:
      cursor.ReadFixed(node.size, bytes);
      return AppendBytes(node, bytes, json);
    default:
      return ValueFault::kNotSingle;
  }
}

ValueFault AppendItems(AvroCursor& cursor, const AvroNode& node,
                       std::string& json) {
  const bool is_map = node.type == AvroType::kMap;
  const AvroNode& item = cursor.schema().node(node.children[0]);
  ValueFault fault = ValueFault::kNone;
  bool is_first = true;
  uint64_t count = 0;
  json += is_map ? '{' : '[';
  do {
    cursor.ReadBlock(count);
    for (uint64_t i = 0; i < count; ++i) {
      if (!std::exchange(is_first, false)) json += ',';
      if (is_map) {
        absl::string_view key;
        cursor.ReadBytes(key);
        fault = FirstFault(fault, AppendTextJson(key, json));
        json += ':';
      }
      fault = FirstFault(fault, AvroToJson(cursor, item, json));
    }
  } while (count > 0);
  json += is_map ? '}' : ']';
  return fault;
}

}  // namespace

absl::string_view AvroTypeName(const AvroNode& node) {
  switch (node.type) {
    case AvroType::kNull:
      return "null";
    case AvroType::kBoolean:
      return "a boolean";
    case AvroType::kInt:
    case AvroType::kLong:
    case AvroType::kFloat:
    case AvroType::kDouble:
      return "a number";
    case AvroType::kBytes:
    case AvroType::kFixed:
      return node.logical == AvroLogical::kDecimal ? "a decimal" : "bytes";
    case AvroType::kString:
      return "a string";
    case AvroType::kEnum:
      return "a symbol";
    case AvroType::kArray:
      return "an array";
    case AvroType::kMap:
      return "a map";
    case AvroType::kUnion:
      return "a union";
    case AvroType::kRecord:
      return "a record";
  }
  return "nothing";
}

ValueFault AvroToJson(AvroCursor& cursor, const AvroNode& of,
                      std::string& json) {
  const AvroNode* node = &of;
  cursor.ReadBranch(node);
  if (node->type == AvroType::kArray || node->type == AvroType::kMap) {
    return AppendItems(cursor, *node, json);
  }
  if (node->type != AvroType::kRecord) {
    return AppendSingle(cursor, *node, json);
  }
  ValueFault fault = ValueFault::kNone;
  json += '{';
  for (size_t i = 0; i < node->children.size(); ++i) {
    if (i > 0) json += ',';
    fault = FirstFault(fault, AppendTextJson(node->names[i], json));
    json += ':';
    fault = FirstFault(
        fault,
        AvroToJson(cursor, cursor.schema().node(node->children[i]), json));
  }
  json += '}';
  return fault;
}

RowToken AvroTokens::Peek() const {
  AvroCursor ahead = cursor_;
  const AvroNode* node = next_;
  ahead.ReadBranch(node);
  switch (node->type) {
    case AvroType::kNull:
      return RowToken::kNull;
    case AvroType::kArray:
      return RowToken::kArray;
    case AvroType::kMap:
    case AvroType::kRecord:
      return RowToken::kObject;
    default:
      return RowToken::kSingle;
  }
}

uint32_t AvroTokens::Enter() {
  const AvroNode* node = next_;
  cursor_.ReadBranch(node);
  levels_.push_back({.node = node});
  if (node->type != AvroType::kRecord) return 0;
  return static_cast<uint32_t>(node->children.size());
}

bool AvroTokens::HasNext(size_t place, uint32_t count) {
  Level& level = levels_.back();
  const AvroNode& node = *level.node;
  if (node.type == AvroType::kRecord) {
    if (place == count) {
      levels_.pop_back();
      return false;
    }
    field_ = place;
    is_at_key_ = true;
    next_ = &cursor_.schema().node(node.children[place]);
    return true;
  }
  if (level.left == 0) {
    cursor_.ReadBlock(level.left);
    if (level.left == 0) {
      levels_.pop_back();
      return false;
    }
  }
  --level.left;
  is_at_key_ = node.type == AvroType::kMap;
  next_ = &cursor_.schema().node(node.children[0]);
  return true;
}

absl::string_view AvroTokens::TakeKey() {
  is_at_key_ = false;
  const AvroNode& node = *levels_.back().node;
  if (node.type == AvroType::kRecord) return node.names[field_];
  absl::string_view key;
  cursor_.ReadBytes(key);
  return key;
}

absl::string_view AvroTokens::TakeName(ValueArena& /*arena*/) {
  return TakeKey();
}

absl::string_view AvroTokens::TakeValue() {
  if (is_at_key_) return TakeKey();
  const AvroNode* node = next_;
  cursor_.ReadBranch(node);
  cursor_.Pass(*node);
  return AvroTypeName(*node);
}

ValueFault AvroTokens::TakeSingle(const Column& column, ValueArena& arena,
                                  Value& value, absl::string_view& text) {
  if (is_at_key_) {
    const bool is_field = levels_.back().node->type == AvroType::kRecord;
    text = TakeKey();
    // The schema may be gone before the row is.
    if (is_field) text = arena.Copy(text);
    if (!IsUtf8(text)) return ValueFault::kNotUtf8;
    return ParseValueText(column, text, arena, value);
  }
  const AvroNode* node = next_;
  cursor_.ReadBranch(node);
  switch (node->type) {
    case AvroType::kNull:
      text = AvroTypeName(*node);
      return ValueFault::kNull;
    case AvroType::kArray:
    case AvroType::kMap:
    case AvroType::kRecord:
      text = AvroTypeName(*node);
      cursor_.Pass(*node);
      return ValueFault::kNotSingle;
    default:
      return ReadAvroValue(cursor_, *node, column, arena, value, text);
  }
}

ValueFault AvroTokens::TakeVariant(ValueArena& arena, Value& value,
                                   absl::string_view& text) {
  const AvroNode* node = next_;
  AvroCursor ahead = cursor_;
  ahead.ReadBranch(node);
  text = AvroTypeName(*node);
  std::string json;
  const ValueFault fault = AvroToJson(cursor_, *next_, json);
  if (fault == ValueFault::kNone) value = Value::Variant(arena.Copy(json));
  return fault;
}

std::optional<absl::string_view> AvroTokens::TakeKeyBytes(ValueArena& arena) {
  return TakeTextOrBytes(*this, arena);
}

}  // namespace penstock::core
