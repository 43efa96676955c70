#include "core/handoff/row_isolation.h"

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/base/log.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace penstock::core {
namespace {

constexpr size_t kMessageBytesMax = 1024;

// `error` without what is too long of its message.
absl::Status Cut(const absl::Status& error) {
  if (error.message().size() <= kMessageBytesMax) return error;
  const absl::Status cut(error.code(),
                         error.message().substr(0, kMessageBytesMax));
  const std::optional<ErrorInfo> info = GetErrorInfo(error);
  return info.has_value() ? WithErrorInfo(cut, *info) : cut;
}

size_t EndOfRow(const EncodedChunk& chunk, size_t row) {
  return row + 1 < chunk.row_positions.size()
             ? chunk.row_positions[row + 1].frame_offset
             : chunk.frame.size();
}

}  // namespace

bool RowIsolation::IsPossible(const ShardWrite& write) {
  for (const EncodedChunk& chunk : write.chunks) {
    if (chunk.rows == 0) continue;
    if (chunk.row_positions.size() != chunk.rows ||
        chunk.row_positions.front().frame_offset != 0) {
      return false;
    }
    for (size_t row = 0; row < chunk.rows; ++row) {
      if (EndOfRow(chunk, row) <= chunk.row_positions[row].frame_offset) {
        return false;
      }
    }
  }
  return write.rows > 0;
}

RowIsolation::RowIsolation(const ShardWrite& write, ShardIndex shard,
                           bool exactly_once, const RefusedRowOptions& options,
                           RateLimit& log)
    : write_(write),
      shard_(shard),
      exactly_once_(exactly_once),
      options_(options),
      log_(log),
      search_(write.rows, exactly_once ? BadRowSearch::Mode::kProbe
                                       : BadRowSearch::Mode::kStore) {
  ChunkRows next;
  for (size_t i = 0; i < write.chunks.size(); ++i) {
    if (i > 0 && write.chunks[i].step != write.chunks[i - 1].step) {
      next.number = 0;
    }
    chunks_.push_back(next);
    next.first += write.chunks[i].rows;
    next.number += write.chunks[i].rows;
  }
  CHECK_EQ(next.first, write.rows);
}

RowIsolation::Next RowIsolation::next() const {
  const bool searching = search_.Next().has_value();
  if (letters_.size() >= (searching ? kLettersMax : 1)) return Next::kLetters;
  if (searching) return Next::kTry;
  return exactly_once_ ? Next::kWrite : Next::kSettled;
}

std::vector<absl::string_view> RowIsolation::Frames() const {
  const RowRange range = search_.Next().value_or(
      RowRange{.begin = 0, .end = static_cast<size_t>(write_.rows)});
  std::vector<absl::string_view> frames;
  for (size_t i = 0; i < chunks_.size(); ++i) {
    const EncodedChunk& chunk = write_.chunks[i];
    const size_t first = chunks_[i].first;
    const size_t end =
        std::min<size_t>(range.end - std::min(range.end, first), chunk.rows);
    // Runs of good rows, each as long as can be.
    size_t row = range.begin - std::min(range.begin, first);
    while (row < end) {
      const size_t begin = row;
      while (row < end && !search_.IsBad(first + row)) ++row;
      if (row > begin) {
        const size_t from = chunk.row_positions[begin].frame_offset;
        frames.push_back(
            chunk.frame.view().substr(from, EndOfRow(chunk, row - 1) - from));
      }
      while (row < end && search_.IsBad(first + row)) ++row;
    }
  }
  return frames;
}

DeadLetter RowIsolation::LetterOf(const BadRowSearch::Found& found) const {
  const auto behind = std::upper_bound(
      chunks_.begin(), chunks_.end(), found.row,
      [](size_t row, const ChunkRows& chunk) { return row < chunk.first; });
  const size_t index = static_cast<size_t>(behind - chunks_.begin()) - 1;
  const EncodedChunk& chunk = write_.chunks[index];
  const size_t row = found.row - chunks_[index].first;
  const RowPosition& position = chunk.row_positions[row];
  return {
      .step = chunk.step,
      .number = chunks_[index].number + row,
      .partition = position.partition,
      .offset = position.source_offset,
      .error = found.error,
      .row = chunk.frame.view().substr(
          position.frame_offset, EndOfRow(chunk, row) - position.frame_offset)};
}

std::vector<DeadLetter> RowIsolation::Letters() const {
  std::vector<DeadLetter> letters;
  letters.reserve(letters_.size());
  for (const auto& found : letters_) letters.push_back(LetterOf(found));
  return letters;
}

absl::Status RowIsolation::OnSuccess() {
  if (next() == Next::kLetters) {
    letters_.clear();
    return absl::OkStatus();
  }
  CHECK(next() == Next::kTry);
  search_.OnTaken();
  return NoteFound();
}

absl::Status RowIsolation::OnRefusal(const absl::Status& error) {
  if (next() == Next::kLetters) return error;
  if (next() == Next::kWrite) return OnWriteRefused(error);
  CHECK(next() == Next::kTry);
  search_.OnRefused(error);
  return NoteFound();
}

absl::Status RowIsolation::NoteFound() {
  for (BadRowSearch::Found& found : search_.TakeFound()) {
    const absl::Status noted = Note(std::move(found));
    if (!noted.ok()) return noted;
  }
  return absl::OkStatus();
}

absl::Status RowIsolation::Note(BadRowSearch::Found found) {
  found.error = Cut(found.error);
  const DeadLetter letter = LetterOf(found);
  if (!options_.skip) return Refusal(letter);
  if (options_.counter != nullptr) {
    const absl::Status allowed = options_.counter->AddRefused();
    if (!allowed.ok()) {
      return WithContext(
          allowed, absl::StrCat("the last one: ", Refusal(letter).message()));
    }
  }
  LOG_EVERY(WARNING, log_)
          .With("step", letter.step)
          .With("shard", shard_)
          .With("row", *letter.number)
          .With("partition", letter.partition)
          .With("offset", letter.offset)
          .With("dead_letter", options_.dead_letters != nullptr)
      << "left out a row that the target refuses: " << letter.error.message();
  if (options_.dead_letters != nullptr) letters_.push_back(std::move(found));
  return absl::OkStatus();
}

absl::Status RowIsolation::Refusal(const DeadLetter& letter) const {
  return MakeError(
      Reason::ROW_REFUSED,
      absl::StrCat("the target refuses row ", *letter.number, " of step ",
                   letter.step, " in shard ", shard_, ", from partition ",
                   letter.partition, ", offset ", letter.offset, ": ",
                   letter.error.message(),
                   "; mend the record or the target, or set on_refused_row to "
                   "skip (with a dead_letter output such rows are kept)"),
      {{"step", absl::StrCat(letter.step)},
       {"shard", absl::StrCat(shard_)},
       {"row", absl::StrCat(*letter.number)},
       {"partition", absl::StrCat(letter.partition)},
       {"offset", absl::StrCat(letter.offset)}});
}

absl::Status RowIsolation::OnWriteRefused(const absl::Status& error) {
  if (search_.Resume()) return absl::OkStatus();
  return MakeError(
      Reason::ROW_REFUSED,
      absl::StrCat(
          "the target refuses a batch of shard ", shard_, ", steps ",
          write_.steps.begin, " to ", write_.steps.end - 1,
          ", but takes its rows when they are probed: ", error.message()),
      {{"shard", absl::StrCat(shard_)},
       {"step", absl::StrCat(write_.steps.begin)}});
}

}  // namespace penstock::core
