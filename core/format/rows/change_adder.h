// An envelope to a record and its row: what formats do with a ChangeReader.
#pragma once

#include "core/contract/parse_error.h"
#include "core/format/result_builder.h"
#include "core/format/rows/change_reader.h"
#include "core/format/rows/change_reader_inl.h"
#include "core/format/rows/row_reader.h"
#include "core/format/rows/row_reader_inl.h"
#include "core/record/key_hash.h"
#include "core/record/record_batch.h"

#include <absl/strings/string_view.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace penstock::core {

// Where a row lies in the block.
struct ChangeImage {
  uint32_t begin = 0;
  uint32_t size = 0;
};

// Where its envelope lies.
struct ChangePlace {
  const char* block = nullptr;
  // All of it.
  absl::string_view document;
  // Of its first byte in the source.
  int64_t offset = 0;
};

// Adds the record that the envelope `document` has in it, unless it is passed
// over, which is counted. `rows`: null without columns. `image_of`: where the
// row is whose tokens it is given. Returns: what is wrong with the envelope or
// the row; then nothing was added.
template <RowTokens Tokens, typename ImageOf>
std::optional<ParseError> AddChangeTo(ResultBuilder& result,
                                      ChangeReader& changes, RowReader* rows,
                                      Tokens document, ChangePlace place,
                                      ImageOf image_of) {
  ValueArena& arena = result.value_arena();
  Change<Tokens> change;
  switch (changes.Read(document, arena, change)) {
    case ChangeReader::Verdict::kPassed:
      result.AddPassed();
      return std::nullopt;
    case ChangeReader::Verdict::kBad:
      return changes.TakeError();
    case ChangeReader::Verdict::kChange:
      break;
  }
  if (!changes.IsWhole(change, place.document, arena)) {
    return changes.TakeError();
  }
  if (rows != nullptr) {
    if (!rows->Read(*change.row, arena)) return rows->TakeError();
    const std::span<Value> row = result.NewRow();
    std::copy(rows->row().begin(), rows->row().end(), row.begin());
    if (!changes.FillColumns(change, arena, row)) {
      result.DropRow();
      return changes.TakeError();
    }
  }
  const ChangeImage image = image_of(*change.row);
  RecordEntry entry{.value_begin = image.begin,
                    .value_size = image.size,
                    .offset = place.offset,
                    .op = change.op};
  const std::optional<absl::string_view> key =
      changes.KeyOf(*change.row, arena);
  if (key.has_value()) {
    // What was escaped, or a number of another form, is not in the block.
    const auto at = static_cast<size_t>(key->data() - place.block);
    entry.key_in_arena =
        at < image.begin || at >= size_t{image.begin} + image.size;
    entry.key_begin = entry.key_in_arena ? result.AddToArena(*key)
                                         : static_cast<uint32_t>(at);
    entry.key_size = static_cast<uint32_t>(key->size());
    entry.key_hash = KeyHash(*key);
    entry.has_key_hash = true;
  }
  result.AddRecord(entry);
  return std::nullopt;
}

}  // namespace penstock::core
