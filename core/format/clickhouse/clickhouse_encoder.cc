#include "core/format/clickhouse/clickhouse_encoder.h"

#include "core/base/error.h"
#include "core/base/status_macros.h"
#include "core/format/change_form.h"
#include "core/format/clickhouse/clickhouse_value.h"
#include "core/format/clickhouse/native_column.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <utility>

namespace penstock::core {
namespace {

using Kind = ClickHouseKind;

// What both encoders are made of. Shared by the clones; constant.
struct Table {
  std::vector<std::string> names;
  std::vector<ClickHouseType> types;
  // See EstimateBytes: for each record, and for each value inside of others.
  size_t record_bytes = 0;
  size_t nested_bytes = 0;
};

// The longest that a value inside of others is, besides its text; a tuple's
// fields are counted by themselves.
size_t NestedBytes(const Column& column, const ClickHouseType& type) {
  size_t bytes = 0;
  for (size_t i = 0; i < type.children.size(); ++i) {
    const Column& child = column.children[i];
    const ClickHouseType& child_type = type.children[i];
    const size_t own = child_type.kind == Kind::kTuple
                           ? 0
                           : ClickHouseFixedBytes(child, child_type);
    bytes = std::max({bytes, own, NestedBytes(child, child_type)});
  }
  return bytes;
}

size_t Estimate(const Table& table, size_t records, size_t payload_bytes) {
  return records * table.record_bytes + payload_bytes;
}

absl::Status CheckWidth(const Record& record, const Table& table) {
  if (record.row.size() == table.types.size()) return absl::OkStatus();
  return MakeError(
      Reason::INTERNAL,
      absl::StrCat("encode a row for ClickHouse: it has ", record.row.size(),
                   " values for ", table.types.size(), " columns"));
}

absl::Status AppendRowBinary(const ClickHouseType& type, const Value& value,
                             FrameBuffer& out);

absl::Status AppendEach(const ClickHouseType& type,
                        std::span<const Value> values, FrameBuffer& out) {
  for (size_t i = 0; i < values.size(); ++i) {
    RETURN_IF_ERROR(AppendRowBinary(type.children[i % type.children.size()],
                                    values[i], out));
  }
  return absl::OkStatus();
}

absl::Status AppendRowBinary(const ClickHouseType& type, const Value& value,
                             FrameBuffer& out) {
  if (value.is_null()) {
    if (!type.nullable) return NullRefused(type);
    out.PushBack(1);
    return absl::OkStatus();
  }
  if (type.nullable) out.PushBack(0);
  switch (type.kind) {
    case Kind::kArray:
      if (value.kind() != ValueKind::kArray) return KindRefused(type, value);
      AppendLength(value.AsArray().size(), out);
      return AppendEach(type, value.AsArray(), out);
    case Kind::kMap:
      if (value.kind() != ValueKind::kMap) return KindRefused(type, value);
      AppendLength(value.AsMap().size() / 2, out);
      return AppendEach(type, value.AsMap(), out);
    case Kind::kTuple:
      if (value.kind() != ValueKind::kStruct ||
          value.AsStruct().size() != type.children.size()) {
        return KindRefused(type, value);
      }
      return AppendEach(type, value.AsStruct(), out);
    default:
      return AppendClickHouseSingle(type, value, out);
  }
}

// Owner: a handoff. Threads: confined to it. Bound: holds nothing.
class RowBinaryEncoder final : public RowEncoder {
 public:
  // Shared by: the clones.
  explicit RowBinaryEncoder(std::shared_ptr<const Table> table)
      : table_(std::move(table)) {}

  absl::Status Encode(const Record& record, FrameBuffer& out) override {
    RETURN_IF_ERROR(CheckWidth(record, *table_));
    RETURN_IF_ERROR(CheckRowForm(record));
    for (size_t i = 0; i < record.row.size(); ++i) {
      RETURN_IF_ERROR(AppendRowBinary(table_->types[i], record.row[i], out));
    }
    return absl::OkStatus();
  }
  size_t EstimateBytes(size_t records, size_t payload_bytes) const override {
    return Estimate(*table_, records, payload_bytes);
  }
  size_t NestedValueBytes() const override { return table_->nested_bytes; }
  std::unique_ptr<RowEncoder> Clone() const override {
    return std::make_unique<RowBinaryEncoder>(table_);
  }

