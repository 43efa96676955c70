#include "proto/wire/envelope_config.h"

#include "core/base/log.h"
#include "proto/wire/field_reader.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/string_view.h>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace penstock::wire {
namespace {

std::optional<core::EnvelopeKind> KindFromProto(v1::Envelope kind) {
  switch (kind) {
    case v1::ENVELOPE_RAW:
      return core::EnvelopeKind::kRaw;
    case v1::ENVELOPE_INSERT_DELETE:
      return core::EnvelopeKind::kInsertDelete;
    case v1::ENVELOPE_DEBEZIUM:
      return core::EnvelopeKind::kDebezium;
    default:
      return std::nullopt;
  }
}

// Whether it is found wherever it stands in a document's bytes.
bool IsPlaceholder(absl::string_view text) {
  constexpr size_t kBytesMax = 256;
  constexpr absl::string_view kEscaped = "\"\\/<>&'";
  return !text.empty() && text.size() <= kBytesMax &&
         std::all_of(text.begin(), text.end(), [&](char c) {
           return c >= ' ' && c <= '~' &&
                  kEscaped.find(c) == absl::string_view::npos;
         });
}

}  // namespace

core::EnvelopeConfig EnvelopeFromProto(std::optional<v1::Envelope> kind,
                                       const v1::EnvelopeColumns& columns,
                                       std::optional<std::string> unavailable,
                                       const std::string& path,
                                       Violations& violations) {
  FieldReader fields(path, violations);
  core::EnvelopeConfig config{.op = columns.op(),
                              .timestamp = columns.timestamp(),
                              .source = columns.source(),
                              .before = columns.before()};
  if (kind.has_value()) {
    const std::optional<core::EnvelopeKind> known = KindFromProto(*kind);
    if (!known.has_value()) {
      fields.Add("envelope",
                 absl::StrCat("is ", *kind,
                              ", must be RAW, INSERT_DELETE or DEBEZIUM"),
                 *kind == 0 ? kUnspecified : kUnknownValue);
      return config;
    }
    config.kind = *known;
  }
  if (config.kind == core::EnvelopeKind::kRaw && config.HasColumns()) {
    fields.Add("envelope_columns",
               "are given, but there is no envelope to fill them from; set "
               "`envelope`",
               kContradiction);
  }
  if (!unavailable.has_value()) return config;
  if (config.kind != core::EnvelopeKind::kDebezium) {
    fields.Add("unavailable_value",
               "is of the envelope debezium; set `envelope`, or leave it out",
               kContradiction);
  } else if (!IsPlaceholder(*unavailable)) {
    fields.Add("unavailable_value",
               "must be 1 to 256 printable ASCII characters, none of which "
               "JSON escapes (\" \\ / < > & ')",
               kMalformed);
  }
  config.unavailable_value = *std::move(unavailable);
  return config;
}

v1::Envelope EnvelopeKindToProto(core::EnvelopeKind kind) {
  switch (kind) {
    case core::EnvelopeKind::kRaw:
      return v1::ENVELOPE_RAW;
    case core::EnvelopeKind::kInsertDelete:
      return v1::ENVELOPE_INSERT_DELETE;
    case core::EnvelopeKind::kDebezium:
      return v1::ENVELOPE_DEBEZIUM;
  }
  LOG(FATAL) << "no such EnvelopeKind: " << static_cast<int>(kind);
}

v1::EnvelopeColumns EnvelopeColumnsToProto(const core::EnvelopeConfig& config) {
  v1::EnvelopeColumns to;
  if (!config.op.empty()) to.set_op(config.op);
  if (!config.timestamp.empty()) to.set_timestamp(config.timestamp);
  if (!config.source.empty()) to.set_source(config.source);
  if (!config.before.empty()) to.set_before(config.before);
  return to;
}

}  // namespace penstock::wire
