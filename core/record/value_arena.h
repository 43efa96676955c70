// Memory behind Values that are views: text and nested values.
#pragma once

#include "core/base/check.h"
#include "core/record/value.h"

#include <absl/strings/string_view.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace penstock::core {

// Hands out memory that stays where it is until the arena dies, so that Values
// made over it stay valid while more are made.
//
// Owner:     the RecordStorage of the records that it belongs to.
// Threads:   thread-compatible. Move-only; moving moves no bytes.
// Bound:     none of its own: one buffer's rows. Grows by slabs of 4 KiB
//            doubling to 256 KiB, or one larger value.
class ValueArena {
 public:
  ValueArena() = default;
  ValueArena(ValueArena&& other) noexcept;
  ValueArena& operator=(ValueArena&& other) noexcept;

  // A copy of `bytes`. Empty text costs nothing.
  absl::string_view Copy(absl::string_view bytes);
  // What `write` writes at the char* it is given, at most `bytes_max` bytes;
  // it returns how many. What it leaves is used for what comes next.
  template <typename WriteTo>
  absl::string_view Write(size_t bytes_max, WriteTo write) {
    char* const text = Allocate(bytes_max, /*aligned=*/false);
    const size_t size = write(text);
    DCHECK_LE(size, bytes_max);
    next_ -= bytes_max - size;
    left_ += bytes_max - size;
    return {text, size};
  }
  // `count` nulls, to be filled in.
  std::span<Value> Values(size_t count);

  // Capacity held.
  uint64_t MemoryBytes() const { return bytes_; }

 private:
  // Memory for `bytes`, aligned for a Value if `aligned`.
  char* Allocate(size_t bytes, bool aligned);

  std::vector<std::unique_ptr<char[]>> slabs_;
  char* next_ = nullptr;
  size_t left_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace penstock::core
