// Which column a member of an object goes to.
#pragma once

#include "core/record/schema.h"

#include <absl/container/flat_hash_map.h>
#include <absl/strings/string_view.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace penstock::core {

// Finds columns by name. Objects of one kind mostly have the same members in
// the same order: it remembers which name stood where and compares with that
// before it searches.
//
// Owner:   a RowReader. Threads: thread-compatible.
// Bound:   remembers kPlacesMax names of at most kNameBytesMax bytes.
class FieldFinder {
 public:
  static constexpr uint32_t kNone = 0xffffffff;

  // Lifetime: `columns` outlives this and stays where it is.
  explicit FieldFinder(const std::vector<Column>& columns);

  // The index of the column called `name`, kNone if there is none. `place`:
  // how many members of the object came before this one.
  uint32_t Find(absl::string_view name, size_t place) {
    if (place < places_.size() && places_[place].name == name) [[likely]] {
      return places_[place].column;
    }
    return Search(name, place);
  }

 private:
  static constexpr size_t kPlacesMax = 256;
  static constexpr size_t kNameBytesMax = 256;

  struct Place {
    std::string name;
    uint32_t column = kNone;
  };

  uint32_t Search(absl::string_view name, size_t place);

  absl::flat_hash_map<absl::string_view, uint32_t> columns_;
  std::vector<Place> places_;
};

}  // namespace penstock::core
