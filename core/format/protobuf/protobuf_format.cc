#include "core/format/protobuf/protobuf_format.h"

#include "core/base/error.h"
#include "core/base/status_macros.h"
#include "core/format/bad_record.h"
#include "core/format/change_form.h"
#include "core/format/format_config.h"
#include "core/format/message_encoder.h"
#include "core/format/protobuf/protobuf_tokens.h"
#include "core/format/protobuf/protobuf_wire.h"
#include "core/format/rows/change_adder.h"
#include "core/format/rows/row_json.h"

#include <absl/strings/str_cat.h>

#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

absl::string_view Explain(ProtobufFault fault) {
  switch (fault) {
    case ProtobufFault::kNone:
      break;
    case ProtobufFault::kCutOff:
      return "the record ends inside of a value";
    case ProtobufFault::kBadTag:
      return "a tag that no field has";
    case ProtobufFault::kBadNumber:
      return "a number has more bytes than any";
    case ProtobufFault::kBadLength:
      return "a length is beyond what there is";
    case ProtobufFault::kBadPacked:
      return "the last of packed numbers is not whole";
    case ProtobufFault::kNotUtf8:
      return "a string is no UTF-8";
    case ProtobufFault::kNoRequired:
      return "a required field is missing";
    case ProtobufFault::kTooDeep:
      return "too many levels of messages";
    case ProtobufFault::kTooMany:
      return "messages with more fields than so many bytes may stand for";
  }
  return "good";
}

ParseError ErrorOf(absl::string_view tag, std::string description,
                   absl::string_view suggestion) {
  ParseError error;
  error.tag = std::string(tag);
  error.description = std::move(description);
  error.suggestion = std::string(suggestion);
  return error;
}

ParseError ErrorOf(ProtobufFault fault, size_t at) {
  return ErrorOf(
      fault == ProtobufFault::kTooDeep      ? "too_deep"
      : fault == ProtobufFault::kNoRequired ? "missing_field"
                                            : "syntax",
      absl::StrCat(Explain(fault), ", at byte ", at, " of the record"),
      "see whether it was written with this schema");
}

}  // namespace

bool ReadMessagePath(absl::string_view record, size_t& at,
                     std::vector<uint32_t>& path) {
  path.clear();
  uint64_t raw = 0;
  if (!ReadVarint(record, at, raw)) return false;
  const int64_t count = FromZigzag(raw);
  if (count < 0 || count > int64_t{kProtobufDepthMax}) return false;
  if (count == 0) path.push_back(0);
  for (int64_t i = 0; i < count; ++i) {
    if (!ReadVarint(record, at, raw)) return false;
    const int64_t place = FromZigzag(raw);
    if (place < 0 || place > INT32_MAX) return false;
    path.push_back(static_cast<uint32_t>(place));
  }
  return true;
}

ProtobufParser::ProtobufParser(Options options)
    : options_(std::move(options)),
      rows_(options_.schema),
      changes_(options_.envelope, options_.columns,
               KeyPath::NamesOf(options_.key), "bin_envelope_err"),
      cache_(options_.written_with != nullptr
                 ? nullptr
                 : std::make_unique<SchemaCache>(options_.registry,
                                                 options_.make_source,
                                                 options_.language)) {}

ParseResult ProtobufParser::Parse(const Fragment& fragment) {
  const absl::string_view record(fragment.block->data() + fragment.begin,
                                 fragment.size);
  ResultBuilder result(fragment, progress_,
                       static_cast<uint32_t>(rows_.row().size()));
  if (record.empty()) return std::move(result).Build(0);
  std::optional<ParseError> error;
  if (fragment.is_cut || record.size() > options_.record_bytes_max) {
    error = RecordTooLarge(record, options_.record_bytes_max);
  } else if ((error = AddRecord(fragment, record, result)).has_value()) {
    error->invalid_text = CutInvalidText(record);
  }
  if (error.has_value()) result.AddError(0, *std::move(error));
  return std::move(result).Build(fragment.size);
}

