// What a parser makes of a fragment, until it is full.
#pragma once

#include "core/contract/parse_error.h"
#include "core/contract/parser.h"
#include "core/record/record_batch.h"
#include "core/record/record_batch_builder.h"
#include "core/record/value.h"
#include "core/record/value_arena.h"

#include <absl/strings/string_view.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace penstock::core {

// What a parser keeps from one result to the next.
struct ParseProgress {
  // Numbers of the next record and line.
  uint64_t record_number = 1;
  uint64_t line = 1;
  // Of the previous result: how much room the next one will need.
  size_t records_before = 0;
};

// Collects one ParseResult; upholds INV-6. The parser asks IsFull() behind each
// record.
//
//   ResultBuilder result(fragment, progress_);
//   while (at < size && !result.IsFull()) {
//     result.AddRecord({...});
//     result.AddLines(1);
//     at = ...
//   }
//   return std::move(result).Build(at);
//
// Owner:   a Parse call. Threads: thread-compatible.
// Bound:   Parser::Parse's.
class ResultBuilder {
 public:
  // `columns`: values in each row. Both others outlive this.
  ResultBuilder(const Fragment& fragment, ParseProgress& progress,
                uint32_t columns = 0);

  // Whether this was the last record.
  bool IsFull() const { return room_ <= 0; }

  // Records and lines so far.
  uint64_t records() const { return result_.records; }
  uint64_t lines() const { return result_.lines; }

  // Appends a good record. Requires: as RecordBatchBuilder::Add.
  [[gnu::always_inline]] void AddRecord(const RecordEntry& entry) {
    if (fragment_.message == nullptr) [[likely]] {
      batch_.Add(entry);
    } else {
      AddOfMessage(*fragment_.message, entry);
    }
    CountArena();
    room_ -= record_bytes_;
    ++result_.records;
  }
  // Appends a bad one that begins in the current line, and at data[begin] of
  // the fragment: numbers, line and offset are filled in here.
  void AddError(uint32_t begin, ParseError error);
  // Those of the record that was added last, once it was; and blank ones.
  void AddLines(uint64_t lines) { result_.lines += lines; }

  // A document was passed over, as its envelope wants it.
  void AddPassed() { ++result_.passed; }

  // Appends the row of the record that is added next.
  void AddRow(std::span<const Value> row) { batch_.AddRow(row); }
  // The same of nulls, to be filled in; DropRow drops it again.
  std::span<Value> NewRow() { return batch_.NewRow(); }
  void DropRow() { batch_.DropRow(); }
  // For what row values view.
  ValueArena& value_arena() { return batch_.value_arena(); }
  // Copies a rewritten key; returns its `key_begin`.
  uint32_t AddToArena(absl::string_view bytes) {
    room_ -= static_cast<int64_t>(bytes.size());
    return batch_.AddToArena(bytes);
  }

  // `bytes` of the fragment were taken. Moves the progress; leaves nothing to
  // go on with.
  ParseResult Build(uint32_t bytes) &&;

 private:
  [[gnu::noinline]] void AddOfMessage(const MessageRecords& message,
                                      RecordEntry entry);
  void CountArena() {
    const auto bytes = static_cast<int64_t>(batch_.value_arena().MemoryBytes());
    room_ -= bytes - arena_bytes_;
    arena_bytes_ = bytes;
  }

  const Fragment& fragment_;
  ParseProgress& progress_;
  // What each good record takes, with its row.
  const int64_t record_bytes_;
  int64_t room_ = int64_t{Parser::kResultBytesMax};
  int64_t arena_bytes_ = 0;
  // Unless records go into a batch of the source's.
  std::optional<RecordBatchBuilder> own_;
  RecordBatchBuilder& batch_;
  ParseResult result_;
};

}  // namespace penstock::core
