// Documents of JSON to records: what ndjson and json share.
#pragma once

#include "core/contract/parser.h"
#include "core/format/ndjson/json_rows.h"
#include "core/format/ndjson/json_token.h"
#include "core/format/ndjson/key_path.h"
#include "core/format/result_builder.h"
#include "core/format/rows/row_reader.h"
#include "core/record/key_hash.h"
#include "core/record/record_batch.h"
#include "core/record/schema.h"

#include <absl/strings/string_view.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace penstock::core {

// One Parse call over JSON.
struct JsonTask {
  JsonTask(const Fragment& fragment_, ParseProgress& progress,
           uint32_t columns);

  const Fragment& fragment;
  // The fragment's bytes; places are in it.
  const absl::string_view text;
  ResultBuilder result;
  // The first place that is no byte order mark at the stream's beginning.
  uint32_t begin = 0;
};

// Makes a record, with key and row, of each document, or a bad record: those
// with a JsonFault, tags "syntax", "trailing_data", "invalid_utf8",
// "invalid_unicode", "out_of_range", "too_deep", those too long,
// "record_too_large", and with columns those that do not fit them:
// "wrong_type", "null_value", "out_of_range".
//
// Owner:   a parser. Threads: thread-compatible. Bound: RowReader's.
class JsonRecords {
 public:
  // `key`: where the records' keys are; nullopt: they have none. `schema`: the
  // columns of their rows; empty: they have none.
  // Requires: record_bytes_max > 0.
  JsonRecords(size_t record_bytes_max, std::optional<KeyPath> key,
              const Schema& schema);

  size_t record_bytes_max() const { return record_bytes_max_; }
  const std::optional<KeyPath>& key() const { return key_; }
  Schema schema() const;
  uint32_t columns() const;

  // Adds the document text[begin, end), whatever it is. Checked thoroughly.
  void Add(JsonTask& task, uint32_t begin, uint32_t end);
  // Adds one that is known to be good. A walker's text begins at `base`, and
  // `place` is its first index of the document. `key` as it found it.
  void AddIndexed(JsonTask& task, uint32_t begin, uint32_t end, uint32_t base,
                  const uint32_t* place, bool has_escapes, const KeyToken& key);
  // Adds one that is longer than record_bytes_max, of which text[begin, end) is
  // the beginning or all.
  void AddTooLarge(JsonTask& task, uint32_t begin, uint32_t end);

 private:
  // The row, if there are columns, was added before. `key` begins at its place
  // in the text from `key_base` on.
  void AddRecord(JsonTask& task, uint32_t begin, uint32_t end,
                 const KeyToken& key, uint32_t key_base);
  void AddBadRow(JsonTask& task, uint32_t begin, uint32_t end);

  const size_t record_bytes_max_;
  const std::optional<KeyPath> key_;
  // Null without columns.
  const std::unique_ptr<RowReader> rows_;
};

inline void JsonRecords::AddIndexed(JsonTask& task, uint32_t begin,
                                    uint32_t end, uint32_t base,
                                    const uint32_t* place, bool has_escapes,
                                    const KeyToken& key) {
  if (rows_ != nullptr) {
    if (!ReadIndexedRow(*rows_, task.text.data() + base, begin - base, place,
                        has_escapes, task.result.value_arena())) {
      return AddBadRow(task, begin, end);
    }
    task.result.AddRow(rows_->row());
  }
  AddRecord(task, begin, end, key, base);
}

inline void JsonRecords::AddRecord(JsonTask& task, uint32_t begin, uint32_t end,
                                   const KeyToken& key, uint32_t key_base) {
  RecordEntry entry{.value_begin = task.fragment.begin + begin,
                    .value_size = end - begin,
                    .offset = task.fragment.offset + begin};
  if (key.found) {
    absl::string_view text = task.text.substr(key_base + key.begin, key.size);
    std::string unescaped;
    entry.key_begin = task.fragment.begin + key_base + key.begin;
    if (key.is_escaped) {
      unescaped = JsonUnescape(text);
      text = unescaped;
      entry.key_begin = task.result.AddToArena(text);
      entry.key_in_arena = true;
    }
    entry.key_size = static_cast<uint32_t>(text.size());
    entry.key_hash = KeyHash(text);
    entry.has_key_hash = true;
  }
  task.result.AddRecord(entry);
}

}  // namespace penstock::core
