// Documents that have their row in an envelope: of JsonRecords.
#include "core/format/ndjson/json_records.h"
#include "core/format/ndjson/json_row_tokens.h"
#include "core/format/ndjson/json_tokens.h"
#include "core/format/rows/change_adder.h"

#include <optional>
#include <utility>

namespace penstock::core {

template <typename Tokens>
void JsonRecords::AddChange(JsonTask& task, uint32_t begin, uint32_t end,
                            Tokens tokens) {
  const char* const block = task.fragment.block->data();
  const absl::string_view document = task.text.substr(begin, end - begin);
  const bool has_escapes = document.find('\\') != absl::string_view::npos;
  std::optional<ParseError> error = AddChangeTo(
      task.result, *changes_, rows_.get(), JsonRowTokens(tokens, has_escapes),
      {.block = block,
       .document = document,
       .offset = task.fragment.offset + begin},
      [block](JsonRowTokens<Tokens> row) {
        const absl::string_view text = row.TakeValue();
        return ChangeImage{.begin = static_cast<uint32_t>(text.data() - block),
                           .size = static_cast<uint32_t>(text.size())};
      });
  if (error.has_value()) AddBad(task, begin, end, *std::move(error));
}

void JsonRecords::AddIndexedChange(JsonTask& task, uint32_t begin, uint32_t end,
                                   uint32_t base, const uint32_t* place) {
  AddChange(task, begin, end,
            IndexedTokens(task.text.data() + base, begin - base, place));
}

void JsonRecords::AddScannedChange(JsonTask& task, uint32_t begin,
                                   uint32_t end) {
  AddChange(task, begin, end,
            ScannedTokens(task.text.substr(begin, end - begin)));
}

}  // namespace penstock::core
