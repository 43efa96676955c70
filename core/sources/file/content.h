// The bytes of a file as whoever wrote it meant them: decoded, if it is
// compressed.
#pragma once

#include "core/base/filesystem.h"
#include "core/compress/compression.h"
#include "core/compress/decoder.h"

#include <absl/status/statusor.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace penstock::core {

// Offsets are those of the content, so that a position means the same in a file
// and in its compressed copy.
//
// Owner: whoever reads. Threads: thread-compatible. Blocks: as the disk does.
class Content {
 public:
  virtual ~Content() = default;

  // Reads bytes from `offset` on, as many as fit and exist.
  // Returns: how many; fewer than `out.size()` only at the end of what can be
  // read now. Whoever reads on, or again what the last call gave, reads at
  // once; elsewhere it may take decoding from the file's beginning.
  virtual absl::StatusOr<size_t> ReadAt(uint64_t offset,
                                        std::span<char> out) = 0;
  // The same, without losing the place where ReadAt is. For places near the
  // beginning.
  virtual absl::StatusOr<size_t> Peek(uint64_t offset, std::span<char> out) = 0;
  // How many NUL bytes it begins with. Keeps none of them, and reads none that
  // the disk knows to be there.
  virtual absl::StatusOr<uint64_t> CountNuls() = 0;
  // The content's size, if it is at most `limit`; otherwise any number from
  // `limit` on.
  virtual absl::StatusOr<uint64_t> SizeUpTo(uint64_t limit) = 0;
  // After a call that met the end: why that is no good end, if it is not.
  virtual std::optional<Defect> DefectAtEnd() const = 0;
  // After such a call: the rest may still be written. False: it ends well, or
  // nothing that could follow mends it.
  virtual bool IsUnfinished() const { return false; }
};

// A file whose bytes are the content.
class PlainContent final : public Content {
 public:
  // `file` outlives this.
  explicit PlainContent(File& file) : file_(file) {}

  absl::StatusOr<size_t> ReadAt(uint64_t offset, std::span<char> out) override {
    return file_.ReadAt(offset, out);
  }
  absl::StatusOr<size_t> Peek(uint64_t offset, std::span<char> out) override {
    return file_.ReadAt(offset, out);
  }
  absl::StatusOr<uint64_t> CountNuls() override;
  absl::StatusOr<uint64_t> SizeUpTo(uint64_t /*limit*/) override {
    return file_.Size();
  }
  std::optional<Defect> DefectAtEnd() const override { return std::nullopt; }

 private:
  File& file_;
};

}  // namespace penstock::core
