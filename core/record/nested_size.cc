#include "core/record/nested_size.h"

#include <absl/strings/string_view.h>

#include <cstddef>
#include <functional>
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

// Adds what is in the values of one record.
class RecordSizer {
 public:
  // `bytes`: the record's.
  RecordSizer(absl::string_view bytes, NestedSize& size)
      : bytes_(bytes), size_(size) {}

  // What `value` takes; that it is there is counted elsewhere. `is_inside`: of
  // an array or map; `is_nested`: of a struct, too. As deep as the schema.
  void Add(const Value& value, bool is_inside, bool is_nested) {
    switch (value.kind()) {
      case ValueKind::kArray:
        return AddEach(value.AsArray(), true);
      case ValueKind::kMap:
        return AddEach(value.AsMap(), true);
      case ValueKind::kStruct:
        return AddEach(value.AsStruct(), is_inside);
      case ValueKind::kVariant:
        size_.text_bytes += value.AsVariant().size();
        return;
      case ValueKind::kString:
        AddText(value.AsString());
        if (is_nested) size_.text_bytes += EscapeBytes(value.AsString());
        return;
      case ValueKind::kDecimal:
        return AddText(value.AsDecimal());
      default:
        return;
    }
  }

 private:
  void AddEach(std::span<const Value> values, bool is_inside) {
    if (is_inside) size_.values += values.size();
    for (const Value& value : values) Add(value, is_inside, true);
  }
  // Unless it is some of the record's bytes.
  void AddText(absl::string_view text) {
    const std::less<const char*> less;
    if (less(text.data(), bytes_.data()) ||
        !less(text.data(), bytes_.data() + bytes_.size())) {
      size_.text_bytes += text.size();
    }
  }

  const absl::string_view bytes_;
  NestedSize& size_;
};

bool MayBeLonger(SqlType type) {
  return type == SqlType::kVarchar || type == SqlType::kDecimal ||
         type == SqlType::kArray || type == SqlType::kMap ||
         type == SqlType::kStruct || type == SqlType::kVariant;
}

}  // namespace

NestedSizer::NestedSizer(const Schema& schema) {
  for (size_t i = 0; i < schema.columns.size(); ++i) {
    if (MayBeLonger(schema.columns[i].type)) {
      columns_.push_back(static_cast<uint32_t>(i));
    }
  }
}

NestedSize NestedSizer::Of(const RecordBatch& batch) const {
  NestedSize size;
  if (columns_.empty()) return size;
  for (size_t i = 0; i < batch.record_count(); ++i) {
    const Record record = batch.At(i);
    if (record.row.empty()) continue;
    RecordSizer sizer(record.value.value_or(""), size);
    for (const uint32_t column : columns_) {
      sizer.Add(record.row[column], false, false);
    }
  }
  return size;
}

}  // namespace penstock::core
