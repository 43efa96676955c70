#include "core/format/protobuf/protobuf_format.h"

#include "core/base/error.h"
#include "core/base/status_macros.h"
#include "core/format/format_config.h"
#include "core/format/protobuf/protobuf_tokens.h"
#include "core/format/protobuf/protobuf_wire.h"
#include "core/format/rows/whole_record.h"

#include <absl/strings/str_cat.h>

#include <string>
#include <utility>

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

ParseError ErrorOf(ProtobufFault fault, size_t at) {
  return MakeRecordError(
      fault == ProtobufFault::kTooDeep      ? "too_deep"
      : fault == ProtobufFault::kNoRequired ? "missing_field"
                                            : "syntax",
      absl::StrCat(Explain(fault), ", at byte ", at, " of the record"),
      "see whether it was written with this schema");
}

}  // namespace

bool ReadMessagePath(absl::string_view record, size_t& at, ProtobufPath& path) {
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
  return ParseWholeRecord(fragment, progress_, rows_, options_.record_bytes_max,
                          [&](absl::string_view record, ResultBuilder& result) {
                            return AddRecord(fragment, record, result);
                          });
}

std::optional<ParseError> ProtobufParser::FindWritten(absl::string_view record,
                                                      Written& written) const {
  if (cache_ == nullptr) {
    written = {.schema = options_.written_with.get(),
               .message = options_.message};
    return std::nullopt;
  }
  const std::optional<uint32_t> id = ReadSchemaId(record);
  ProtobufPath path;
  written.begin = kSchemaIdBytes;
  if (!id.has_value() || !ReadMessagePath(record, written.begin, path)) {
    return MakeRecordError(
        "bad_frame",
        "the record does not begin with 0, the number of a schema "
        "and the place of its message",
        "see whether its writer uses a schema registry; if it does "
        "not, give `descriptor_set` and `message`");
  }
  std::string problem;
  // The compiler's language has read it.
  written.schema =
      static_cast<const ProtobufSchema*>(cache_->FindSchema(*id, problem));
  if (written.schema == nullptr) {
    return MakeRecordError(
        "unknown_schema", std::move(problem),
        "see whether `registry.url` is the registry of its writer");
  }
  const std::optional<uint32_t> message = written.schema->FindByPath(path);
  if (!message.has_value()) {
    return MakeRecordError("bad_frame",
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
  return AddWholeRecord(fragment, changes_, rows_, ProtobufTokens(document_),
                        result);
}

absl::StatusOr<std::unique_ptr<Parser>> MakeProtobufParser(
    const ComponentConfig& config, const Schema& schema,
    MakeSchemaSource make_source, const ProtobufCompiler& compiler) {
  ASSIGN_OR_RETURN(const ProtobufConfig* const protobuf,
                   CheckFormatConfig<ProtobufConfig>(config, "protobuf"));
  RETURN_IF_ERROR(CheckProtobufConfig(*protobuf));
  RETURN_IF_ERROR(CheckHasColumns("protobuf", schema));
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
  return MakeWholeRecordEncoder("protobuf", protobuf->envelope, frames, schema);
}

}  // namespace penstock::core
