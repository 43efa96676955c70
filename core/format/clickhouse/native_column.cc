#include "core/format/clickhouse/native_column.h"

#include "core/base/status_macros.h"
#include "core/format/clickhouse/clickhouse_value.h"

namespace penstock::core {

using Kind = ClickHouseKind;

NativeColumn::NativeColumn(const ClickHouseType& type) : type_(type) {
  for (const ClickHouseType& child : type.children) {
    children_.emplace_back(child);
  }
}

absl::Status NativeColumn::Append(const Value& value) {
  if (value.is_null()) {
    if (!type_.nullable) return NullRefused(type_);
    nulls_.PushBack(1);
    AppendClickHouseDefault(type_, data_);
    return absl::OkStatus();
  }
  if (type_.nullable) nulls_.PushBack(0);
  switch (type_.kind) {
    case Kind::kArray:
      if (value.kind() != ValueKind::kArray) return KindRefused(type_, value);
      return AppendElements(value.AsArray());
    case Kind::kMap:
      if (value.kind() != ValueKind::kMap) return KindRefused(type_, value);
      return AppendElements(value.AsMap());
    case Kind::kTuple: {
      if (value.kind() != ValueKind::kStruct ||
          value.AsStruct().size() != children_.size()) {
        return KindRefused(type_, value);
      }
      for (size_t i = 0; i < children_.size(); ++i) {
        RETURN_IF_ERROR(children_[i].Append(value.AsStruct()[i]));
      }
      return absl::OkStatus();
    }
    default:
      return AppendClickHouseSingle(type_, value, data_);
  }
}

absl::Status NativeColumn::AppendElements(std::span<const Value> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    RETURN_IF_ERROR(children_[i % children_.size()].Append(values[i]));
  }
  elements_ += values.size() / children_.size();
  AppendLittle(elements_, data_);
  return absl::OkStatus();
}

void NativeColumn::Mark() {
  nulls_marked_ = nulls_.size();
  data_marked_ = data_.size();
  elements_marked_ = elements_;
  for (NativeColumn& child : children_) child.Mark();
}

void NativeColumn::GoBack() {
  nulls_.Truncate(nulls_marked_);
  data_.Truncate(data_marked_);
  elements_ = elements_marked_;
  for (NativeColumn& child : children_) child.GoBack();
}

size_t NativeColumn::bytes() const {
  size_t bytes = nulls_.size() + data_.size();
  for (const NativeColumn& child : children_) bytes += child.bytes();
  return bytes;
}

void NativeColumn::MoveTo(FrameBuffer& out) {
  out.Append(nulls_.view());
  out.Append(data_.view());
  nulls_.Truncate(0);
  data_.Truncate(0);
  elements_ = 0;
  for (NativeColumn& child : children_) child.MoveTo(out);
}

}  // namespace penstock::core
