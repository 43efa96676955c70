#include "core/record/value_arena.h"

#include "core/base/check.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

namespace penstock::core {
namespace {

constexpr size_t kSlabBytesMin = size_t{4} << 10;
constexpr size_t kSlabBytesMax = size_t{256} << 10;

}  // namespace

ValueArena::ValueArena(ValueArena&& other) noexcept
    : slabs_(std::exchange(other.slabs_, {})),
      next_(std::exchange(other.next_, nullptr)),
      left_(std::exchange(other.left_, 0)),
      bytes_(std::exchange(other.bytes_, 0)) {}

ValueArena& ValueArena::operator=(ValueArena&& other) noexcept {
  slabs_ = std::exchange(other.slabs_, {});
  next_ = std::exchange(other.next_, nullptr);
  left_ = std::exchange(other.left_, 0);
  bytes_ = std::exchange(other.bytes_, 0);
  return *this;
}

char* ValueArena::Allocate(size_t bytes, bool aligned) {
  size_t padding = 0;
  if (aligned && next_ != nullptr) {
    const uintptr_t address = reinterpret_cast<uintptr_t>(next_);
    padding = (alignof(Value) - address % alignof(Value)) % alignof(Value);
  }
  if (next_ == nullptr || left_ < padding || left_ - padding < bytes) {
    // What is left of the old slab is lost. New memory is aligned for a Value.
    const size_t slab = std::max(
        bytes,
        std::clamp(static_cast<size_t>(bytes_), kSlabBytesMin, kSlabBytesMax));
    slabs_.push_back(std::make_unique_for_overwrite<char[]>(slab));
    bytes_ += slab;
    next_ = slabs_.back().get();
    left_ = slab;
    padding = 0;
  }
  char* const result = next_ + padding;
  next_ += padding + bytes;
  left_ -= padding + bytes;
  return result;
}

absl::string_view ValueArena::Copy(absl::string_view bytes) {
  if (bytes.empty()) return {};
  char* const copy = Allocate(bytes.size(), /*aligned=*/false);
  std::memcpy(copy, bytes.data(), bytes.size());
  return {copy, bytes.size()};
}

std::span<Value> ValueArena::Values(size_t count) {
  if (count == 0) return {};
  CHECK_LE(count, std::numeric_limits<size_t>::max() / sizeof(Value));
  char* const memory = Allocate(count * sizeof(Value), /*aligned=*/true);
  Value* const values = reinterpret_cast<Value*>(memory);
  std::uninitialized_value_construct_n(values, count);
  return {values, count};
}

}  // namespace penstock::core
