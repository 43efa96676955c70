#include "core/connector/bad_record_limits.h"

#include "core/base/error.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/string_view.h>

#include <string>

namespace penstock::core {

absl::Status CheckBadRecords(const BadRecordLimits& limits, RecordsRead read) {
  const uint64_t records = read.bad + read.good;
  const auto error = [&](absl::string_view limit, std::string value) {
    return MakeError(
        Reason::TOO_MANY_BAD_ROWS,
        absl::StrCat("skip bad records: ", read.bad, " of ", records,
                     " could not be parsed since the connector was opened, and "
                     "bad_records.",
                     limit, " is ", value,
                     "; see whether format and input fit each other, or raise "
                     "the limit"),
        {{"bad", absl::StrCat(read.bad)},
         {"records", absl::StrCat(records)},
         {"limit", value}});
  };
  if (read.bad > limits.total_max) {
    return error("total_max", absl::StrCat(limits.total_max));
  }
  const double share_max = limits.ratio_max * static_cast<double>(records);
  if (records >= limits.records_min &&
      static_cast<double>(read.bad) > share_max) {
    return error("ratio_max", absl::StrCat(limits.ratio_max));
  }
  return absl::OkStatus();
}

}  // namespace penstock::core
