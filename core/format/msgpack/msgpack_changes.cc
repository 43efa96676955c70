// Records that have their row in an envelope: of MsgpackParser.
#include "core/format/bad_record.h"
#include "core/format/msgpack/msgpack_format.h"
#include "core/format/msgpack/msgpack_row_tokens.h"
#include "core/format/rows/change_adder.h"

namespace penstock::core {

void MsgpackParser::AddChange(const Fragment& fragment, absl::string_view text,
                              uint32_t begin, ResultBuilder& result) {
  const uint32_t place = fragment.begin + begin;
  std::optional<ParseError> error = AddChangeTo(
      result, *changes_, rows_.get(), MsgpackTokens(text),
      {.block = fragment.block->data(),
       .document = text,
       .offset = fragment.offset + begin},
      [place](MsgpackTokens row) {
        const uint32_t at = row.At();
        row.TakeValue();
        return ChangeImage{.begin = place + at, .size = row.At() - at};
      });
  if (!error.has_value()) return;
  error->invalid_text = CutInvalidText(text);
  result.AddError(begin, *std::move(error));
}

}  // namespace penstock::core
