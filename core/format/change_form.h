// What encoders make of records that are no insertions.
// See core/format/README.md, "Changes".
#pragma once

#include "core/contract/frame_buffer.h"
#include "core/record/record.h"
#include "core/record/schema.h"

#include <absl/status/status.h>
#include <absl/strings/string_view.h>

#include <cstddef>
#include <optional>

namespace penstock::core {

// The column of a row that says what the record does; nullopt: none does.
using OpColumn = std::optional<size_t>;
// The column called so, as an envelope's configuration has it; empty: none.
OpColumn FindOpColumn(absl::string_view name, const Schema& schema);

// Errors: UNSUPPORTED, of an update or a deletion whose row does not say so:
// written as a row it would be read as one that is there.
absl::Status CheckChangeIsSaid(const Record& record, OpColumn op_column);

// For rows that stand one behind the other; nothing but a comparison for
// insertions. Errors: CheckChangeIsSaid's.
inline absl::Status CheckRowForm(const Record& record,
                                 OpColumn op_column = std::nullopt) {
  if (record.meta.op == Op::kInsert) [[likely]]
    return absl::OkStatus();
  return CheckChangeIsSaid(record, op_column);
}

// Appends a deletion as a message: its key, and no value, which is what readers
// of topics and their compaction take for one.
// Errors: UNSUPPORTED for a row that has no key: nobody could tell which one
// is gone.
absl::Status AppendDeletion(const Record& record, FrameBuffer& out);

}  // namespace penstock::core
