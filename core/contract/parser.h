// Bytes to records: what a source needs of a format.
#pragma once

#include "core/contract/parse_error.h"
#include "core/record/block.h"
#include "core/record/record_batch.h"
#include "core/record/record_batch_builder.h"
#include "core/record/value.h"

#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace penstock::core {

// Seed type: `Splitter`: finds record boundaries in a stream of bytes.
// Threads: confined to its reader. State: what it saw since Clear.
class Splitter {
 public:
  virtual ~Splitter() = default;
  // Looks at the next bytes of the stream. Returns n: everything seen earlier
  // plus data[..n] is one or more complete records, and the state starts over
  // at data[n]. nullopt: no boundary in `data` is certain.
  // Shape: n is the *last* certain boundary; 0 only where something was seen
  // earlier. Given one byte at a time it names the first one behind which a
  // record comes, too: no byte ends two records.
  virtual std::optional<size_t> Input(absl::string_view data) = 0;
  virtual void Clear() = 0;
  // The stream ended once behind a record, or seemed to; now it is entered
  // there again. `before` is the byte before that place, `behind` the one or
  // two bytes that have come since. Returns how many of them are the end that
  // the record lacked then, and no record; nullopt: the record itself goes on
  // in them, so that it was torn.
  virtual std::optional<size_t> PassSeam(char before,
                                         absl::string_view behind) const = 0;
};

// Ours, for sources whose input is messages: each is a whole input by itself,
// and all records of it have in common what the source knows of it. Records of
// many messages go into one batch, so that none allocates.
//
// Owner: a source. Lifetime: what it names outlives the Parse call.
struct MessageRecords {
  // Where good records go, over the fragment's block, instead of the result's
  // batch. Its columns are the schema's.
  RecordBatchBuilder* batch = nullptr;
  // Of every record, and every error, of the message.
  int64_t offset = 0;
  int64_t event_time_ms = RecordMeta::kNoEventTime;
  // The message's key, for records without one of their own.
  uint32_t key_begin = 0;
  uint32_t key_size = RecordEntry::kNull;
  uint64_t key_hash = 0;
  // Columns that the source fills in, and with what.
  std::span<const std::pair<uint32_t, Value>> cells = {};
};

// Complete records in a block, cut by a Splitter.
struct Fragment {
  BlockRef block;
  // data()[begin, begin + size) of the block.
  uint32_t begin = 0;
  uint32_t size = 0;
  uint32_t partition = 0;
  // Source offset of the first byte.
  int64_t offset = 0;
  // The last record may lack its delimiter: the input ended.
  bool is_last = false;
  // The beginning of one record that is longer than the parser's
  // RecordBytesMax(); the rest is left out.
  bool is_cut = false;
  // Of a cut record: LFs in what is left out.
  uint64_t cut_lines = 0;
  // The fragment is a message, or what is left of one; null: it is not.
  const MessageRecords* message = nullptr;

  // Leaves what lies behind the first `bytes`. Requires: bytes <= size.
  void RemovePrefix(uint32_t bytes) {
    begin += bytes;
    size -= bytes;
    offset += bytes;
  }
};

struct ParseResult {
  // Empty if no record was good.
  RecordBatch batch;
  std::vector<ParseError> errors;
  // Records, good and bad, and physical lines: by how much the parser's
  // position moved.
  uint64_t records = 0;
  uint64_t lines = 0;
  // Documents that say no change of a row, and so are no records.
  uint64_t passed = 0;
  // Of the fragment that was taken: its records and all that stands around
  // them. Above 0 unless the fragment is empty.
  uint32_t bytes = 0;
};

// Seed type: `Parser`. Makes records that view the fragment's block.
// Threads: confined to one thread at a time. State: record and line numbers.
class Parser {
 public:
  // Most bytes that a format puts around a record: line ends, marks.
  static constexpr size_t kFramingBytesMax = 16;
  // At which a result is full: what it holds besides the block (records, rows,
  // errors) may be many times the bytes that it was made of.
  static constexpr size_t kResultBytesMax = size_t{4} << 20;

  virtual ~Parser() = default;
  // Takes whole records from the fragment's beginning: all of them, or up to
  // the one that fills the result. Every record taken is in the batch or in the
  // errors. The caller goes on with the rest (Fragment::RemovePrefix), or
  // elsewhere after SetPosition.
  // Bound:  kResultBytesMax and what the last record adds, in memory at most
  //         twice that: vectors grow by doubling. A fragment that is cut is
  //         one record.
  // Errors: bad records are data; there is no other failure.
  virtual ParseResult Parse(const Fragment& fragment) = 0;
  virtual std::unique_ptr<Splitter> MakeSplitter() const = 0;
  // Seed: `fork`: same configuration and prologue, fresh counters.
  virtual std::unique_ptr<Parser> Fork() const = 0;
  // Sets the 1-based number of the next record and line (after a seek).
  virtual void SetPosition(uint64_t record_number, uint64_t line) = 0;
  // Longest record in bytes, delimiter not counted. A source that finds no
  // boundary in RecordBytesMax() + kFramingBytesMax bytes gives Parse just
  // these, as a fragment with `is_cut`, and goes on behind the next boundary:
  // the parser makes one error of them.
  virtual size_t RecordBytesMax() const { return size_t{16} << 20; }
  // False: any byte means something wherever it stands.
  virtual bool IsText() const { return true; }
  // Ours: a message, whatever its bytes, is one record as it stands, without
  // being parsed.
  virtual bool TakesMessagesWhole() const { return false; }

  // Ours: how much of its source's beginning the parser has to know wherever it
  // starts (a header that names the fields); 0: nothing.
  virtual size_t PrologueBytesMax() const { return 0; }
  // Tells it the first PrologueBytesMax() bytes, or all that there are by now.
  // `offset`: of the first, where the source passes over what is before it. A
  // source does so before it has a fragment of an input parsed, at whatever
  // offset, until the answer is true: all that there was to know is known. What
  // was known of another input is forgotten.
  // Errors: INVALID_CONFIG if no record of such a source will ever be good.
  virtual absl::StatusOr<bool> LearnPrologue(absl::string_view /*beginning*/,
                                             uint64_t /*offset*/) {
    return true;
  }
};

}  // namespace penstock::core
