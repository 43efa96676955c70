// An amount of data: records exactly, payload bytes as the source saw them.
#pragma once

#include <cstdint>

namespace penstock::core {

// Seed type: `BufferSize`. A plain value; additive.
struct BufferSize {
  uint64_t records = 0;
  // Payload bytes: what the record holds, without framing or arena.
  uint64_t bytes = 0;

  bool IsEmpty() const { return records == 0 && bytes == 0; }

  BufferSize& operator+=(const BufferSize& other) {
    records += other.records;
    bytes += other.bytes;
    return *this;
  }
  // Requires: no component of `other` is the larger one.
  BufferSize& operator-=(const BufferSize& other) {
    records -= other.records;
    bytes -= other.bytes;
    return *this;
  }
  friend BufferSize operator+(BufferSize a, const BufferSize& b) {
    return a += b;
  }
  friend BufferSize operator-(BufferSize a, const BufferSize& b) {
    return a -= b;
  }
  friend bool operator==(const BufferSize&, const BufferSize&) = default;
};

}  // namespace penstock::core
