// A batch in which the target refuses rows, on its way to being settled.
// See core/handoff/README.md; upholds INV-8 and INV-11.
#pragma once

#include "core/base/clock.h"
#include "core/base/rate_limit.h"
#include "core/contract/dead_letter.h"
#include "core/handoff/bad_row_search.h"
#include "core/handoff/refused_rows.h"
#include "core/handoff/shard_backlog.h"
#include "core/record/step.h"

#include <absl/status/status.h>
#include <absl/strings/string_view.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace penstock::core {

// What becomes of rows that a target refuses.
struct RefusedRowOptions {
  // OutputTarget::TellsRowsApart(). False: any of them breaks the shard.
  bool tells_rows_apart = false;
  // False: the first one breaks the shard, by an error that names it. True:
  // they are left out, and kept in `dead_letters`.
  bool skip = false;
  // Null: who leaves them out only counts and logs them. Outlives the shard.
  DeadLetterOutput* dead_letters = nullptr;
  // Shared with the connector's other shards. Null: there is no limit. Outlives
  // the shard.
  RefusedRows* counter = nullptr;
};

// Says what is to be done next with one batch; the shard worker does it.
//
//            ┌─────────────┐ refused: halved ┌────────────────────────────────┐
//  refused ─▶│ kTry        │────────────────▶│ kLetters: of what was found,   │
//            │ some rows   │◀────────────────│ durable before it is passed by │
//            └─────────────┘                 └────────────────────────────────┘
//              all is known │ ▲ refused again
//                           ▼ │
//      exactly-once: kWrite, good rows and progress; below: kSettled
//
// In exactly-once a trial is a probe, which leaves nothing, so that nothing is
// visible before all of the step is. Below it a trial is stored at once.
//
// Owner:   a shard worker. Threads: confined to its strand.
// Bound:   BadRowSearch, and `kLettersMax` errors of at most 1 KiB.
class RowIsolation {
 public:
  enum class Next { kTry, kLetters, kWrite, kSettled };
  static constexpr size_t kLettersMax = 256;

  // Whether the rows of `write` can be told apart: it has rows, and a place in
  // a frame for each. (An encoder that works by columns leaves none.)
  static bool IsPossible(const ShardWrite& write);

  // `write` and `log` outlive it. Requires: IsPossible(write).
  RowIsolation(const ShardWrite& write, ShardIndex shard, bool exactly_once,
               const RefusedRowOptions& options, RateLimit& log);

  Next next() const;
  // kTry, kWrite: the rows concerned. Lifetime: as the batch.
  std::vector<absl::string_view> Frames() const;
  // kLetters: what is to be made durable. Lifetime: as the batch.
  std::vector<DeadLetter> Letters() const;

  // kTry: it is to be rolled back.
  bool is_probe() const { return exactly_once_ && next() == Next::kTry; }

  // What next() said was done: kTry or kLetters, for kWrite settles the batch.
  // Or it met `error`, which is of kind kBadRow. An error breaks the shard.
  absl::Status OnSuccess();
  absl::Status OnRefusal(const absl::Status& error);

  // Another number for each trial, the same while one is made again.
  uint64_t trials() const { return search_.trials(); }
  uint64_t left_out() const { return search_.bad_count(); }
  // Of them, those with a letter.
  uint64_t letters_written() const {
    return options_.dead_letters == nullptr
               ? 0
               : search_.bad_count() - letters_.size();
  }

 private:
  // Where the rows of a chunk stand in the batch, and in their step.
  struct ChunkRows {
    size_t first = 0;
    uint64_t number = 0;
  };

  absl::Status OnWriteRefused(const absl::Status& error);
  // What the search has found.
  absl::Status NoteFound();
  DeadLetter LetterOf(const BadRowSearch::Found& found) const;
  absl::Status Refusal(const DeadLetter& letter) const;
  absl::Status Note(BadRowSearch::Found found);

  const ShardWrite& write_;
  const ShardIndex shard_;
  const bool exactly_once_;
  const RefusedRowOptions options_;
  RateLimit& log_;
  std::vector<ChunkRows> chunks_;
  BadRowSearch search_;
  // Found, and not yet durable.
  std::vector<BadRowSearch::Found> letters_;
};

}  // namespace penstock::core
