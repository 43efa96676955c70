// Compressed bytes to the bytes they stand for, a piece at a time.
#pragma once

#include "core/compress/compression.h"

#include <absl/strings/string_view.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace penstock::core {

// What is wrong with a compressed file: data, no failure of an operation.
struct Defect {
  // A ParseError's tag.
  std::string tag;
  std::string description;

  friend bool operator==(const Defect&, const Defect&) = default;
};

// Decodes any number of members (gzip) or frames (zstd), one behind the other.
//
// Owner:     whoever made it. Threads: thread-compatible.
// Lifecycle: from the first byte on; it does not go back. After a defect it
//            decodes nothing more.
// Bound:     gzip about 90 KiB, zstd a window of at most 128 MiB (frames that
//            want more are a defect).
class Decoder {
 public:
  struct Progress {
    size_t consumed = 0;
    size_t produced = 0;
  };

  virtual ~Decoder() = default;
  // Decodes some of `in` into `out`. Blocks: never.
  // Returns: no progress at all only if `in` or `out` is empty, or after a
  // defect.
  virtual Progress Decode(absl::string_view in, std::span<char> out) = 0;
  // Whether the input may end here: nothing is begun and not finished.
  virtual bool MayEnd() const = 0;
  virtual const std::optional<Defect>& defect() const = 0;
  // What to say if the input ends though it may not.
  virtual Defect Truncated() const = 0;
};

// Requires: not kNone.
std::unique_ptr<Decoder> MakeDecoder(Compression compression);

}  // namespace penstock::core
