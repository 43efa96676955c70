#include "core/format/rows/change_columns.h"

#include "core/base/error.h"
#include "core/base/status_macros.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>

#include <algorithm>
#include <array>
#include <span>

namespace penstock::core {
namespace {

class Finder {
 public:
  Finder(const Schema& schema, absl::string_view format)
      : schema_(schema), format_(format) {}

  absl::StatusOr<std::optional<uint32_t>> Find(
      absl::string_view field, const std::string& name,
      std::span<const SqlType> types) const {
    if (name.empty()) return std::optional<uint32_t>();
    const std::optional<size_t> place = schema_.Find(name);
    if (!place.has_value()) {
      return Bad(field, absl::StrCat("the schema has no column '", name,
                                     "'; add it, as nullable"));
    }
    const Column& column = schema_.columns[*place];
    if (std::find(types.begin(), types.end(), column.type) == types.end()) {
      return Bad(
          field,
          absl::StrCat(
              "column '", name, "' is ", ColumnTypeText(column),
              ", must be one of: ",
              absl::StrJoin(types, ", ", [](std::string* out, SqlType type) {
                absl::StrAppend(out, SqlTypeName(type));
              })));
    }
    if (!column.nullable) {
      return Bad(field,
                 absl::StrCat("column '", name,
                              "' is not nullable, but no row has it before the "
                              "envelope fills it; declare it as nullable"));
    }
    return static_cast<uint32_t>(*place);
  }

  absl::Status Bad(absl::string_view field, absl::string_view problem) const {
    return MakeError(Reason::INVALID_CONFIG,
                     absl::StrCat("format ", format_, ": envelope_columns.",
                                  field, ": ", problem),
                     {{"field", absl::StrCat("format.", format_,
                                             ".envelope_columns.", field)}});
  }

 private:
  const Schema& schema_;
  const absl::string_view format_;
};

}  // namespace

absl::StatusOr<ChangeColumns> ChangeColumns::Make(const EnvelopeConfig& config,
                                                  const Schema& schema,
                                                  absl::string_view format) {
  static constexpr std::array kText = {SqlType::kVarchar};
  static constexpr std::array kTimes = {SqlType::kTimestamptz,
                                        SqlType::kTimestamp, SqlType::kBigint};
  static constexpr std::array kAny = {SqlType::kVariant};
  const Finder finder(schema, format);
  if (config.kind == EnvelopeKind::kRaw && config.HasColumns()) {
    return finder.Bad("op", "without an envelope there is nothing to fill in");
  }
  if (config.kind == EnvelopeKind::kInsertDelete) {
    EnvelopeConfig more = config;
    more.op.clear();
    if (more.HasColumns()) {
      return finder.Bad("op", "of insert_delete only op can be filled in");
    }
  }
  ChangeColumns made;
  ASSIGN_OR_RETURN(made.op, finder.Find("op", config.op, kText));
  ASSIGN_OR_RETURN(made.timestamp,
                   finder.Find("timestamp", config.timestamp, kTimes));
  ASSIGN_OR_RETURN(made.source, finder.Find("source", config.source, kAny));
  ASSIGN_OR_RETURN(made.before, finder.Find("before", config.before, kAny));
  if (made.timestamp.has_value()) {
    made.timestamp_type = schema.columns[*made.timestamp].type;
  }
  return made;
}

}  // namespace penstock::core
