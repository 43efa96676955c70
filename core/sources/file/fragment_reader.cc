#include "core/sources/file/fragment_reader.h"

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/base/status_macros.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/string_view.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string>
#include <utility>

namespace penstock::core {
namespace {

// The least that is read at a time, where that much is wanted.
constexpr uint64_t kBlockBytesMin = 4096;

}  // namespace

absl::StatusOr<bool> LearnPrologue(Content& content, Parser& parser,
                                   uint64_t begin) {
  const size_t bytes_max = parser.PrologueBytesMax();
  if (bytes_max == 0) return true;
  ASSIGN_OR_RETURN(const uint64_t size, content.SizeUpTo(begin + bytes_max));
  std::string beginning(
      std::min<uint64_t>(bytes_max, size - std::min(size, begin)), '\0');
  ASSIGN_OR_RETURN(const size_t got, content.Peek(begin, beginning));
  beginning.resize(got);
  return parser.LearnPrologue(beginning, begin);
}

FragmentReader::FragmentReader(Content& content, const Parser& parser,
                               Blocks& blocks)
    : content_(content),
      blocks_(blocks),
      cut_bytes_(parser.RecordBytesMax() + Parser::kFramingBytesMax),
      splitter_(parser.MakeSplitter()) {
  CHECK_GT(blocks.block_bytes(), size_t{0});
}

void FragmentReader::Seek(uint64_t offset, Before before) {
  position_ = offset;
  is_seam_unchecked_ = offset > 0 && before != Before::kNoRecord;
  is_behind_part_ = before == Before::kPartOfRecord;
  is_torn_ = false;
  cut_.reset();
  rest_.reset();
}

void FragmentReader::GiveBack(Piece& piece, uint32_t bytes) {
  CHECK(piece.fragment.has_value() && !piece.fragment->is_cut);
  CHECK(bytes > 0 && bytes < piece.fragment->size);
  rest_ = piece;
  rest_->fragment->RemovePrefix(bytes);
  position_ = static_cast<uint64_t>(rest_->fragment->offset);
  piece.at_end = false;
}

absl::StatusOr<FragmentReader::Piece> FragmentReader::Next(
    std::optional<uint64_t> limit, Tail tail) {
  if (rest_.has_value()) {
    position_ += rest_->fragment->size;
    return *std::exchange(rest_, std::nullopt);
  }
  if (is_seam_unchecked_ && position_ != limit) {
    RETURN_IF_ERROR(PassSeam(limit));
  }
  if (cut_.has_value()) return NextWhileSkipping(limit, tail);
  splitter_->Clear();
  Filled filled{.block = GetBlock(position_, limit)};
  for (size_t seen = 0;; Grow(filled)) {
    RETURN_IF_ERROR(Fill(position_, limit, filled));
    const std::optional<size_t> boundary = splitter_->Input(
        absl::string_view(filled.block->data() + seen, filled.size - seen));
    if (boundary.has_value()) {
      const size_t size = seen + *boundary;
      const bool at_end = filled.at_end && size == filled.size;
      return Piece{.fragment = TakeFragment(filled, size), .at_end = at_end};
    }
    if (filled.at_end) {
      if (filled.size == 0 || tail == Tail::kHold) {
        return Piece{.fragment = {}, .at_end = true};
      }
      Fragment fragment = TakeFragment(filled, filled.size);
      fragment.is_last = true;
      return Piece{.fragment = std::move(fragment), .at_end = true};
    }
    seen = filled.size;
    if (seen >= cut_bytes_) break;
  }
  // Only now is it known to be too long. Its place is that of the whole.
  const uint64_t begin = position_;
  cut_ = TakeFragment(filled, filled.size);
  cut_->is_cut = true;
  skipped_to_ = position_;
  position_ = begin;
  return Piece{};
}

absl::StatusOr<FragmentReader::Piece> FragmentReader::NextWhileSkipping(
    std::optional<uint64_t> limit, Tail tail) {
  Filled filled{.block = GetBlock(skipped_to_, limit)};
  RETURN_IF_ERROR(Fill(skipped_to_, limit, filled));
  // The *first* boundary ends the record, so byte by byte.
  for (size_t i = 0; i < filled.size; ++i) {
    const char* const byte = filled.block->data() + i;
    const std::optional<size_t> boundary = splitter_->Input({byte, 1});
    const size_t passed = boundary.value_or(1);
    if (passed == 1 && *byte == '\n') ++cut_->cut_lines;
    if (!boundary.has_value()) continue;
    position_ = skipped_to_ + i + passed;
    return Piece{.fragment = std::exchange(cut_, std::nullopt),
                 .at_end = filled.at_end && i + passed == filled.size};
  }
  skipped_to_ += filled.size;
  if (!filled.at_end) return Piece{};
  if (tail == Tail::kHold) return Piece{.fragment = {}, .at_end = true};
  position_ = skipped_to_;
  return Piece{.fragment = std::exchange(cut_, std::nullopt), .at_end = true};
}

absl::Status FragmentReader::PassSeam(std::optional<uint64_t> limit) {
  // The byte before, and at most two of a line end.
  std::array<char, 3> bytes;
  uint64_t wanted = bytes.size();
  if (limit.has_value()) wanted = std::min(wanted, *limit - position_ + 1);
  ASSIGN_OR_RETURN(const size_t got,
                   content_.ReadAt(position_ - 1, std::span<char>(bytes).first(
                                                      size_t{wanted})));
  is_seam_unchecked_ = false;
  if (got < 2) return absl::OkStatus();
  const std::optional<size_t> passed = splitter_->PassSeam(
      bytes[0], absl::string_view(bytes.data() + 1, got - 1));
  // Where one byte does not tell, what the record was does.
  is_torn_ = passed.value_or(0) == 0 && (is_behind_part_ || !passed);
  position_ += passed.value_or(0);
  return absl::OkStatus();
}

absl::Status FragmentReader::Fill(uint64_t begin, std::optional<uint64_t> limit,
                                  Filled& filled) {
  const uint64_t from = begin + filled.size;
  uint64_t wanted = filled.block->capacity() - filled.size;
  if (limit.has_value()) wanted = std::min(wanted, *limit - from);
  ASSIGN_OR_RETURN(
      const size_t got,
      content_.ReadAt(from, std::span<char>(filled.block->data() + filled.size,
                                            static_cast<size_t>(wanted))));
  filled.size += got;
  filled.at_end = got < wanted || from + got == limit;
  if (got < wanted && limit.has_value()) {
    return MakeError(
        Reason::POSITION_EXPIRED,
        absl::StrCat("the file ends at byte ", from + got,
                     ", though bytes up to ", *limit,
                     " were read before: it was cut off or replaced"));
  }
  return absl::OkStatus();
}

void FragmentReader::Grow(Filled& filled) {
  const size_t larger = std::max(
      filled.size + 1, std::min(filled.block->capacity() * 2, cut_bytes_));
  BlockRef block = blocks_.Get(larger);
  std::memcpy(block->data(), filled.block->data(), filled.size);
  filled.block = std::move(block);
}

BlockRef FragmentReader::GetBlock(uint64_t begin,
                                  std::optional<uint64_t> limit) {
  uint64_t bytes = blocks_.block_bytes();
  const std::optional<uint64_t> end =
      limit.has_value() ? limit : expected_size_;
  if (end.has_value()) {
    // One more, to see the end.
    const uint64_t left = *end > begin ? *end - begin + 1 : 1;
    bytes = std::min(bytes, std::max(left, kBlockBytesMin));
  }
  return blocks_.Get(static_cast<size_t>(bytes));
}

Fragment FragmentReader::TakeFragment(const Filled& filled, size_t size) {
  Fragment fragment{.block = filled.block,
                    .begin = 0,
                    .size = static_cast<uint32_t>(size),
                    .partition = 0,
                    .offset = static_cast<int64_t>(position_)};
  position_ += size;
  return fragment;
}

}  // namespace penstock::core
