// What formats share whose record is a whole message, read by the schema that
// it was written with.
#pragma once

#include "core/contract/output_target.h"
#include "core/contract/parse_error.h"
#include "core/contract/parser.h"
#include "core/contract/row_encoder.h"
#include "core/format/result_builder.h"
#include "core/format/rows/change_adder.h"
#include "core/format/rows/change_reader.h"
#include "core/format/rows/envelope.h"
#include "core/format/rows/row_reader.h"
#include "core/format/rows/row_token.h"
#include "core/record/schema.h"
#include "core/record/value.h"
#include "core/record/value_arena.h"

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace penstock::core {

// The error of a record; its text and its place are left for the caller.
ParseError MakeRecordError(absl::string_view tag, std::string description,
                           absl::string_view suggestion);

// The result of a fragment that is one record, or nothing. `add` adds the
// record, or says what is wrong with it.
ParseResult ParseWholeRecord(
    const Fragment& fragment, ParseProgress& progress, const RowReader& rows,
    size_t record_bytes_max,
    absl::FunctionRef<std::optional<ParseError>(absl::string_view record,
                                                ResultBuilder& result)>
        add);

// Adds the record of these tokens, its value the whole fragment. Returns: what
// is wrong with it.
template <RowTokens Tokens>
std::optional<ParseError> AddWholeRecord(const Fragment& fragment,
                                         ChangeReader& changes, RowReader& rows,
                                         Tokens tokens, ResultBuilder& result) {
  const char* const block = fragment.block->data();
  return AddChangeTo(
      result, changes, &rows, std::move(tokens),
      {.block = block,
       .document = absl::string_view(block + fragment.begin, fragment.size),
       .offset = fragment.offset},
      [&fragment](const Tokens& /*row*/) {
        return ChangeImage{.begin = fragment.begin, .size = fragment.size};
      });
}

// As RowTokens' TakeKeyBytes, of what TakeSingle gives as text, or else as
// bytes.
template <typename Tokens>
std::optional<absl::string_view> TakeTextOrBytes(Tokens& tokens,
                                                 ValueArena& arena) {
  static const Column& bytes_column =
      *new Column{.name = "key", .type = SqlType::kVarbinary};
  Tokens again = tokens;
  Value value;
  absl::string_view text;
  if (tokens.TakeSingle(EnvelopeTextColumn(), arena, value, text) ==
      ValueFault::kNone) {
    return value.AsString();
  }
  if (again.TakeSingle(bytes_column, arena, value, text) == ValueFault::kNone) {
    return value.AsBinary();
  }
  return std::nullopt;
}

// Such a format cannot do without columns.
// Errors: INVALID_CONFIG, `format` being its name.
absl::Status CheckHasColumns(absl::string_view format, const Schema& schema);

// Messages are passed on as they stand, with their envelope. Otherwise a row is
// a line of JSON, its columns as members.
absl::StatusOr<std::unique_ptr<RowEncoder>> MakeWholeRecordEncoder(
    absl::string_view format, const EnvelopeConfig& envelope, FrameKind frames,
    const Schema& schema);

}  // namespace penstock::core
