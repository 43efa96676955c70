#include "core/format/ndjson/ndjson_format.h"

#include "core/base/error.h"
#include "core/base/status_macros.h"
#include "core/format/bad_record.h"
#include "core/format/line_encoder.h"
#include "core/format/line_splitter.h"
#include "core/format/ndjson/line_checker.h"
#include "core/record/key_hash.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace penstock::core {
namespace {

constexpr absl::string_view kByteOrderMark = "\xef\xbb\xbf";

// Indexing and walking the same bytes in turn is fastest while they and their
// indexes stay in the processor's nearest caches.
constexpr uint32_t kIndexBytesMax = uint32_t{64} << 10;
constexpr uint32_t kIndexBytesMin = 256;

absl::string_view TagOf(JsonFault fault) {
  switch (fault) {
    case JsonFault::kNone:
      break;
    case JsonFault::kSyntax:
      return "syntax";
    case JsonFault::kTrailingData:
      return "trailing_data";
    case JsonFault::kInvalidUtf8:
      return "invalid_utf8";
    case JsonFault::kInvalidUnicode:
      return "invalid_unicode";
    case JsonFault::kOutOfRange:
      return "out_of_range";
    case JsonFault::kTooDeep:
      return "too_deep";
  }
  return "none";
}

ParseError ErrorOf(JsonProblem problem) {
  ParseError error;
  error.tag = std::string(TagOf(problem.fault));
  error.description = std::move(problem.description);
  if (!problem.field.empty()) error.field = std::move(problem.field);
  error.suggestion = std::move(problem.suggestion);
  return error;
}

}  // namespace

// One call of Parse.
struct NdjsonParser::Task {
  const Fragment& fragment;
  // The fragment's bytes; positions of lines are in it.
  const absl::string_view text;
  // Bytes that may be read from text.data() on.
  const size_t readable;
  ResultBuilder result;
};

NdjsonParser::NdjsonParser(size_t record_bytes_max, std::optional<KeyPath> key,
                           const Schema& schema)
    : record_bytes_max_(record_bytes_max),
      key_(std::move(key)),
      rows_(schema.IsEmpty() ? nullptr : std::make_unique<RowReader>(schema)),
      index_bytes_(kIndexBytesMax) {}

ParseResult NdjsonParser::Parse(const Fragment& fragment) {
  const size_t columns = rows_ == nullptr ? 0 : rows_->row().size();
  Task task{.fragment = fragment,
            .text = {fragment.block->data() + fragment.begin, fragment.size},
            .readable = fragment.block->capacity() - fragment.begin,
            .result = {fragment, progress_, static_cast<uint32_t>(columns)}};
  uint32_t at = 0;
  if (fragment.offset == 0 && absl::StartsWith(task.text, kByteOrderMark)) {
    at = static_cast<uint32_t>(kByteOrderMark.size());
  }
  while (at < task.text.size() && !task.result.IsFull()) {
    at = ParseLines(task, at);
  }
  return std::move(task.result).Build(at);
}

uint32_t NdjsonParser::ParseLines(Task& task, uint32_t begin) {
  const absl::string_view text = task.text;
  while (true) {
    // As many lines as fit; one if none does.
    const absl::string_view window = text.substr(begin, index_bytes_);
    uint32_t end = begin + static_cast<uint32_t>(window.size());
    bool single = false;
    if (end < text.size()) {
      const size_t newline = window.rfind('\n');
      single = newline == absl::string_view::npos;
      end = single ? LineAt(text, begin, false).next
                   : begin + static_cast<uint32_t>(newline) + 1;
    }
    const uint32_t size = end - begin;
    if (size <= StructuralWalker::kTextMax &&
        walker_.Index(text.substr(begin, size), task.readable - begin)) {
      index_bytes_ = std::min(index_bytes_ * 2, kIndexBytesMax);
      return ParseIndexed(task, begin, end);
    }
    // A bad line hides the ones around it from the walker: come closer to it.
    if (!single && index_bytes_ > kIndexBytesMin) {
      index_bytes_ /= 2;
      continue;
    }
    uint32_t at = begin;
    while (at < end && !task.result.IsFull()) {
      const Line line = LineAt(text, at, true);
      ParseAlone(task, line);
      at = line.next;
    }
    return at;
  }
}

uint32_t NdjsonParser::ParseIndexed(Task& task, uint32_t begin, uint32_t end) {
  const absl::string_view text = task.text.substr(0, end);
  size_t backslash = text.find('\\', begin);
  uint32_t at = begin;
  while (at < end && !task.result.IsFull()) {
    const Line line = LineAt(text, at, true);
    at = line.next;
    walker_.SkipTo(line.begin - begin);
    const bool has_escapes = backslash < line.end;
    // A blank line is left to ParseAlone, too.
    bool good = !IsTooLarge(task, line) && !walker_.IsBlank(line.end - begin);
    if (has_escapes) {
      // To simdjson without SIMD a string may go on behind an escaped LF: what
      // follows has to be indexed again.
      if (text[line.end - 1] == '\\') {
        ParseAlone(task, line);
        return line.next;
      }
      good = good && JsonEscapesAreGood(text.substr(0, line.end), backslash);
      backslash = text.find('\\', line.end);
    }
    const uint32_t* const place = walker_.place();
    if (!key_.has_value()) {
      if (good && walker_.IsGood(line.end - begin, nullptr)) [[likely]] {
        AddIndexed(task, line, begin, place, has_escapes, {});
        continue;
      }
    } else {
      KeyTracker key(*key_, has_escapes);
      if (good && walker_.IsGood(line.end - begin, &key)) [[likely]] {
        AddIndexed(task, line, begin, place, has_escapes, key.token());
        continue;
      }
    }
    ParseAlone(task, line);
  }
  return at;
}

