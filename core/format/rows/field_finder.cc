#include "core/format/rows/field_finder.h"

namespace penstock::core {

FieldFinder::FieldFinder(const std::vector<Column>& columns) {
  columns_.reserve(columns.size());
  for (size_t i = 0; i < columns.size(); ++i) {
    columns_.emplace(columns[i].name, static_cast<uint32_t>(i));
  }
}

uint32_t FieldFinder::Search(absl::string_view name, size_t place) {
  const auto found = columns_.find(name);
  const uint32_t column = found == columns_.end() ? kNone : found->second;
  if (place < kPlacesMax && name.size() <= kNameBytesMax) {
    if (place >= places_.size()) places_.resize(place + 1);
    places_[place].name.assign(name.data(), name.size());
    places_[place].column = column;
  }
  return column;
}

}  // namespace penstock::core
