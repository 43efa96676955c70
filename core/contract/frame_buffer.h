// A growing run of bytes that an encoder appends to.
#pragma once

#include <absl/strings/string_view.h>

#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>

namespace penstock::core {

// Owner:   a shard buffer, then the sealed chunk. Move-only.
// Threads: thread-compatible.
// Bound:   grows by doubling; its owner seals at the chunk target.
class FrameBuffer {
 public:
  FrameBuffer() = default;
  explicit FrameBuffer(size_t capacity) { Grow(capacity); }
  FrameBuffer(FrameBuffer&& other) noexcept
      : data_(std::move(other.data_)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  FrameBuffer& operator=(FrameBuffer&& other) noexcept {
    data_ = std::move(other.data_);
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, 0);
    return *this;
  }

  size_t size() const { return size_; }
  size_t capacity() const { return capacity_; }
  absl::string_view view() const { return {data_.get(), size_}; }

  void Append(absl::string_view bytes) {
    char* out = Reserve(bytes.size());
    if (!bytes.empty()) std::memcpy(out, bytes.data(), bytes.size());
    size_ += bytes.size();
  }
  void PushBack(char byte) {
    *Reserve(1) = byte;
    ++size_;
  }
  // Room for `bytes` more; write there, then Commit what was written.
  char* Reserve(size_t bytes) {
    if (capacity_ - size_ < bytes) Grow(size_ + bytes);
    return data_.get() + size_;
  }
  void Commit(size_t bytes) { size_ += bytes; }
  // Requires: size <= size(). Keeps the memory.
  void Truncate(size_t size) { size_ = size; }

 private:
  void Grow(size_t capacity_min) {
    size_t capacity = capacity_ * 2;
    if (capacity < capacity_min) capacity = capacity_min;
    auto data = std::make_unique_for_overwrite<char[]>(capacity);
    if (size_ > 0) std::memcpy(data.get(), data_.get(), size_);
    data_ = std::move(data);
    capacity_ = capacity;
  }

  std::unique_ptr<char[]> data_;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace penstock::core