bool NdjsonParser::IsTooLarge(const Task& task, const Line& line) const {
  return line.end - line.begin > record_bytes_max_ || task.fragment.is_cut;
}

void NdjsonParser::ParseAlone(Task& task, const Line& line) {
  const absl::string_view document =
      task.text.substr(line.begin, line.end - line.begin);
  if (IsTooLarge(task, line)) {
    AddError(task, line, RecordTooLarge(document, record_bytes_max_));
    return;
  }
  if (IsJsonBlank(document)) {
    task.result.AddLines(1);
    return;
  }
  std::optional<KeyTracker> key;
  if (key_.has_value()) {
    key.emplace(*key_, document.find('\\') != absl::string_view::npos);
  }
  JsonProblem problem =
      LineChecker(document, key.has_value() ? &*key : nullptr).Check();
  if (problem.fault == JsonFault::kNone) {
    if (rows_ != nullptr) {
      if (!rows_->ReadScanned(document, task.result.value_arena())) {
        return AddBadRow(task, line);
      }
      task.result.AddRow(rows_->row());
    }
    AddRecord(task, line, key.has_value() ? key->token() : KeyToken{},
              line.begin);
    return;
  }
  ParseError error = ErrorOf(std::move(problem));
  error.invalid_text = CutInvalidText(document);
  AddError(task, line, std::move(error));
}

inline void NdjsonParser::AddIndexed(Task& task, const Line& line,
                                     uint32_t begin, const uint32_t* place,
                                     bool has_escapes, const KeyToken& key) {
  if (rows_ != nullptr) {
    if (!rows_->ReadIndexed(task.text.data() + begin, line.begin - begin, place,
                            has_escapes, task.result.value_arena())) {
      return AddBadRow(task, line);
    }
    task.result.AddRow(rows_->row());
  }
  AddRecord(task, line, key, begin);
}

void NdjsonParser::AddBadRow(Task& task, const Line& line) {
  ParseError error = rows_->TakeError();
  error.invalid_text =
      CutInvalidText(task.text.substr(line.begin, line.end - line.begin));
  AddError(task, line, std::move(error));
}

// `key` begins at its place in the text from `key_base` on.
void NdjsonParser::AddRecord(Task& task, const Line& line, const KeyToken& key,
                             uint32_t key_base) {
  const uint32_t begin = task.fragment.begin + line.begin;
  RecordEntry entry{.value_begin = begin,
                    .value_size = line.end - line.begin,
                    .offset = task.fragment.offset + line.begin};
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
  task.result.AddLines(1);
}

void NdjsonParser::AddError(Task& task, const Line& line, ParseError error) {
  task.result.AddError(line.begin, std::move(error));
  task.result.AddLines(1);
}

std::unique_ptr<Splitter> NdjsonParser::MakeSplitter() const {
  return std::make_unique<LineSplitter>();
}

std::unique_ptr<Parser> NdjsonParser::Fork() const {
  return std::make_unique<NdjsonParser>(
      record_bytes_max_, key_, rows_ == nullptr ? Schema() : rows_->schema());
}

void NdjsonParser::SetPosition(uint64_t record_number, uint64_t line) {
  progress_.record_number = record_number;
  progress_.line = line;
}

namespace {

absl::StatusOr<const NdjsonConfig*> CheckConfig(const ComponentConfig& config) {
  if (config.type() != "ndjson") {
    return MakeError(Reason::INVALID_CONFIG,
                     absl::StrCat("make format ndjson: the configuration is "
                                  "one of ",
                                  config.type()));
  }
  const auto* const ndjson = static_cast<const NdjsonConfig*>(&config);
  if (ndjson->record_bytes_max == 0) {
    return MakeError(Reason::INVALID_CONFIG,
                     "format ndjson: record_bytes_max is 0; set at least 1",
                     {{"field", "record_bytes_max"}});
  }
  return ndjson;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Parser>> MakeNdjsonParser(
    const ComponentConfig& config, const Schema& schema) {
  ASSIGN_OR_RETURN(const NdjsonConfig* const ndjson, CheckConfig(config));
  std::optional<KeyPath> key;
  if (ndjson->key.has_value()) {
    ASSIGN_OR_RETURN(key, KeyPath::Parse(*ndjson->key));
  }
  return std::make_unique<NdjsonParser>(ndjson->record_bytes_max,
                                        std::move(key), schema);
}

absl::StatusOr<std::unique_ptr<RowEncoder>> MakeNdjsonEncoder(
    const ComponentConfig& config, FrameKind frames, const Schema& /*schema*/) {
  const absl::Status checked = CheckConfig(config).status();
  if (!checked.ok()) return checked;
  return MakeTextEncoder(frames);
}

}  // namespace penstock::core
