#include "core/format/avro/avro_format.h"

#include "core/base/status_macros.h"
#include "core/format/avro/avro_cursor.h"
#include "core/format/avro/avro_tokens.h"
#include "core/format/format_config.h"
#include "core/format/rows/whole_record.h"

#include <absl/strings/str_cat.h>

#include <string>
#include <utility>

namespace penstock::core {
namespace {

absl::string_view Explain(AvroFault fault) {
  switch (fault) {
    case AvroFault::kNone:
      break;
    case AvroFault::kCutOff:
      return "the record ends inside of a value";
    case AvroFault::kBadNumber:
      return "a number has more bits than its type";
    case AvroFault::kBadLength:
      return "a length is beyond what there is";
    case AvroFault::kBadBoolean:
      return "a boolean is neither 0 nor 1";
    case AvroFault::kNoBranch:
      return "a union has no such branch";
    case AvroFault::kNoSymbol:
      return "an enum has no such symbol";
    case AvroFault::kTooDeep:
      return "too many levels of records, arrays and maps";
    case AvroFault::kTooMany:
      return "more values than so many bytes can need";
    case AvroFault::kTrailingData:
      return "the datum ends before the record does";
  }
  return "good";
}

ParseError ErrorOf(AvroFault fault, size_t at) {
  return MakeRecordError(
      fault == AvroFault::kTrailingData ? "trailing_data"
      : fault == AvroFault::kTooDeep    ? "too_deep"
                                        : "syntax",
      absl::StrCat(Explain(fault), ", at byte ", at, " of the record"),
      "see whether it was written with this schema");
}

}  // namespace

AvroParser::AvroParser(Options options)
    : options_(std::move(options)),
      rows_(options_.schema),
      changes_(options_.envelope, options_.columns,
               KeyPath::NamesOf(options_.key), "bin_envelope_err"),
      cache_(options_.written_with != nullptr
                 ? nullptr
                 : std::make_unique<SchemaCache>(options_.registry,
                                                 options_.make_source,
                                                 AvroLanguage())) {}

ParseResult AvroParser::Parse(const Fragment& fragment) {
  return ParseWholeRecord(
      fragment, progress_, rows_, options_.record_bytes_max,
      [&](absl::string_view message, ResultBuilder& result) {
        return AddMessage(fragment, message, result);
      });
}

const AvroSchema* AvroParser::FindSchema(
    absl::string_view message, std::optional<ParseError>& error) const {
  if (cache_ == nullptr) return options_.written_with.get();
  const std::optional<uint32_t> id = ReadSchemaId(message);
  if (!id.has_value()) {
    error =
        MakeRecordError("bad_frame",
                        "the record does not begin with 0 and the number of a "
                        "schema",
                        "see whether its writer uses a schema registry; if it "
                        "does not, give the schema itself");
    return nullptr;
  }
  std::string problem;
  const WriterSchema* const schema = cache_->FindSchema(*id, problem);
  if (schema == nullptr) {
    error = MakeRecordError(
        "unknown_schema", std::move(problem),
        "see whether `registry.url` is the registry of its writer");
  }
  // AvroLanguage has read it.
  return static_cast<const AvroSchema*>(schema);
}

std::optional<ParseError> AvroParser::AddMessage(const Fragment& fragment,
                                                 absl::string_view message,
                                                 ResultBuilder& result) {
  std::optional<ParseError> error;
  const AvroSchema* const schema = FindSchema(message, error);
  if (schema == nullptr) return error;
  const size_t begin = cache_ == nullptr ? 0 : kSchemaIdBytes;
  size_t at = 0;
  const AvroFault fault = CheckAvro(*schema, message, begin, at);
  if (fault != AvroFault::kNone) return ErrorOf(fault, at);
  return AddWholeRecord(fragment, changes_, rows_,
                        AvroTokens(*schema, message, begin), result);
}

absl::StatusOr<std::unique_ptr<Parser>> MakeAvroParser(
    const ComponentConfig& config, const Schema& schema,
    MakeSchemaSource make_source) {
  ASSIGN_OR_RETURN(const AvroConfig* const avro,
                   CheckFormatConfig<AvroConfig>(config, "avro"));
  RETURN_IF_ERROR(CheckAvroConfig(*avro));
  RETURN_IF_ERROR(CheckHasColumns("avro", schema));
  AvroParser::Options options{.record_bytes_max = avro->record_bytes_max,
                              .schema = schema,
                              .envelope = avro->envelope,
                              .make_source = std::move(make_source)};
  ASSIGN_OR_RETURN(options.key, KeyPath::ParseIfAny(avro->key));
  ASSIGN_OR_RETURN(options.columns,
                   ChangeColumns::Make(avro->envelope, schema, "avro"));
  if (avro->schema.has_value()) {
    ASSIGN_OR_RETURN(AvroSchema written, AvroSchema::Parse(*avro->schema));
    options.written_with = std::make_shared<AvroSchema>(std::move(written));
  } else {
    options.registry = *avro->registry;
  }
  return std::make_unique<AvroParser>(std::move(options));
}

absl::StatusOr<std::unique_ptr<RowEncoder>> MakeAvroEncoder(
    const ComponentConfig& config, FrameKind frames, const Schema& schema) {
  ASSIGN_OR_RETURN(const AvroConfig* const avro,
                   CheckFormatConfig<AvroConfig>(config, "avro"));
  return MakeWholeRecordEncoder("avro", avro->envelope, frames, schema);
}

}  // namespace penstock::core
