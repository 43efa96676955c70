#include "core/sinks/postgres/session_name.h"

#include "core/base/checksum.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/strip.h>

#include <cstddef>

namespace penstock::core {

std::string SessionPrefix(const OutputOpen& open) {
  // With lengths, so that no two identities run into one text.
  const std::string identity = absl::StrCat(
      open.incarnation.size(), ":", open.incarnation, open.pipeline.size(), ":",
      open.pipeline, open.connector.size(), ":", open.connector);
  return absl::StrCat("penstock:", Hex64(Checksum64(identity)), ":");
}

std::string SessionName(const OutputOpen& open,
                        std::optional<ShardIndex> shard) {
  std::string name =
      absl::StrCat(SessionPrefix(open), absl::Hex(open.writer.epoch), ".",
                   absl::Hex(open.writer.open_number), ":");
  if (shard.has_value()) {
    absl::StrAppend(&name, absl::Hex(*shard));
  } else {
    absl::StrAppend(&name, "o");
  }
  return name;
}

std::optional<Writer> ParseSessionName(absl::string_view name,
                                       absl::string_view prefix) {
  if (!absl::ConsumePrefix(&name, prefix)) return std::nullopt;
  const size_t dot = name.find('.');
  const size_t colon = name.find(':');
  if (dot == absl::string_view::npos || colon == absl::string_view::npos ||
      dot > colon) {
    return std::nullopt;
  }
  Writer writer;
  if (!absl::SimpleHexAtoi(name.substr(0, dot), &writer.epoch) ||
      !absl::SimpleHexAtoi(name.substr(dot + 1, colon - dot - 1),
                           &writer.open_number)) {
    return std::nullopt;
  }
  return writer;
}

}  // namespace penstock::core
