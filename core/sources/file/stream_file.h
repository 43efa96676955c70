// A stream of bytes as a file that grows.
#pragma once

#include "core/base/filesystem.h"
#include "core/base/piped_input.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace penstock::core {

// Keeps what it read until it is told that nobody needs it any more.
//
// Owner:   a StreamReader's tasks. Threads: thread-compatible. Blocks: never.
// Bound:   what was read and not let go.
class StreamFile final : public File {
 public:
  // `input` is claimed, and outlives this.
  explicit StreamFile(PipedInput& input) : input_(input) {}

  // Fewer bytes than `out` has room for are all that there is now. Errors:
  // INTERNAL below what was let go; those of the input.
  absl::StatusOr<size_t> ReadAt(uint64_t offset, std::span<char> out) override;
  // What lies before `offset` is not read again.
  void LetGo(uint64_t offset);
  // A read met the end: there will be no more than Size().
  bool has_ended() const { return has_ended_; }
  // How far it goes as far as is known, read or not.
  uint64_t KnownEnd() const { return end() + input_.Available(); }

  absl::StatusOr<uint64_t> Size() override { return end(); }
  absl::StatusOr<FileStat> Stat() override;
  absl::Status Append(absl::string_view bytes) override;
  absl::Status Sync() override;
  absl::Status Truncate(uint64_t size) override;

 private:
  uint64_t end() const { return begin_ + kept_.size(); }

  PipedInput& input_;
  // What was read last, from the byte at `begin_` on.
  std::string kept_;
  uint64_t begin_ = 0;
  bool has_ended_ = false;
};

}  // namespace penstock::core
