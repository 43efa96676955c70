// Recycled memory for the frames of one handoff.
// See core/handoff/README.md; upholds INV-6.
#pragma once

#include "core/base/mutex.h"
#include "core/contract/frame_buffer.h"

#include <absl/strings/string_view.h>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace penstock::core {

// Hands out buffers of one size and takes them back, so that steady traffic
// allocates and page-faults nothing.
//
// Owner:   shared by the handoff and the chunks it sealed.
// Threads: thread-safe: a handoff takes, shard workers return.
// Bound:   keeps `idle_max` buffers, and none as soon as no buffer is out: an
//          idle connector holds no memory here. It makes no buffer while it has
//          an idle one, so that there never are more than were out at once.
class FramePool {
 public:
  struct Options {
    size_t frame_bytes = 0;
    size_t idle_max = 64;
  };
  explicit FramePool(Options options);
  FramePool(const FramePool&) = delete;
  FramePool& operator=(const FramePool&) = delete;

  // An empty buffer of at least `frame_bytes` capacity. Blocks: never.
  FrameBuffer Take();
  // Gives one back. One that has grown beyond twice the size is freed.
  void Return(FrameBuffer buffer);
  size_t frame_bytes() const { return options_.frame_bytes; }
  size_t idle() const;
  // Taken and not returned.
  size_t out() const;

 private:
  const Options options_;
  mutable Mutex mu_;
  std::vector<FrameBuffer> idle_ ABSL_GUARDED_BY(mu_);
  size_t out_ ABSL_GUARDED_BY(mu_) = 0;
};

// A sealed frame: bytes that no longer change, and the pool, if any, that they
// go back to. Move-only; moved-from it is empty. Threads: thread-compatible.
class SealedFrame {
 public:
  SealedFrame() = default;
  // `pool` is null for memory that is simply freed.
  explicit SealedFrame(FrameBuffer buffer,
                       std::shared_ptr<FramePool> pool = nullptr)
      : buffer_(std::move(buffer)), pool_(std::move(pool)) {}
  SealedFrame(SealedFrame&&) noexcept = default;
  SealedFrame& operator=(SealedFrame&& other) noexcept;
  ~SealedFrame() { Release(); }

  // Lifetime: this frame's, wherever it is moved.
  absl::string_view view() const { return buffer_.view(); }
  size_t size() const { return buffer_.size(); }

 private:
  void Release();

  FrameBuffer buffer_;
  // Shared by: the handoff and every frame of it that is not yet returned.
  std::shared_ptr<FramePool> pool_;
};

}  // namespace penstock::core