 private:
  const std::shared_ptr<const Table> table_;
};

// Owner: a handoff. Threads: confined to it. Bound: the rows of one chunk.
class NativeEncoder final : public ColumnarEncoder {
 public:
  explicit NativeEncoder(std::shared_ptr<const Table> table)
      : table_(std::move(table)) {
    for (const ClickHouseType& type : table_->types) {
      columns_.emplace_back(type);
      header_bytes_ += type.name.size() + kLengthBytes;
    }
    for (const std::string& name : table_->names) {
      header_bytes_ += name.size() + kLengthBytes;
    }
  }

  absl::Status Encode(const Record& record, FrameBuffer&) override {
    RETURN_IF_ERROR(CheckWidth(record, *table_));
    RETURN_IF_ERROR(CheckRowForm(record));
    for (NativeColumn& column : columns_) column.Mark();
    for (size_t i = 0; i < columns_.size(); ++i) {
      absl::Status status = columns_[i].Append(record.row[i]);
      if (status.ok()) continue;
      for (NativeColumn& column : columns_) column.GoBack();
      return status;
    }
    ++rows_;
    buffered_bytes_ = header_bytes_;
    for (const NativeColumn& column : columns_) {
      buffered_bytes_ += column.bytes();
    }
    return absl::OkStatus();
  }
  size_t BufferedBytes() const override { return buffered_bytes_; }
  absl::Status FinishChunk(FrameBuffer& out) override {
    if (rows_ == 0) return absl::OkStatus();
    out.Reserve(buffered_bytes_);
    AppendLength(columns_.size(), out);
    AppendLength(rows_, out);
    for (size_t i = 0; i < columns_.size(); ++i) {
      for (const std::string* text :
           {&table_->names[i], &table_->types[i].name}) {
        AppendLength(text->size(), out);
        out.Append(*text);
      }
      columns_[i].MoveTo(out);
    }
    rows_ = 0;
    buffered_bytes_ = 0;
    return absl::OkStatus();
  }
  size_t EstimateBytes(size_t records, size_t payload_bytes) const override {
    // A chunk has at least one row.
    return Estimate(*table_, records, payload_bytes) + records * header_bytes_;
  }
  size_t NestedValueBytes() const override { return table_->nested_bytes; }
  std::unique_ptr<RowEncoder> Clone() const override {
    return std::make_unique<NativeEncoder>(table_);
  }

 private:
  static constexpr size_t kLengthBytes = 10;

  const std::shared_ptr<const Table> table_;
  size_t header_bytes_ = 2 * kLengthBytes;
  std::vector<NativeColumn> columns_;
  size_t rows_ = 0;
  size_t buffered_bytes_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<RowEncoder>> MakeClickHouseEncoder(
    ClickHouseLayout layout, const Schema& schema,
    std::vector<ClickHouseType> types) {
  if (schema.IsEmpty()) {
    return MakeError(Reason::INVALID_CONFIG,
                     "rows for ClickHouse need columns; declare the schema",
                     {{"field", "schema"}});
  }
  if (!types.empty() && types.size() != schema.columns.size()) {
    return MakeError(Reason::INVALID_CONFIG,
                     absl::StrCat("the schema has ", schema.columns.size(),
                                  " columns for ", types.size(), " types"),
                     {{"field", "schema"}});
  }
  auto table = std::make_shared<Table>();
  for (size_t i = 0; i < schema.columns.size(); ++i) {
    const Column& column = schema.columns[i];
    ClickHouseType type;
    if (types.empty()) {
      ASSIGN_OR_RETURN(type, ClickHouseTypeOf(column));
    } else {
      type = std::move(types[i]);
    }
    RETURN_IF_ERROR(CheckClickHouseColumn(column, type));
    table->record_bytes += ClickHouseFixedBytes(column, type);
    table->nested_bytes =
        std::max(table->nested_bytes, NestedBytes(column, type));
    table->names.push_back(column.name);
    table->types.push_back(std::move(type));
  }
  if (layout == ClickHouseLayout::kNative) {
    return std::make_unique<NativeEncoder>(std::move(table));
  }
  return std::make_unique<RowBinaryEncoder>(std::move(table));
}

}  // namespace penstock::core