std::optional<ParseError> ProtobufParser::FindWritten(absl::string_view record,
                                                      Written& written) const {
  if (cache_ == nullptr) {
    written = {.schema = options_.written_with.get(),
               .message = options_.message};
    return std::nullopt;
  }
  const std::optional<uint32_t> id = ReadSchemaId(record);
  std::vector<uint32_t> path;
  written.begin = kSchemaIdBytes;
  if (!id.has_value() || !ReadMessagePath(record, written.begin, path)) {
    return ErrorOf("bad_frame",
                   "the record does not begin with 0, the number of a schema "
                   "and the place of its message",
                   "see whether its writer uses a schema registry; if it does "
                   "not, give `descriptor_set` and `message`");
  }
  const SchemaCache::Entry* const entry = cache_->Find(*id);
  if (entry == nullptr || entry->schema == nullptr) {
    return ErrorOf("unknown_schema",
                   entry != nullptr
                       ? entry->problem
                       : absl::StrCat("schema ", *id, " was not asked for"),
                   "see whether `registry.url` is the registry of its writer");
  }
  // The compiler's language has read it.
  written.schema = static_cast<const ProtobufSchema*>(entry->schema.get());
  const std::optional<uint32_t> message = written.schema->FindByPath(path);
  if (!message.has_value()) {
    return ErrorOf("bad_frame",
                   absl::StrCat("schema ", *id, " has no such message"),
                   "see whether it was written with this schema");
  }
  written.message = *message;
  return std::nullopt;
}

std::optional<ParseError> ProtobufParser::AddRecord(const Fragment& fragment,
                                                    absl::string_view record,
                                                    ResultBuilder& result) {
  Written written;
  std::optional<ParseError> error = FindWritten(record, written);
  if (error.has_value()) return error;
  size_t at = 0;
  const ProtobufFault fault = document_.Read(*written.schema, written.message,
                                             record, written.begin, at);
  if (fault != ProtobufFault::kNone) return ErrorOf(fault, at);
  return AddChangeTo(result, changes_, &rows_, ProtobufTokens(document_),
                     {.block = fragment.block->data(),
                      .document = record,
                      .offset = fragment.offset},
                     [&fragment](const ProtobufTokens& /*row*/) {
                       return ChangeImage{.begin = fragment.begin,
                                          .size = fragment.size};
                     });
}

absl::StatusOr<std::unique_ptr<Parser>> MakeProtobufParser(
    const ComponentConfig& config, const Schema& schema,
    MakeSchemaSource make_source, const ProtobufCompiler& compiler) {
  ASSIGN_OR_RETURN(const ProtobufConfig* const protobuf,
                   CheckFormatConfig<ProtobufConfig>(config, "protobuf"));
  RETURN_IF_ERROR(CheckProtobufConfig(*protobuf));
  if (schema.IsEmpty()) {
    return MakeError(Reason::INVALID_CONFIG,
                     "format protobuf: there are no columns to read it into; "
                     "declare a `schema`, or pass bytes with the format raw",
                     {{"field", "schema"}});
  }
  ProtobufParser::Options options{
      .record_bytes_max = protobuf->record_bytes_max,
      .schema = schema,
      .envelope = protobuf->envelope,
      .make_source = std::move(make_source),
      .language = compiler.language};
  ASSIGN_OR_RETURN(options.key, KeyPath::ParseIfAny(protobuf->key));
  ASSIGN_OR_RETURN(options.columns,
                   ChangeColumns::Make(protobuf->envelope, schema, "protobuf"));
  if (protobuf->registry.has_value()) {
    options.registry = *protobuf->registry;
    return std::make_unique<ProtobufParser>(std::move(options));
  }
  ASSIGN_OR_RETURN(options.written_with,
                   compiler.read_descriptor_set(protobuf->descriptor_set));
  const std::optional<uint32_t> message =
      options.written_with->FindByName(protobuf->message);
  if (!message.has_value()) {
    return MakeError(
        Reason::INVALID_CONFIG,
        absl::StrCat("format.protobuf.message: the descriptor set has no "
                     "message '",
                     protobuf->message, "'; give it as `package.Name`"),
        {{"field", "format.protobuf.message"}});
  }
  options.message = *message;
  return std::make_unique<ProtobufParser>(std::move(options));
}

absl::StatusOr<std::unique_ptr<RowEncoder>> MakeProtobufEncoder(
    const ComponentConfig& config, FrameKind frames, const Schema& schema) {
  ASSIGN_OR_RETURN(const ProtobufConfig* const protobuf,
                   CheckFormatConfig<ProtobufConfig>(config, "protobuf"));
  switch (frames) {
    case FrameKind::kConcatenated:
      return std::make_unique<RowJsonEncoder>(
          schema, frames, FindOpColumn(protobuf->envelope.op, schema));
    case FrameKind::kMessages:
      // The record is the message, with its envelope.
      return std::make_unique<MessageEncoder>(
          MessageEncoder::Deletions::kAsTheyStand);
  }
  return MakeError(Reason::INTERNAL, "make format protobuf: unknown frames");
}

}  // namespace penstock::core
