#include "core/record/nested_size.h"

#include <absl/strings/string_view.h>

#include <cstddef>
#include <span>

namespace penstock::core {
namespace {

// What JSON writes for a control character, and for a quote or backslash where
// backslashes are escaped once more.
constexpr uint64_t kControlBytes = 6;
constexpr uint64_t kQuoteBytes = 3;

uint64_t EscapeBytes(absl::string_view text) {
  uint64_t bytes = 0;
  for (const char byte : text) {
    if (static_cast<unsigned char>(byte) < 0x20) bytes += kControlBytes;
    if (byte == '"' || byte == '\\') bytes += kQuoteBytes;
  }
  return bytes;
}

void AddEach(std::span<const Value> values, bool is_inside, NestedSize& size);

// What is in `value`, which itself is counted elsewhere. `is_inside`: of an
// array or map. As deep as the schema.
void Add(const Value& value, bool is_inside, NestedSize& size) {
  switch (value.kind()) {
    case ValueKind::kArray:
      return AddEach(value.AsArray(), true, size);
    case ValueKind::kMap:
      return AddEach(value.AsMap(), true, size);
    case ValueKind::kStruct:
      return AddEach(value.AsStruct(), is_inside, size);
    case ValueKind::kVariant:
      size.text_bytes += value.AsVariant().size();
      return;
    case ValueKind::kString:
      size.text_bytes += EscapeBytes(value.AsString());
      return;
    default:
      return;
  }
}

void AddEach(std::span<const Value> values, bool is_inside, NestedSize& size) {
  if (is_inside) size.values += values.size();
  for (const Value& value : values) Add(value, is_inside, size);
}

bool IsNested(SqlType type) {
  return type == SqlType::kArray || type == SqlType::kMap ||
         type == SqlType::kStruct || type == SqlType::kVariant;
}

}  // namespace

NestedSizer::NestedSizer(const Schema& schema) {
  for (size_t i = 0; i < schema.columns.size(); ++i) {
    if (IsNested(schema.columns[i].type)) {
      columns_.push_back(static_cast<uint32_t>(i));
    }
  }
}

NestedSize NestedSizer::Of(const RecordBatch& batch) const {
  NestedSize size;
  if (columns_.empty()) return size;
  for (size_t i = 0; i < batch.record_count(); ++i) {
    const std::span<const Value> row = batch.At(i).row;
    if (row.empty()) continue;
    for (const uint32_t column : columns_) Add(row[column], false, size);
  }
  return size;
}

}  // namespace penstock::core
