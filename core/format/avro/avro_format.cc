#include "core/format/avro/avro_format.h"

#include "core/base/error.h"
#include "core/base/status_macros.h"
#include "core/format/avro/avro_cursor.h"
#include "core/format/avro/avro_tokens.h"
#include "core/format/bad_record.h"
#include "core/format/change_form.h"
#include "core/format/format_config.h"
#include "core/format/message_encoder.h"
#include "core/format/rows/change_adder.h"
#include "core/format/rows/row_json.h"

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
  ParseError error;
  error.tag = fault == AvroFault::kTrailingData ? "trailing_data"
              : fault == AvroFault::kTooDeep    ? "too_deep"
                                                : "syntax";
  error.description =
      absl::StrCat(Explain(fault), ", at byte ", at, " of the record");
  error.suggestion = "see whether it was written with this schema";
  return error;
}

ParseError ErrorOf(absl::string_view tag, std::string description,
                   absl::string_view suggestion) {
  ParseError error;
  error.tag = std::string(tag);
  error.description = std::move(description);
  error.suggestion = std::string(suggestion);
  return error;
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
  const absl::string_view message(fragment.block->data() + fragment.begin,
                                  fragment.size);
  ResultBuilder result(fragment, progress_,
                       static_cast<uint32_t>(rows_.row().size()));
  if (message.empty()) return std::move(result).Build(0);
  std::optional<ParseError> error;
  if (fragment.is_cut || message.size() > options_.record_bytes_max) {
    error = RecordTooLarge(message, options_.record_bytes_max);
  } else if ((error = AddMessage(fragment, message, result)).has_value()) {
    error->invalid_text = CutInvalidText(message);
  }
  if (error.has_value()) result.AddError(0, *std::move(error));
  return std::move(result).Build(fragment.size);
}

const AvroSchema* AvroParser::FindSchema(
    absl::string_view message, std::optional<ParseError>& error) const {
  if (cache_ == nullptr) return options_.written_with.get();
  const std::optional<uint32_t> id = ReadSchemaId(message);
  if (!id.has_value()) {
    error = ErrorOf("bad_frame",
                    "the record does not begin with 0 and the number of a "
                    "schema",
                    "see whether its writer uses a schema registry; if it "
                    "does not, give the schema itself");
    return nullptr;
  }
  const SchemaCache::Entry* const entry = cache_->Find(*id);
  if (entry != nullptr && entry->schema != nullptr) {
    // The language below has read it.
    return static_cast<const AvroSchema*>(entry->schema.get());
  }
  error = ErrorOf("unknown_schema",
                  entry != nullptr
                      ? entry->problem
                      : absl::StrCat("schema ", *id, " was not asked for"),
                  "see whether `registry.url` is the registry of its writer");
  return nullptr;
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
  return AddChangeTo(
      result, changes_, &rows_, AvroTokens(*schema, message, begin),
      {.block = fragment.block->data(),
       .document = message,
       .offset = fragment.offset},
      [&fragment](const AvroTokens& /*row*/) {
        return ChangeImage{.begin = fragment.begin, .size = fragment.size};
      });
}

absl::StatusOr<std::unique_ptr<Parser>> MakeAvroParser(
    const ComponentConfig& config, const Schema& schema,
    MakeSchemaSource make_source) {
  ASSIGN_OR_RETURN(const AvroConfig* const avro,
                   CheckFormatConfig<AvroConfig>(config, "avro"));
  RETURN_IF_ERROR(CheckAvroConfig(*avro));
  if (schema.IsEmpty()) {
    return MakeError(Reason::INVALID_CONFIG,
                     "format avro: there are no columns to read it into; "
                     "declare a `schema`, or pass bytes with the format raw",
                     {{"field", "schema"}});
  }
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
  switch (frames) {
    case FrameKind::kConcatenated:
      return std::make_unique<RowJsonEncoder>(
          schema, frames, FindOpColumn(avro->envelope.op, schema));
    case FrameKind::kMessages:
      // The record is the message, with its envelope.
      return std::make_unique<MessageEncoder>(
          MessageEncoder::Deletions::kAsTheyStand);
  }
  return MakeError(Reason::INTERNAL, "make format avro: unknown frames");
}

}  // namespace penstock::core
