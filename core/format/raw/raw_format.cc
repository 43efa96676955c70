#include "core/format/raw/raw_format.h"

#include "core/base/error.h"
#include "core/base/status_macros.h"
#include "core/format/bad_record.h"
#include "core/format/format_config.h"
#include "core/format/line_cursor.h"
#include "core/format/line_encoder.h"
#include "core/format/line_splitter.h"

#include <utility>

namespace penstock::core {

ParseResult RawParser::Parse(const Fragment& fragment) {
  const absl::string_view text(fragment.block->data() + fragment.begin,
                               fragment.size);
  ResultBuilder result(fragment, progress_);
  uint32_t at = 0;
  while (at < text.size() && !result.IsFull()) {
    const Line line = LineAt(text, at, /*strip_cr=*/false);
    const uint32_t size = line.end - line.begin;
    if (size <= config_.record_bytes_max && !fragment.is_cut) [[likely]] {
      result.AddRecord({.value_begin = fragment.begin + line.begin,
                        .value_size = size,
                        .offset = fragment.offset + line.begin});
    } else {
      result.AddError(line.begin, RecordTooLarge(text.substr(line.begin, size),
                                                 config_.record_bytes_max));
    }
    result.AddLines(1);
    at = line.next;
  }
  return std::move(result).Build(at);
}

std::unique_ptr<Splitter> RawParser::MakeSplitter() const {
  return std::make_unique<LineSplitter>();
}

void RawParser::SetPosition(uint64_t record_number, uint64_t line) {
  progress_.record_number = record_number;
  progress_.line = line;
}

absl::StatusOr<std::unique_ptr<Parser>> MakeRawParser(
    const ComponentConfig& config, const Schema& schema) {
  ASSIGN_OR_RETURN(const RawConfig* const raw,
                   CheckFormatConfig<RawConfig>(config, "raw"));
  if (!schema.IsEmpty()) {
    return MakeError(Reason::INVALID_CONFIG,
                     "format raw: lines have no columns; leave the schema out, "
                     "or choose a format with fields, such as ndjson",
                     {{"field", "schema"}});
  }
  return std::make_unique<RawParser>(*raw);
}

absl::StatusOr<std::unique_ptr<RowEncoder>> MakeRawEncoder(
    const ComponentConfig& config, FrameKind frames, const Schema& /*schema*/) {
  const absl::Status checked =
      CheckFormatConfig<RawConfig>(config, "raw").status();
  if (!checked.ok()) return checked;
  return MakeTextEncoder(frames);
}

}  // namespace penstock::core
