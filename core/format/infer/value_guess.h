// The column that a place in records would be, from the values seen there.
// See core/format/README.md, "A guess".
#pragma once

#include "core/format/infer/text_class.h"
#include "core/record/schema.h"

#include <absl/container/flat_hash_map.h>
#include <absl/strings/string_view.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace penstock::core {

// Of a schema, those inside of others counted.
inline constexpr size_t kColumnsMax = 1'000;

// What one look at a sample shares.
struct GuessProgress {
  // Its number, from GuessRules::records_before on.
  uint64_t record = 0;
  // Places that may still be made: input must not decide how much memory.
  size_t places_left = 10'000;
};

// How a column is made of a guess.
struct GuessRules {
  // The sample was the whole input. Otherwise what comes may be null, and
  // larger.
  bool is_whole = true;
  // Whether values of several kinds can be kept as JSON.
  bool has_variant = true;
  // Of the schema.
  size_t columns_left = kColumnsMax;
  // What numbers of records in notes lack: a header is known last.
  uint64_t records_before = 0;
  // What was not clear, a sentence each.
  std::vector<std::string> notes = {};
};

// Whether a column may be called so.
bool IsColumnName(absl::string_view name);

// Owner:   whoever infers. Threads: thread-compatible.
// Bound:   GuessProgress::places_left in all.
class ValueGuess {
 public:
  // `is_record`: its members are the columns.
  explicit ValueGuess(bool is_record = false) : is_record_(is_record) {}

  // Deepest place below a column's own, as a schema has it.
  static constexpr uint32_t kDepthMax = 15;

  void AddNull() { ++nulls_; }
  // `text`: what to call it.
  void Add(const ClassifiedValue& value, absl::string_view text,
           const GuessProgress& progress);
  // Then each element goes to Element(); null: there are too many places.
  void AddArray(const GuessProgress& progress);
  ValueGuess* Element(GuessProgress& progress);
  // Then each value goes to Member() of its name.
  void AddObject(const GuessProgress& progress);
  // Null: it is passed over.
  ValueGuess* Member(absl::string_view name, GuessProgress& progress);
  // What stands for the name of a member that is no string: the object is a
  // map. Its value goes to Element(). Null: there are too many places.
  ValueGuess* Key(GuessProgress& progress);
  // JSON cannot say what is in it.
  void SetNotJson() { is_json_ = false; }
  // Something in it had no place.
  void SetOpaque() { is_opaque_ = true; }
  // A container that is too deep to be looked at, or has no place.
  void AddOpaque(ValueClass of, bool is_json, const GuessProgress& progress);

  // After the last value: which objects are maps.
  void Settle();
  // The columns of a record.
  Schema BuildSchema(GuessRules& rules) const;
  // nullopt: no type takes all of it, and a note says so. `path`: how notes
  // call it. `is_missing`: not every record had it.
  std::optional<Column> Build(absl::string_view path, bool is_missing,
                              uint32_t depth, GuessRules& rules) const;
  // Values that were not null.
  uint64_t count() const;
  uint64_t CountOf(ValueClass of) const {
    return seen_[static_cast<size_t>(of)].count;
  }

 private:
  struct Seen {
    uint64_t count = 0;
    // Of the first.
    uint64_t record = 0;
    std::string text;
  };
  struct NamedGuess {
    std::string name;
    std::unique_ptr<ValueGuess> guess;
    // How many objects have it, and the last one that did.
    uint64_t objects = 0;
    uint64_t last = 0;
  };

  void Merge(ValueGuess&& other);
  void BecomeMap();
  std::optional<Column> BuildKey(absl::string_view path, uint32_t depth,
                                 GuessRules& rules) const;
  // Of this place and those in it.
  size_t Places() const;
  bool CanBeVariant() const;
  // A type for single values; nullopt: none takes all of them.
  std::optional<SqlType> SingleType() const;
  void SetDetails(Column& column, const GuessRules& rules) const;
  bool BuildChildren(Column& column, absl::string_view path, uint32_t depth,
                     GuessRules& rules) const;
  bool BuildMap(Column& column, absl::string_view path, uint32_t depth,
                GuessRules& rules) const;
  // Says so if there were values of several classes.
  void Explain(absl::string_view path, const Column& column,
               GuessRules& rules) const;
  std::string SeenText(const GuessRules& rules) const;

  const bool is_record_;
  // Members of a record that are no columns.
  uint64_t passed_over_ = 0;
  uint64_t nulls_ = 0;
  TypeSet fits_ = kEveryType;
  std::array<Seen, kValueClasses> seen_;
  bool is_json_ = true;
  bool is_infinite_ = false;
  bool is_fine_ = false;
  bool has_offset_ = false;
  // Not looked into.
  bool is_opaque_ = false;
  int64_t least_ = 0;
  int64_t greatest_ = 0;
  int64_t whole_digits_ = 0;
  int64_t decimals_ = 0;
  // Of arrays; of objects that have become a map, their values.
  std::unique_ptr<ValueGuess> element_;
  std::vector<NamedGuess> members_;
  absl::flat_hash_map<std::string, size_t> places_;
  uint64_t objects_ = 0;
  bool is_map_ = false;
  // Of a map: keys that are no strings, and whether there are others.
  std::unique_ptr<ValueGuess> key_;
  bool has_names_ = false;
};

}  // namespace penstock::core
