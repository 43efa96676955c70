// One value as ClickHouse's binary formats write it.
#pragma once

#include "core/contract/frame_buffer.h"
#include "core/format/clickhouse/clickhouse_type.h"
#include "core/record/value.h"

#include <absl/status/status.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace penstock::core {

// Appends the bytes of an integer or float, the least significant first.
template <typename T>
void AppendLittle(T value, FrameBuffer& out) {
  char* const bytes = out.Reserve(sizeof(T));
  using Bits = std::conditional_t<
      sizeof(T) == 1, uint8_t,
      std::conditional_t<
          sizeof(T) == 2, uint16_t,
          std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>>;
  const auto bits = std::bit_cast<Bits>(value);
  for (size_t i = 0; i < sizeof(T); ++i) {
    bytes[i] = static_cast<char>(static_cast<uint64_t>(bits) >> (8 * i));
  }
  out.Commit(sizeof(T));
}

// LEB128: seven bits a byte, the least significant first.
void AppendLength(uint64_t length, FrameBuffer& out);

// Appends a value. Nothing is rounded or cut.
// Requires: it is not null, and neither array, map nor struct.
// Errors: ROW_REFUSED, with what does not fit; `out` is as it was then.
absl::Status AppendClickHouseSingle(const ClickHouseType& type,
                                    const Value& value, FrameBuffer& out);
// What stands for null in a column of a Native block.
void AppendClickHouseDefault(const ClickHouseType& type, FrameBuffer& out);

// ROW_REFUSED: a null where none may be.
absl::Status NullRefused(const ClickHouseType& type);
// ROW_REFUSED: a value of another kind than the column's.
absl::Status KindRefused(const ClickHouseType& type, const Value& value);

}  // namespace penstock::core
