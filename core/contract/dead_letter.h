// Where rows go that a target refuses, so that they cost nobody else anything
// (design §4, §7).
#pragma once

#include "core/contract/ft_model.h"
#include "core/contract/output_target.h"
#include "core/record/step.h"

#include <absl/status/status.h>
#include <absl/strings/string_view.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace penstock::core {

// How many rows a target may refuse; either limit stops the connector.
struct RefusedRowLimits {
  // Refused since the connector was opened.
  uint64_t total_max = UINT64_MAX;
  // Refused of the last `window_rows` rows, as a share of `window_rows`. So a
  // few bad rows of few are no reason yet. At least 1 row passes.
  double ratio_max = 0.5;
  uint64_t window_rows = 1'000;
};

// One refused row. Lifetime: `row` is a view, valid during Write.
struct DeadLetter {
  Step step = 0;
  // The row's number within step and shard, from 0; exactly-once only, and none
  // of a record that could not be parsed or encoded, which never was a row.
  std::optional<uint64_t> number;
  // Where its record came from.
  uint32_t partition = 0;
  int64_t offset = 0;
  // Why: what the target said.
  absl::Status error;
  // As it was encoded for the target; or the record that could not be; or the
  // first bytes of what could not be parsed.
  absl::string_view row;
};

// Whose letters they are.
struct DeadLetterOpen {
  std::string incarnation;
  std::string connector;
  Writer writer;
  ShardIndex shard = 0;
  std::optional<FtModel> level;
};

// What names a row for ever: "<incarnation>/<connector>/<step>/<shard>/<row>"
// in exactly-once. Below it steps are not kept, and what could not be parsed or
// encoded has no number: named by where it came from:
// "<incarnation>/<connector>/p<partition>/o<offset>".
std::string DeadLetterId(const DeadLetterOpen& open, const DeadLetter& letter);

// One shard's output.
//
// A row's letter is durable before the row is passed over in the target, and
// may come again, with the same id, until a commit that passes it over was
// confirmed: after an error here, a crash, a fence. In the end a letter's row
// may even be in the target, if that changed its mind meanwhile.
//
// Owner:   a shard worker. Threads: confined to its strand; blocks for I/O.
// Errors:  as those of a sink (sink_error.h). After one some of the letters may
//          be there; the call is made again.
class DeadLetterOutput {
 public:
  virtual ~DeadLetterOutput() = default;
  // Makes all of `letters` durable.
  virtual absl::Status Write(std::span<const DeadLetter> letters) = 0;
};

}  // namespace penstock::core
