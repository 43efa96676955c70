#include "core/format/raw/raw_format.h"

#include "core/base/error.h"
#include "core/base/status_macros.h"
#include "core/format/bad_record.h"
#include "core/format/format_config.h"
#include "core/format/line_cursor.h"
#include "core/format/line_encoder.h"
#include "core/format/line_splitter.h"

#include <algorithm>
#include <optional>
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

namespace {

// A blob has no end but its input's.
class BlobSplitter final : public Splitter {
 public:
  std::optional<size_t> Input(absl::string_view /*data*/) override {
    return std::nullopt;
  }
  void Clear() override {}
  std::optional<size_t> PassSeam(char /*before*/,
                                 absl::string_view /*behind*/) const override {
    return std::nullopt;
  }
};

}  // namespace

ParseResult BlobParser::Parse(const Fragment& fragment) {
  const absl::string_view blob(fragment.block->data() + fragment.begin,
                               fragment.size);
  ResultBuilder result(fragment, progress_);
  if (!blob.empty()) {
    if (blob.size() <= config_.record_bytes_max && !fragment.is_cut) {
      result.AddRecord({.value_begin = fragment.begin,
                        .value_size = fragment.size,
                        .offset = fragment.offset});
    } else {
      result.AddError(0, RecordTooLarge(blob, config_.record_bytes_max));
    }
    result.AddLines(
        static_cast<uint64_t>(std::count(blob.begin(), blob.end(), '\n')) +
        fragment.cut_lines);
  }
  return std::move(result).Build(fragment.size);
}

std::unique_ptr<Splitter> BlobParser::MakeSplitter() const {
  return std::make_unique<BlobSplitter>();
}

void BlobParser::SetPosition(uint64_t record_number, uint64_t line) {
  progress_.record_number = record_number;
  progress_.line = line;
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
  if (raw->is_blob) return std::make_unique<BlobParser>(*raw);
  return std::make_unique<RawParser>(*raw);
}

absl::StatusOr<std::unique_ptr<RowEncoder>> MakeRawEncoder(
    const ComponentConfig& config, FrameKind frames, const Schema& /*schema*/) {
  ASSIGN_OR_RETURN(const RawConfig* const raw,
                   CheckFormatConfig<RawConfig>(config, "raw"));
  if (raw->is_blob && frames == FrameKind::kConcatenated) {
    return MakeError(Reason::INVALID_CONFIG,
                     "format raw: a reader could not part blobs one behind the "
                     "other; send messages, or lines",
                     {{"field", "format.raw.framing"}});
  }
  return MakeTextEncoder(frames);
}

}  // namespace penstock::core
