#include "core/format/csv/layout.h"

#include "core/base/error.h"
#include "core/base/status_macros.h"
#include "core/format/bad_record.h"

#include <absl/container/flat_hash_map.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/string_view.h>

#include <algorithm>

namespace penstock::core {
namespace {

// A name that stands twice.
constexpr uint32_t kTwice = 0xffffffff;

using Places = absl::flat_hash_map<absl::string_view, uint32_t>;

// Names for a message, which each record of the input may bear.
std::string ShowNames(const std::vector<std::string>& names) {
  constexpr size_t kShownBytesMax = 200;
  std::string shown;
  for (size_t i = 0; i < names.size(); ++i) {
    if (shown.size() > kShownBytesMax) {
      absl::StrAppend(&shown, ", and ", names.size() - i, " more");
      break;
    }
    absl::StrAppend(&shown, i > 0 ? ", '" : "'", ShowText(names[i]), "'");
  }
  return shown;
}

absl::StatusOr<uint32_t> PlaceOf(absl::string_view name, const Places& places,
                                 const std::vector<std::string>& names,
                                 absl::string_view field) {
  const auto found = places.find(name);
  if (found != places.end() && found->second != kTwice) return found->second;
  return MakeError(
      Reason::INVALID_CONFIG,
      absl::StrCat("read a CSV header: it has ",
                   found == places.end() ? "no field '" : "two fields '",
                   ShowText(name), "', which the ", field,
                   " names; it has: ", ShowNames(names)),
      {{"field", std::string(field)}});
}

absl::Status SetKeyByNumber(const CsvConfig& config, CsvLayout& layout) {
  if (!config.key_column.has_value()) return absl::OkStatus();
  const uint32_t number = *config.key_column;
  if (number == 0 || (layout.fields.has_value() && number > *layout.fields)) {
    return MakeError(
        Reason::INVALID_CONFIG,
        absl::StrCat(
            "format csv: key_column is ", number,
            layout.fields.has_value()
                ? absl::StrCat("; records have fields 1 to ", *layout.fields)
                : "; fields are numbered from 1"),
        {{"field", "key_column"}});
  }
  layout.key = number - 1;
  return absl::OkStatus();
}

}  // namespace

uint32_t CsvLayout::FieldsUsed() const {
  uint32_t last = key.value_or(0);
  for (const uint32_t field : columns) last = std::max(last, field);
  return last + 1;
}

absl::StatusOr<CsvLayout> LayoutByOrder(const CsvConfig& config,
                                        const Schema& schema) {
  CsvLayout layout;
  for (uint32_t i = 0; i < schema.columns.size(); ++i) {
    layout.columns.push_back(i);
  }
  if (!schema.IsEmpty()) {
    layout.fields = static_cast<uint32_t>(schema.columns.size());
  }
  RETURN_IF_ERROR(SetKeyByNumber(config, layout));
  if (!config.key.has_value()) return layout;
  const std::optional<size_t> key = schema.Find(*config.key);
  if (!key.has_value()) {
    return MakeError(
        Reason::INVALID_CONFIG,
        absl::StrCat("format csv: the key '", ShowText(*config.key),
                     "' is none of the columns of the schema; name one, set "
                     "header, or give the number of a field as key_column"),
        {{"field", "key"}});
  }
  layout.key = static_cast<uint32_t>(*key);
  return layout;
}

absl::StatusOr<CsvLayout> LayoutByNames(const CsvConfig& config,
                                        const Schema& schema,
                                        const std::vector<std::string>& names) {
  Places places;
  places.reserve(names.size());
  for (uint32_t i = 0; i < names.size(); ++i) {
    const bool is_new = places.emplace(names[i], i).second;
    if (!is_new) places[names[i]] = kTwice;
  }
  CsvLayout layout;
  layout.fields = static_cast<uint32_t>(names.size());
  for (const Column& column : schema.columns) {
    ASSIGN_OR_RETURN(const uint32_t field,
                     PlaceOf(column.name, places, names, "schema"));
    layout.columns.push_back(field);
  }
  RETURN_IF_ERROR(SetKeyByNumber(config, layout));
  if (config.key.has_value()) {
    ASSIGN_OR_RETURN(layout.key, PlaceOf(*config.key, places, names, "key"));
  }
  return layout;
}

}  // namespace penstock::core
