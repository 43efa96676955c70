// The content of a compressed file.
#pragma once

#include "core/base/filesystem.h"
#include "core/compress/decoder.h"
#include "core/sources/file/content.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace penstock::core {

// Decodes as it is read. Reading on costs nothing besides; so does reading
// again what the last call gave, which is what a reader of whole records does
// with the tail of a block. Going further back decodes from the beginning.
//
// A file that is still being written can be read on once it has grown.
//
// Bound: the decoder, 64 KiB of compressed bytes, and as much of the content as
//        the last call gave.
class DecodedContent final : public Content {
 public:
  // `file` outlives this. Requires: not kNone.
  DecodedContent(File& file, Compression compression);

  absl::StatusOr<size_t> ReadAt(uint64_t offset, std::span<char> out) override;
  absl::StatusOr<size_t> Peek(uint64_t offset, std::span<char> out) override;
  absl::StatusOr<uint64_t> CountNuls() override;
  absl::StatusOr<uint64_t> SizeUpTo(uint64_t limit) override;
  std::optional<Defect> DefectAtEnd() const override;
  bool IsUnfinished() const override;

 private:
  // Goes back to the beginning.
  void Restart();
  // Decodes into all of `out`, or up to the end.
  absl::StatusOr<size_t> Decode(std::span<char> out);
  // Decodes up to `offset`, or the end, and forgets what that gives.
  absl::Status PassTo(uint64_t offset);

  File& file_;
  const Compression compression_;
  std::unique_ptr<Decoder> decoder_;
  // Compressed bytes that the decoder has not taken yet: [begin, end).
  std::vector<char> input_;
  size_t input_begin_ = 0;
  size_t input_end_ = 0;
  // Where the next compressed bytes are.
  uint64_t file_offset_ = 0;
  // How much of the content was decoded, and the last of that.
  uint64_t decoded_ = 0;
  std::string last_;
};

}  // namespace penstock::core
