#include "core/format/csv/bad_csv.h"

#include "core/base/check.h"

#include <absl/strings/str_cat.h>

#include <algorithm>

namespace penstock::core {
namespace {

struct FaultText {
  absl::string_view what;
  absl::string_view suggestion;
};

FaultText TextOf(CsvFault fault) {
  switch (fault) {
    case CsvFault::kNone:
      break;
    case CsvFault::kBareQuote:
      return {"a quote in a field that does not begin with one",
              "put the field in quotes and double those in it; or another "
              "quote is meant, or none (quote: '')"};
    case CsvFault::kBareCr:
      return {"a CR that no LF follows, outside of quotes",
              "end lines with LF or CR LF, and put fields with a CR in quotes"};
    case CsvFault::kBehindQuote:
      return {"something between a closing quote and the next delimiter",
              "see how quotes in a field are written (escape: backslash), or "
              "whether blanks are to be passed over (trim: true)"};
    case CsvFault::kBadEscape:
      return {
          "a backslash before something that is neither quote nor "
          "backslash",
          "double the backslash, or leave out escape: backslash"};
    case CsvFault::kOpenQuote:
      return {"a quote that is not closed",
              "close it; what follows was read as a part of this record"};
    case CsvFault::kInnerMark:
      return {"a byte order mark in the middle of the input",
              "take it out where files were joined"};
  }
  CHECK(false) << "no such fault: " << static_cast<int>(fault);
  return {};
}

}  // namespace

std::string ShowCsvField(absl::string_view text, const CsvRecord& record,
                         CsvPlace place, uint32_t field, uint32_t at) {
  const absl::string_view before = text.substr(record.begin, at - record.begin);
  const auto lines = std::count(before.begin(), before.end(), '\n');
  return absl::StrCat("field ", field + 1, " at line ",
                      place.line + static_cast<uint64_t>(lines), ", byte ",
                      place.offset + at);
}

ParseError BadCsv(absl::string_view text, const CsvRecord& record,
                  CsvPlace place, size_t record_bytes_max, bool is_too_large) {
  const bool is_open = record.fault == CsvFault::kOpenQuote;
  const FaultText fault = TextOf(record.fault);
  ParseError error;
  error.tag = is_open ? "open_quote" : "syntax";
  absl::string_view until;
  if (is_open && !is_too_large) until = " before the input ends";
  error.description = absl::StrCat(
      fault.what, until,
      is_open && is_too_large
          ? absl::StrCat(" within ", record_bytes_max, " bytes of the record")
          : "",
      ", in ",
      ShowCsvField(text, record, place, record.fault_field, record.fault_at));
  error.suggestion = std::string(fault.suggestion);
  return error;
}

}  // namespace penstock::core
