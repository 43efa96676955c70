// Cuts a file into fragments of whole records.
#pragma once

#include "core/contract/parser.h"
#include "core/record/block.h"
#include "core/sources/file/blocks.h"
#include "core/sources/file/content.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace penstock::core {

// What to do with a last record that lacks its line end.
enum class Tail {
  // Give it out: the input ends.
  kGive,
  // Leave it: the rest of it may come.
  kHold
};

// Tells `parser` what the file begins with, from `begin` on. Returns: whether
// it knows all of that now (Parser::LearnPrologue). Errors: those of the parser
// and the content.
absl::StatusOr<bool> LearnPrologue(Content& content, Parser& parser,
                                   uint64_t begin);

// Reads a block at a time, from wherever it was put. What lies behind the last
// boundary of a block is read again with the next one. A record longer than a
// block gets a larger block, up to the parser's RecordBytesMax(); of a longer
// one only the beginning is kept while the rest is read over.
//
// Owner:   a reader's tasks. Threads: thread-compatible; Blocks: as the disk
//          does.
// Bound:   one block besides those it gave out, or the one that came back, at
//          most RecordBytesMax() + Parser::kFramingBytesMax bytes long.
class FragmentReader {
 public:
  // What one call of Next found.
  struct Piece {
    // nullopt: no whole record yet.
    std::optional<Fragment> fragment;
    // There is nothing more.
    bool at_end = false;
  };

  // Content and blocks outlive this.
  FragmentReader(Content& content, const Parser& parser, Blocks& blocks);

  // Goes to `offset`, a boundary or the end of a file as it was once. If the
  // last record before it lacked its line end then, and the file has it now,
  // that line end is passed over: it is no empty record.
  // What is known of what lies before a place.
  enum class Before { kNoRecord, kRecord, kPartOfRecord };
  void Seek(uint64_t offset, Before before = Before::kRecord);

  // The content is thought to end at `size`: no block need be larger than what
  // that leaves to read.
  void Expect(uint64_t size) { expected_size_ = size; }

  // Behind all that was given out, and before anything that was not.
  uint64_t position() const { return position_; }
  // Nothing before it is read again, unless Seek comes first.
  uint64_t NeededFrom() const {
    return cut_.has_value() ? skipped_to_ : position_;
  }
  // At the last Seek the record before it had no line end and goes on now: what
  // was one record has become two. Known after the next Next.
  bool is_torn() const { return is_torn_; }

  // The next records. `limit`: the file is known to have bytes up to there, and
  // no more are wanted; nullopt: all there are. One block is read, or as many
  // as a long record needs. Errors: POSITION_EXPIRED if the file ends before
  // `limit`; those of the file.
  absl::StatusOr<Piece> Next(std::optional<uint64_t> limit,
                             Tail tail = Tail::kGive);

  // Only the first `bytes` of `piece`, which is what Next gave last, were used:
  // the rest is what it gives next, unless Seek comes first.
  // Requires: 0 < bytes < the fragment's size, which is not cut.
  // Ensures:  position() is behind what was used, and that is not the end.
  void GiveBack(Piece& piece, uint32_t bytes);

  // Frees what was given back; it is read again.
  void ReleaseMemory() { rest_.reset(); }

 private:
  // A block and what was read into it.
  struct Filled {
    BlockRef block;
    size_t size = 0;
    // Nothing comes behind it.
    bool at_end = false;
  };

  absl::Status PassSeam(std::optional<uint64_t> limit);
  // Reads over the rest of a record that was cut.
  absl::StatusOr<Piece> NextWhileSkipping(std::optional<uint64_t> limit,
                                          Tail tail);
  // Adds bytes until the block, whose first byte is that at `begin`, is full.
  absl::Status Fill(uint64_t begin, std::optional<uint64_t> limit,
                    Filled& filled);
  // Replaces the block by a larger one with the same bytes.
  void Grow(Filled& filled);
  // A block for what is to be read at `begin`.
  BlockRef GetBlock(uint64_t begin, std::optional<uint64_t> limit);
  Fragment TakeFragment(const Filled& filled, size_t size);

  Content& content_;
  Blocks& blocks_;
  // Bytes without a boundary that are too many for a record.
  const size_t cut_bytes_;
  const std::unique_ptr<Splitter> splitter_;
  std::optional<uint64_t> expected_size_;
  uint64_t position_ = 0;
  bool is_seam_unchecked_ = false;
  bool is_behind_part_ = false;
  bool is_torn_ = false;
  // A record that was cut, and up to where the rest of it was read over. The
  // splitter has seen all of that.
  std::optional<Fragment> cut_;
  uint64_t skipped_to_ = 0;
  // What was given back: it begins at position_.
  std::optional<Piece> rest_;
};

}  // namespace penstock::core
