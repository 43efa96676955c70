// Numbers in network order, as COPY's binary form has them.
#pragma once

#include "core/contract/frame_buffer.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace penstock::core {

template <typename T>
void StoreBig(T value, char* out) {
  for (size_t i = 0; i < sizeof(T); ++i) {
    out[i] = static_cast<char>(value >> (8 * (sizeof(T) - 1 - i)));
  }
}

template <typename T>
void AppendBig(T value, FrameBuffer& out) {
  StoreBig(value, out.Reserve(sizeof(T)));
  out.Commit(sizeof(T));
}

// A field of fixed size: its length, then its bytes.
template <typename T>
void AppendField(T value, FrameBuffer& out) {
  char* const at = out.Reserve(4 + sizeof(T));
  StoreBig<uint32_t>(sizeof(T), at);
  StoreBig(value, at + 4);
  out.Commit(4 + sizeof(T));
}

inline void AppendNullField(FrameBuffer& out) {
  AppendBig<uint32_t>(0xFFFFFFFF, out);
}

}  // namespace penstock::core
