#include "core/format/ndjson/json_rows.h"

#include "core/format/ndjson/json_row_tokens.h"
#include "core/format/ndjson/json_tokens.h"
#include "core/format/rows/row_reader_inl.h"

namespace penstock::core {

bool ReadIndexedRow(RowReader& reader, const char* text, uint32_t begin,
                    const uint32_t* next, bool has_escapes, ValueArena& arena) {
  return reader.Read(
      JsonRowTokens(IndexedTokens(text, begin, next), has_escapes), arena);
}

bool ReadScannedRow(RowReader& reader, absl::string_view line,
                    ValueArena& arena) {
  const bool has_escapes = line.find('\\') != absl::string_view::npos;
  return reader.Read(JsonRowTokens(ScannedTokens(line), has_escapes), arena);
}

}  // namespace penstock::core
