#include "core/format/msgpack/msgpack_format.h"

#include "core/base/status_macros.h"
#include "core/format/bad_record.h"
#include "core/format/change_form.h"
#include "core/format/format_config.h"
#include "core/format/msgpack/msgpack_checker.h"
#include "core/format/msgpack/msgpack_encoder.h"
#include "core/format/msgpack/msgpack_item.h"
#include "core/format/msgpack/msgpack_rows.h"
#include "core/record/key_hash.h"

#include <absl/strings/str_cat.h>

#include <string>
#include <utility>

namespace penstock::core {
namespace {

ParseError ErrorOf(const MsgpackVerdict& verdict) {
  ParseError error;
  error.tag = "syntax";
  switch (verdict.fault) {
    case MsgpackFault::kNone:
    case MsgpackFault::kTrailingData:
      // A scanner ends a value where the checker does.
      error.tag = "trailing_data";
      error.description = absl::StrCat("the value ends at byte ",
                                       verdict.position, " of the record");
      break;
    case MsgpackFault::kSyntax:
      error.description = absl::StrCat("byte ", verdict.position,
                                       " of the record is 0xc1, which begins "
                                       "no value");
      error.suggestion = "see whether the input is MessagePack";
      break;
    case MsgpackFault::kCutOff:
      error.description = "the input ends inside of the record";
      error.suggestion = "see whether it was cut off";
      break;
    case MsgpackFault::kTooDeep:
      error.tag = "too_deep";
      error.description = absl::StrCat("more than ", kMsgpackDepthMax,
                                       " levels of arrays and maps");
      error.suggestion = "flatten the record";
      break;
  }
  return error;
}

}  // namespace

std::optional<size_t> MsgpackSplitter::Input(absl::string_view data) {
  std::optional<size_t> boundary;
  for (size_t at = 0; at < data.size();) {
    const std::optional<size_t> end = scanner_.Next(data, at);
    if (!end.has_value()) break;
    boundary = at = *end;
  }
  return boundary;
}

MsgpackParser::MsgpackParser(Options options)
    : options_(std::move(options)),
      rows_(options_.schema.IsEmpty()
                ? nullptr
                : std::make_unique<RowReader>(options_.schema)),
      changes_(ChangeReader::MakeIfAny(options_.envelope, options_.columns,
                                       KeyPath::NamesOf(options_.key),
                                       "bin_envelope_err")) {}

ParseResult MsgpackParser::Parse(const Fragment& fragment) {
  const absl::string_view text(fragment.block->data() + fragment.begin,
                               fragment.size);
  const size_t columns = rows_ == nullptr ? 0 : rows_->row().size();
  ResultBuilder result(fragment, progress_, static_cast<uint32_t>(columns));
  const bool has_key = options_.key.has_value() && changes_ == nullptr;
  const KeyPath* const key = has_key ? &*options_.key : nullptr;
  size_t at = 0;
  while (at < text.size() && !result.IsFull()) {
    // Where a good value ends the checker says; of a bad one a scanner does.
    MsgpackVerdict verdict = CheckMsgpack(text.substr(at), key);
    size_t end = at + verdict.position;
    if (verdict.fault == MsgpackFault::kTrailingData) {
      verdict.fault = MsgpackFault::kNone;
    } else if (verdict.fault != MsgpackFault::kNone) {
      end = MsgpackScanner().Next(text, at).value_or(text.size());
      verdict = CheckMsgpack(text.substr(at, end - at), key);
    }
    const absl::string_view value = text.substr(at, end - at);
    const auto begin = static_cast<uint32_t>(at);
    if (fragment.is_cut || value.size() > options_.record_bytes_max) {
      result.AddError(begin, RecordTooLarge(value, options_.record_bytes_max));
    } else {
      AddValue(fragment, value, verdict, begin, result);
    }
    at = end;
  }
  return std::move(result).Build(static_cast<uint32_t>(at));
}

void MsgpackParser::AddValue(const Fragment& fragment, absl::string_view text,
                             const MsgpackVerdict& verdict, uint32_t begin,
                             ResultBuilder& result) {
  std::optional<ParseError> error;
  if (verdict.fault != MsgpackFault::kNone) {
    error = ErrorOf(verdict);
  } else if (changes_ != nullptr) {
    return AddChange(fragment, text, begin, result);
  } else if (rows_ != nullptr) {
    if (ReadPackedRow(*rows_, text, result.value_arena())) {
      result.AddRow(rows_->row());
    } else {
      error = rows_->TakeError();
    }
  }
  if (error.has_value()) {
    error->invalid_text = CutInvalidText(text);
    return result.AddError(begin, *std::move(error));
  }
  RecordEntry entry{.value_begin = fragment.begin + begin,
                    .value_size = static_cast<uint32_t>(text.size()),
                    .offset = fragment.offset + begin};
  if (verdict.key.has_value()) AddKey(text, *verdict.key, result, entry);
  result.AddRecord(entry);
}

void MsgpackParser::AddKey(absl::string_view text, size_t at,
                           ResultBuilder& result, RecordEntry& entry) const {
  MsgpackCursor cursor(text.substr(at));
  const MsgpackItem item = cursor.Take();
  absl::string_view key = item.bytes;
  MsgpackDigits digits;
  switch (item.kind) {
    case MsgpackKind::kStr:
    case MsgpackKind::kBin:
      entry.key_begin =
          entry.value_begin + static_cast<uint32_t>(key.data() - text.data());
      break;
    case MsgpackKind::kBool:
    case MsgpackKind::kNegative:
    case MsgpackKind::kUnsigned:
    case MsgpackKind::kFloat32:
    case MsgpackKind::kFloat64:
      key = PrintMsgpack(item, digits);
      entry.key_begin = result.AddToArena(key);
      entry.key_in_arena = true;
      break;
    case MsgpackKind::kNil:
    case MsgpackKind::kArray:
    case MsgpackKind::kMap:
    case MsgpackKind::kExt:
    case MsgpackKind::kInvalid:
      return;
  }
  entry.key_size = static_cast<uint32_t>(key.size());
  entry.key_hash = KeyHash(key);
  entry.has_key_hash = true;
}

std::unique_ptr<Parser> MsgpackParser::Fork() const {
  return std::make_unique<MsgpackParser>(options_);
}

absl::StatusOr<std::unique_ptr<Parser>> MakeMsgpackParser(
    const ComponentConfig& config, const Schema& schema) {
  ASSIGN_OR_RETURN(const MsgpackConfig* const msgpack,
                   CheckFormatConfig<MsgpackConfig>(config, "msgpack"));
  MsgpackParser::Options options{.record_bytes_max = msgpack->record_bytes_max,
                                 .schema = schema,
                                 .envelope = msgpack->envelope};
  ASSIGN_OR_RETURN(options.key, KeyPath::ParseIfAny(msgpack->key));
  ASSIGN_OR_RETURN(options.columns,
                   ChangeColumns::Make(msgpack->envelope, schema, "msgpack"));
  return std::make_unique<MsgpackParser>(std::move(options));
}

absl::StatusOr<std::unique_ptr<RowEncoder>> MakeMsgpackEncoder(
    const ComponentConfig& config, FrameKind frames, const Schema& schema) {
  ASSIGN_OR_RETURN(const MsgpackConfig* const msgpack,
                   CheckFormatConfig<MsgpackConfig>(config, "msgpack"));
  return std::make_unique<MsgpackEncoder>(
      schema, frames, FindOpColumn(msgpack->envelope.op, schema));
}

}  // namespace penstock::core
