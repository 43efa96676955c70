#include "client/cli/record_file.h"

#include "core/base/error.h"
#include "core/base/status_macros.h"
#include "core/format/csv/csv_format.h"
#include "core/format/json/json_format.h"
#include "core/format/msgpack/msgpack_format.h"
#include "core/sources/file/blocks.h"
#include "core/sources/file/fragment_reader.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>
#include <vector>

namespace penstock::client {
namespace {

using core::FrameKind;

constexpr size_t kBlockBytes = size_t{1} << 20;

// What `parser` makes of bytes that are whole records.
void ForEachValue(
    core::Parser& parser, absl::string_view bytes,
    absl::FunctionRef<void(uint64_t at, absl::string_view value)> on_value) {
  auto block = std::make_shared<core::Block>(bytes.size());
  std::memcpy(block->data(), bytes.data(), bytes.size());
  core::Fragment fragment = {.block = std::move(block),
                             .size = static_cast<uint32_t>(bytes.size()),
                             .is_last = true};
  while (fragment.size > 0) {
    const core::ParseResult result = parser.Parse(fragment);
    for (size_t i = 0; i < result.batch.record_count(); ++i) {
      const core::Record record = result.batch.At(i);
      on_value(static_cast<uint64_t>(record.meta.offset), *record.value);
    }
    // What is no record any more is one all the same.
    for (const core::ParseError& error : result.errors) {
      on_value(error.byte_offset, error.invalid_text);
    }
    fragment.RemovePrefix(result.bytes);
  }
}

// Of what is written. It has no keys, and may be longer than what came.
template <typename Config>
Config WrittenBy(const core::ComponentConfig& config) {
  auto written = static_cast<const Config&>(config);
  written.key.reset();
  written.record_bytes_max *= 4;
  if constexpr (requires { written.envelope; }) {
    // Only what was in it is written.
    written.envelope = {};
  }
  return written;
}

// Records, written one behind the other.
struct Written {
  core::FrameBuffer bytes;
  // Where each begins in them, and its offset in the input.
  std::vector<std::pair<size_t, uint64_t>> begins;
};

}  // namespace

absl::StatusOr<RecordFormat> RecordFormat::Make(
    const core::ComponentConfig& config, const core::Schema& schema) {
  RecordFormat format;
  constexpr FrameKind kFrames = FrameKind::kConcatenated;
  if (config.type() == "csv") {
    ASSIGN_OR_RETURN(format.parser_, core::MakeCsvParser(config, schema));
    ASSIGN_OR_RETURN(format.encoder_,
                     core::MakeCsvEncoder(config, kFrames, schema));
    auto written = WrittenBy<core::CsvConfig>(config);
    written.header = false;
    written.flexible = true;
    written.key_column.reset();
    ASSIGN_OR_RETURN(format.written_, core::MakeCsvParser(written));
    return format;
  }
  if (config.type() == "json") {
    ASSIGN_OR_RETURN(format.parser_, core::MakeJsonParser(config, schema));
    ASSIGN_OR_RETURN(format.encoder_,
                     core::MakeJsonEncoder(config, kFrames, schema));
    ASSIGN_OR_RETURN(format.written_,
                     core::MakeJsonParser(WrittenBy<core::JsonConfig>(config)));
    return format;
  }
  if (config.type() == "msgpack") {
    ASSIGN_OR_RETURN(format.parser_, core::MakeMsgpackParser(config, schema));
    ASSIGN_OR_RETURN(format.encoder_,
                     core::MakeMsgpackEncoder(config, kFrames, schema));
    ASSIGN_OR_RETURN(
        format.written_,
        core::MakeMsgpackParser(WrittenBy<core::MsgpackConfig>(config)));
    return format;
  }
  return core::MakeError(
      core::Reason::UNSUPPORTED,
      absl::StrCat("comparing records of the format ", config.type(),
                   ": raw, ndjson, json, csv and msgpack can be compared"));
}

absl::StatusOr<uint64_t> RecordFormat::ForEachInput(
    core::Content& content, bool whole_only,
    absl::FunctionRef<void(uint64_t offset, absl::string_view record)>
        on_record) {
  core::Blocks blocks(kBlockBytes);
  core::FragmentReader reader(content, *parser_, blocks);
  uint64_t skipped = 0;
  bool is_known = false;
  for (core::Tail tail = core::Tail::kHold;;) {
    ASSIGN_OR_RETURN(core::FragmentReader::Piece piece,
                     reader.Next(std::nullopt, tail));
    if (piece.fragment.has_value()) {
      if (!is_known) {
        ASSIGN_OR_RETURN(is_known, core::LearnPrologue(content, *parser_, 0));
      }
      const core::ParseResult result = parser_->Parse(*piece.fragment);
      if (result.bytes < piece.fragment->size) {
        reader.GiveBack(piece, result.bytes);
      }
      Written written;
      skipped += result.errors.size();
      for (size_t i = 0; i < result.batch.record_count(); ++i) {
        const core::Record record = result.batch.At(i);
        const size_t begin = written.bytes.size();
        if (!encoder_->Encode(record, written.bytes).ok()) {
          written.bytes.Truncate(begin);
          ++skipped;
          continue;
        }
        written.begins.emplace_back(begin,
                                    static_cast<uint64_t>(record.meta.offset));
      }
      ForEachValue(*written_, written.bytes.view(),
                   [&](uint64_t at, absl::string_view value) {
                     const auto behind = std::upper_bound(
                         written.begins.begin(), written.begins.end(),
                         std::pair<size_t, uint64_t>(at, UINT64_MAX));
                     on_record(std::prev(behind)->second, value);
                   });
    }
    if (!piece.at_end) continue;
    // What lacks its end is a record where the input ends well.
    if (tail == core::Tail::kGive || whole_only ||
        content.DefectAtEnd().has_value()) {
      return skipped;
    }
    tail = core::Tail::kGive;
  }
}

absl::Status RecordFormat::ForEachOutput(
    core::FileSinkLines& bytes,
    absl::FunctionRef<void(const std::string& path, uint64_t offset,
                           absl::string_view record)>
        on_record) {
  const std::unique_ptr<core::Splitter> splitter = written_->MakeSplitter();
  absl::string_view records;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, bytes.NextRecords(*splitter, records));
    if (!more) return absl::OkStatus();
    ForEachValue(*written_, records, [&](uint64_t at, absl::string_view value) {
      const core::FileSinkLines::Place place = bytes.PlaceAt(at);
      on_record(place.path, place.offset, value);
    });
  }
}

}  // namespace penstock::client
