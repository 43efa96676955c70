// Documents of JSON to records: what ndjson and json share.
#pragma once

#include "core/contract/parser.h"
#include "core/format/ndjson/json_rows.h"
#include "core/format/ndjson/json_token.h"
#include "core/format/ndjson/key_path.h"
#include "core/format/result_builder.h"
#include "core/format/rows/change_columns.h"
#include "core/format/rows/change_reader.h"
#include "core/format/rows/envelope.h"
#include "core/format/rows/row_reader.h"
#include "core/record/key_hash.h"
#include "core/record/record.h"
#include "core/record/record_batch.h"
#include "core/record/schema.h"

#include <absl/status/statusor.h>
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

// What is wanted of documents.
struct JsonOptions {
  // From 1.
  size_t record_bytes_max = size_t{16} << 20;
  // Where the records' keys are; nullopt: they have none.
  std::optional<KeyPath> key = {};
  // The columns of their rows; empty: they have none.
  Schema schema = {};
  EnvelopeConfig envelope = {};
  ChangeColumns columns = {};

  // Of a format's configuration. Errors: INVALID_CONFIG.
  template <typename Config>
  static absl::StatusOr<JsonOptions> Of(const Config& config,
                                        const Schema& schema) {
    return Of(config.record_bytes_max, config.key, config.envelope, schema,
              config.type());
  }

 private:
  static absl::StatusOr<JsonOptions> Of(size_t record_bytes_max,
                                        const std::optional<std::string>& key,
                                        const EnvelopeConfig& envelope,
                                        const Schema& schema,
                                        absl::string_view format);
};

// Makes a record, with key and row, of each document, or a bad record: those
// with a JsonFault, tags "syntax", "trailing_data", "invalid_utf8",
// "invalid_unicode", "out_of_range", "too_deep", those too long,
// "record_too_large", and with columns those that do not fit them:
// "wrong_type", "null_value", "out_of_range". With an envelope the record is
// the row in it; documents that say no change are passed over, and those that
// are no envelope are bad: "text_envelope_err".
//
// Owner:   a parser. Threads: thread-compatible. Bound: RowReader's.
class JsonRecords {
 public:
  explicit JsonRecords(JsonOptions options);

  const JsonOptions& options() const { return options_; }
  size_t record_bytes_max() const { return options_.record_bytes_max; }
  // Where keys are in documents, for who walks over them anyway.
  const std::optional<KeyPath>& key() const { return document_key_; }
  uint32_t columns() const {
    return static_cast<uint32_t>(options_.schema.columns.size());
  }

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
  void AddBad(JsonTask& task, uint32_t begin, uint32_t end, ParseError error);
  // What the envelope text[begin, end), which is good, has in it; `base` and
  // `place` as above.
  void AddIndexedChange(JsonTask& task, uint32_t begin, uint32_t end,
                        uint32_t base, const uint32_t* place);
  void AddScannedChange(JsonTask& task, uint32_t begin, uint32_t end);
  template <typename Tokens>
  void AddChange(JsonTask& task, uint32_t begin, uint32_t end, Tokens tokens);

  const JsonOptions options_;
  const std::optional<KeyPath> document_key_;
  // Null without columns.
  const std::unique_ptr<RowReader> rows_;
  // Null without an envelope.
  const std::unique_ptr<ChangeReader> changes_;
};

inline void JsonRecords::AddIndexed(JsonTask& task, uint32_t begin,
                                    uint32_t end, uint32_t base,
                                    const uint32_t* place, bool has_escapes,
                                    const KeyToken& key) {
  if (changes_ != nullptr) {
    return AddIndexedChange(task, begin, end, base, place);
  }
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
