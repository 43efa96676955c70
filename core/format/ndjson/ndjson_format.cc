#include "core/format/ndjson/ndjson_format.h"

#include "core/base/status_macros.h"
#include "core/format/change_form.h"
#include "core/format/format_config.h"
#include "core/format/line_encoder.h"
#include "core/format/line_splitter.h"
#include "core/format/ndjson/json_token.h"
#include "core/format/rows/row_json.h"

#include <algorithm>
#include <utility>

namespace penstock::core {
namespace {

constexpr uint32_t kIndexBytesMin = 256;

}  // namespace

ParseResult NdjsonParser::Parse(const Fragment& fragment) {
  JsonTask task(fragment, progress_, records_.columns());
  uint32_t at = task.begin;
  while (at < task.text.size() && !task.result.IsFull()) {
    at = ParseLines(task, at);
  }
  return std::move(task.result).Build(at);
}

uint32_t NdjsonParser::ParseLines(JsonTask& task, uint32_t begin) {
  const absl::string_view text = task.text;
  // Bytes that may be read from text[begin] on.
  const size_t readable =
      task.fragment.block->capacity() - task.fragment.begin - begin;
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
        walker_.Index(text.substr(begin, size), readable)) {
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

uint32_t NdjsonParser::ParseIndexed(JsonTask& task, uint32_t begin,
                                    uint32_t end) {
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
    if (!records_.key().has_value()) {
      if (good && walker_.IsGood(line.end - begin, nullptr)) [[likely]] {
        records_.AddIndexed(task, line.begin, line.end, begin, place,
                            has_escapes, {});
        task.result.AddLines(1);
        continue;
      }
    } else {
      KeyTracker key(*records_.key(), has_escapes);
      if (good && walker_.IsGood(line.end - begin, &key)) [[likely]] {
        records_.AddIndexed(task, line.begin, line.end, begin, place,
                            has_escapes, key.token());
        task.result.AddLines(1);
        continue;
      }
    }
    ParseAlone(task, line);
  }
  return at;
}

bool NdjsonParser::IsTooLarge(const JsonTask& task, const Line& line) const {
  return line.end - line.begin > records_.record_bytes_max() ||
         task.fragment.is_cut;
}

void NdjsonParser::ParseAlone(JsonTask& task, const Line& line) {
  const absl::string_view document =
      task.text.substr(line.begin, line.end - line.begin);
  if (IsTooLarge(task, line)) {
    records_.AddTooLarge(task, line.begin, line.end);
  } else if (!IsJsonBlank(document)) {
    records_.Add(task, line.begin, line.end);
  }
  task.result.AddLines(1);
}

std::unique_ptr<Splitter> NdjsonParser::MakeSplitter() const {
  return std::make_unique<LineSplitter>();
}

std::unique_ptr<Parser> NdjsonParser::Fork() const {
  return std::make_unique<NdjsonParser>(records_.options());
}

void NdjsonParser::SetPosition(uint64_t record_number, uint64_t line) {
  progress_.record_number = record_number;
  progress_.line = line;
}

absl::StatusOr<std::unique_ptr<Parser>> MakeNdjsonParser(
    const ComponentConfig& config, const Schema& schema) {
  ASSIGN_OR_RETURN(const NdjsonConfig* const ndjson,
                   CheckFormatConfig<NdjsonConfig>(config, "ndjson"));
  ASSIGN_OR_RETURN(JsonOptions options, JsonOptions::Of(*ndjson, schema));
  return std::make_unique<NdjsonParser>(std::move(options));
}

absl::StatusOr<std::unique_ptr<RowEncoder>> MakeNdjsonEncoder(
    const ComponentConfig& config, FrameKind frames, const Schema& schema) {
  ASSIGN_OR_RETURN(const NdjsonConfig* const ndjson,
                   CheckFormatConfig<NdjsonConfig>(config, "ndjson"));
  if (ndjson->envelope.HasColumns()) {
    return std::make_unique<RowJsonEncoder>(
        schema, frames, FindOpColumn(ndjson->envelope.op, schema));
  }
  return MakeTextEncoder(frames);
}

}  // namespace penstock::core
