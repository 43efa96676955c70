// Bytes to compressed bytes, a piece at a time.
#pragma once

#include "core/compress/compression.h"

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/strings/string_view.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace penstock::core {

// The levels of a compression; 0 stands for `by_default`.
struct CompressionLevels {
  int lowest = 0;
  int highest = 0;
  int by_default = 0;
};
// Requires: not kNone.
CompressionLevels LevelsOf(Compression compression);

// Makes members (gzip) or frames (zstd), each whole in itself, so that a file
// of them may be cut between any two.
//
// Owner:     whoever made it. Threads: thread-compatible.
// Lifecycle: Begin, any number of Add, End; Begin also gives up a member that
//            was not ended.
// Bound:     MemoryBytes(): its window and tables and one output block.
class Compressor {
 public:
  // Takes compressed bytes, in order. After an error nothing more comes.
  using Output = absl::FunctionRef<absl::Status(absl::string_view)>;

  virtual ~Compressor() = default;

  // Blocks: Add and End as `output` does, which they call once a block of
  // kOutputBlockBytes is full, and at the end of a member.
  // Errors: those of `output`; then the next call is Begin.
  virtual void Begin() = 0;
  virtual absl::Status Add(absl::string_view bytes, Output output) = 0;
  virtual absl::Status End(Output output) = 0;
  virtual uint64_t MemoryBytes() const = 0;

  static constexpr size_t kOutputBlockBytes = size_t{128} << 10;
};

// `level`: 0 or one of LevelsOf. Requires: not kNone.
std::unique_ptr<Compressor> MakeCompressor(Compression compression, int level);

}  // namespace penstock::core
