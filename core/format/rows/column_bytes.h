// How much a row's columns add to what its values have for bytes, at the most.
#pragma once

#include "core/record/schema.h"

#include <algorithm>
#include <cstddef>

namespace penstock::core {

struct ColumnBytes {
  // Of a record: each column, and the fields of structs, which are there once.
  size_t record = 0;
  // The most of any column inside of others: there each value counts by itself.
  size_t nested = 0;
};

namespace internal {

template <typename OwnBytes>
size_t MemberBytes(const Column& column, OwnBytes own) {
  size_t bytes = own(column);
  if (column.type != SqlType::kStruct) return bytes;
  for (const Column& child : column.children) bytes += MemberBytes(child, own);
  return bytes;
}

template <typename OwnBytes>
size_t NestedBytes(const Column& column, OwnBytes own) {
  size_t bytes = 0;
  for (const Column& child : column.children) {
    bytes = std::max({bytes, own(child), NestedBytes(child, own)});
  }
  return bytes;
}

}  // namespace internal

// `own(column)`: what one value of it adds, with its name, without children.
template <typename OwnBytes>
ColumnBytes ColumnBytesOf(const Schema& schema, OwnBytes own) {
  ColumnBytes bytes;
  for (const Column& column : schema.columns) {
    bytes.record += internal::MemberBytes(column, own);
    bytes.nested = std::max(bytes.nested, internal::NestedBytes(column, own));
  }
  return bytes;
}

}  // namespace penstock::core
