#include "core/format/infer/value_guess.h"

#include "core/base/check.h"
#include "core/base/json_text.h"
#include "core/format/bad_record.h"

#include <absl/strings/ascii.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>

#include <algorithm>
#include <utility>

namespace penstock::core {
namespace {

// Of an object that is a struct; with more it is a map.
constexpr size_t kMembersMax = 100;
constexpr size_t kNameBytesMax = 256;
constexpr int64_t kPrecisionMax = 1'000;

constexpr uint32_t Of(ValueClass of) {
  return uint32_t{1} << static_cast<uint32_t>(of);
}
constexpr uint32_t kNumbers = Of(ValueClass::kInteger) | Of(ValueClass::kReal) |
                              Of(ValueClass::kDouble) |
                              Of(ValueClass::kDecimal);

// Which values show that a type is meant, in the order in which types are
// preferred.
struct TypeSign {
  SqlType type;
  uint32_t classes;
};
constexpr TypeSign kSigns[] = {
    {SqlType::kBoolean, Of(ValueClass::kBoolean)},
    {SqlType::kBigint, Of(ValueClass::kInteger)},
    {SqlType::kReal, Of(ValueClass::kReal)},
    {SqlType::kDouble, kNumbers},
    {SqlType::kDecimal, kNumbers},
    {SqlType::kDate, Of(ValueClass::kDate)},
    {SqlType::kTime, Of(ValueClass::kTime)},
    {SqlType::kTimestamp, Of(ValueClass::kTimestamp)},
    {SqlType::kTimestamptz, Of(ValueClass::kTimestamptz)},
    {SqlType::kUuid, Of(ValueClass::kUuid)},
    {SqlType::kVarbinary, Of(ValueClass::kBinary)},
};

SqlType IntegerTypeOf(int64_t least, int64_t greatest) {
  const auto fits = [&](int64_t low, int64_t high) {
    return least >= low && greatest <= high;
  };
  if (fits(INT8_MIN, INT8_MAX)) return SqlType::kTinyint;
  if (fits(INT16_MIN, INT16_MAX)) return SqlType::kSmallint;
  if (fits(INT32_MIN, INT32_MAX)) return SqlType::kInteger;
  return SqlType::kBigint;
}

bool HasSeconds(SqlType type) {
  return type == SqlType::kTime || type == SqlType::kTimestamp ||
         type == SqlType::kTimestamptz;
}

}  // namespace

bool IsColumnName(absl::string_view name) {
  return !name.empty() && name.size() <= kNameBytesMax && IsUtf8(name) &&
         std::none_of(name.begin(), name.end(), [](char byte) {
           return absl::ascii_iscntrl(static_cast<unsigned char>(byte));
         });
}

void ValueGuess::Add(const ClassifiedValue& value, absl::string_view text,
                     const GuessProgress& progress) {
  Seen& seen = seen_[static_cast<size_t>(value.of)];
  if (seen.count++ == 0) {
    seen.record = progress.record;
    seen.text = ShowText(text);
  }
  if (value.of == ValueClass::kInteger) {
    const bool is_first = seen.count == 1;
    least_ = is_first ? value.integer : std::min(least_, value.integer);
    greatest_ = is_first ? value.integer : std::max(greatest_, value.integer);
  }
  fits_ &= value.fits;
  is_json_ &= value.is_json;
  is_infinite_ |= value.is_infinite;
  is_fine_ |= value.is_fine;
  has_offset_ |= value.has_offset;
  whole_digits_ = std::max(whole_digits_, value.whole_digits);
  decimals_ = std::max(decimals_, value.decimals);
}

void ValueGuess::AddArray(const GuessProgress& progress) {
  Add({.of = ValueClass::kArray, .fits = SetOf(SqlType::kArray)}, "[...]",
      progress);
}

ValueGuess* ValueGuess::Element(GuessProgress& progress) {
  if (element_ == nullptr) {
    if (progress.places_left == 0) return nullptr;
    --progress.places_left;
    element_ = std::make_unique<ValueGuess>();
  }
  return element_.get();
}

void ValueGuess::AddObject(const GuessProgress& progress) {
  ++objects_;
  Add({.of = ValueClass::kObject,
       .fits = SetOf(SqlType::kStruct, SqlType::kMap)},
      "{...}", progress);
}

ValueGuess* ValueGuess::Member(absl::string_view name,
                               GuessProgress& progress) {
  const size_t members_max = is_record_ ? kColumnsMax : kMembersMax;
  if (!is_map_ && (members_.size() >= members_max || !IsColumnName(name)) &&
      !places_.contains(name)) {
    if (is_record_) {
      ++passed_over_;
      return nullptr;
    }
    BecomeMap();
  }
  if (is_map_) {
    has_names_ = true;
    return Element(progress);
  }
  const auto [place, is_new] = places_.try_emplace(name, members_.size());
  if (is_new) {
    if (progress.places_left == 0) {
      places_.erase(place);
      if (is_record_) ++passed_over_;
      return nullptr;
    }
    --progress.places_left;
    members_.push_back({std::string(name), std::make_unique<ValueGuess>()});
  }
  NamedGuess& member = members_[place->second];
  if (member.last != objects_) ++member.objects;
  member.last = objects_;
  return member.guess.get();
}

void ValueGuess::AddOpaque(ValueClass of, bool is_json,
                           const GuessProgress& progress) {
  is_opaque_ = true;
  Add({.of = of, .fits = 0, .is_json = is_json},
      of == ValueClass::kArray ? "[...]" : "{...}", progress);
}

ValueGuess* ValueGuess::Key(GuessProgress& progress) {
  if (is_record_) {
    ++passed_over_;
    return nullptr;
  }
  is_json_ = false;
  if (!is_map_) BecomeMap();
  if (key_ == nullptr) {
    if (progress.places_left == 0) return nullptr;
    --progress.places_left;
    key_ = std::make_unique<ValueGuess>();
  }
  return key_.get();
}

void ValueGuess::BecomeMap() {
  is_map_ = true;
  has_names_ |= !members_.empty();
  if (element_ == nullptr) element_ = std::make_unique<ValueGuess>();
  for (NamedGuess& member : members_) element_->Merge(std::move(*member.guess));
  members_.clear();
  places_.clear();
}

void ValueGuess::Merge(ValueGuess&& other) {
  if (other.is_map_ && !is_map_) BecomeMap();
  for (size_t i = 0; i < kValueClasses; ++i) {
    Seen& seen = seen_[i];
    Seen& from = other.seen_[i];
    if (from.count == 0) continue;
    if (i == static_cast<size_t>(ValueClass::kInteger)) {
      least_ = seen.count == 0 ? other.least_ : std::min(least_, other.least_);
      greatest_ = seen.count == 0 ? other.greatest_
                                  : std::max(greatest_, other.greatest_);
    }
    if (seen.count == 0 || from.record < seen.record) {
      seen.record = from.record;
      seen.text = std::move(from.text);
    }
    seen.count += from.count;
  }
  nulls_ += other.nulls_;
  fits_ &= other.fits_;
  is_json_ &= other.is_json_;
  is_infinite_ |= other.is_infinite_;
  is_fine_ |= other.is_fine_;
  has_offset_ |= other.has_offset_;
  is_opaque_ |= other.is_opaque_;
  whole_digits_ = std::max(whole_digits_, other.whole_digits_);
  decimals_ = std::max(decimals_, other.decimals_);
  objects_ += other.objects_;
  const auto take = [](std::unique_ptr<ValueGuess>& to,
                       std::unique_ptr<ValueGuess> from) {
    if (to == nullptr) {
      to = std::move(from);
    } else if (from != nullptr) {
      to->Merge(std::move(*from));
    }
  };
  take(element_, std::move(other.element_));
  take(key_, std::move(other.key_));
  has_names_ |= other.has_names_;
  for (NamedGuess& member : other.members_) {
    if (is_map_) {
      take(element_, std::move(member.guess));
      continue;
    }
    const auto [place, is_new] =
        places_.try_emplace(member.name, members_.size());
    if (is_new) {
      members_.push_back(std::move(member));
      continue;
    }
    members_[place->second].objects += member.objects;
    members_[place->second].guess->Merge(std::move(*member.guess));
  }
}

uint64_t ValueGuess::count() const {
  uint64_t count = 0;
  for (const Seen& seen : seen_) count += seen.count;
  return count;
}

void ValueGuess::Settle() {
  if (element_ != nullptr) element_->Settle();
  for (NamedGuess& member : members_) member.guess->Settle();
  if (is_record_ || members_.empty()) return;
  // Names that are data are no names of columns.
  if (std::all_of(
          members_.begin(), members_.end(), [](const NamedGuess& member) {
            const ValueClass of = ClassifyField(member.name).of;
            return of != ValueClass::kText && of != ValueClass::kBoolean;
          })) {
    BecomeMap();
  }
}

size_t ValueGuess::Places() const {
  size_t places = 1 + (element_ == nullptr ? 0 : element_->Places()) +
                  (key_ == nullptr ? 0 : key_->Places());
  for (const NamedGuess& member : members_) places += member.guess->Places();
  return places + (is_map_ ? 1 : 0);
}

bool ValueGuess::CanBeVariant() const {
  return is_json_ && (element_ == nullptr || element_->CanBeVariant()) &&
         std::all_of(members_.begin(), members_.end(),
                     [](const NamedGuess& member) {
                       return member.guess->CanBeVariant();
                     });
}

std::optional<SqlType> ValueGuess::SingleType() const {
  uint32_t classes = 0;
  for (size_t i = 0; i < kValueClasses; ++i) {
    if (seen_[i].count > 0) classes |= Of(static_cast<ValueClass>(i));
  }
  for (const TypeSign& sign : kSigns) {
    if ((fits_ & SetOf(sign.type)) != 0 && (classes & sign.classes) != 0) {
      return sign.type;
    }
  }
  if ((fits_ & SetOf(SqlType::kVarchar)) != 0) return SqlType::kVarchar;
  return std::nullopt;
}

void ValueGuess::SetDetails(Column& column, const GuessRules& rules) const {
  if (column.type == SqlType::kBigint && rules.is_whole) {
    column.type = IntegerTypeOf(least_, greatest_);
  }
  if (HasSeconds(column.type)) column.precision = is_fine_ ? 9 : 6;
  const int64_t digits = std::max<int64_t>(1, whole_digits_ + decimals_);
  if (column.type == SqlType::kDecimal && rules.is_whole && !is_infinite_ &&
      digits <= kPrecisionMax) {
    column.precision = static_cast<uint32_t>(digits);
    column.scale = static_cast<int32_t>(decimals_);
  }
}

std::string ValueGuess::SeenText(const GuessRules& rules) const {
  std::vector<std::string> parts;
  for (size_t i = 0; i < kValueClasses; ++i) {
    if (seen_[i].count == 0) continue;
    parts.push_back(absl::StrCat(seen_[i].count, " ",
                                 ValueClassName(static_cast<ValueClass>(i)),
                                 " ('", seen_[i].text, "' in record ",
                                 seen_[i].record + rules.records_before, ")"));
  }
  return absl::StrJoin(parts, ", ");
}

void ValueGuess::Explain(absl::string_view path, const Column& column,
                         GuessRules& rules) const {
  const auto note = [&](absl::string_view why) {
    rules.notes.push_back(
        absl::StrCat(path, ": ", ColumnTypeText(column), ": ", why));
  };
  if (count() == 0) return note("there are only nulls");
  const auto classes =
      std::count_if(seen_.begin(), seen_.end(),
                    [](const Seen& seen) { return seen.count > 0; });
  if (classes > 1)
    return note(absl::StrCat("widened, there are ", SeenText(rules)));
  if (column.type == SqlType::kVariant) {
    return note(is_opaque_ ? "there is more in it than a schema may have"
                           : "nothing says what is in it");
  }
  if (has_offset_ && column.type == SqlType::kTimestamptz) {
    note("moments are kept, the offsets that they were written with are not");
  }
}

std::optional<Column> ValueGuess::BuildKey(absl::string_view path,
                                           uint32_t depth,
                                           GuessRules& rules) const {
  Column key = {.name = "key", .nullable = false};
  if (key_ == nullptr) {
    --rules.columns_left;
    return key;
  }
  // Numbers and strings side by side have no type.
  if (has_names_ || key_->nulls_ > 0) return std::nullopt;
  const std::optional<Column> built =
      key_->Build(absl::StrCat(path, "{key}"), false, depth + 1, rules);
  if (!built.has_value() || !built->children.empty() ||
      built->type == SqlType::kVariant) {
    return std::nullopt;
  }
  key.type = built->type;
  key.precision = built->precision;
  key.scale = built->scale;
  return key;
}

bool ValueGuess::BuildMap(Column& column, absl::string_view path,
                          uint32_t depth, GuessRules& rules) const {
  std::optional<Column> key = BuildKey(path, depth, rules);
  std::optional<Column> value =
      element_->Build(absl::StrCat(path, "{}"), false, depth + 1, rules);
  if (!key.has_value() || !value.has_value()) return false;
  value->name = "value";
  column.type = SqlType::kMap;
  column.children = {std::move(*key), std::move(*value)};
  return true;
}

bool ValueGuess::BuildChildren(Column& column, absl::string_view path,
                               uint32_t depth, GuessRules& rules) const {
  if (depth >= kDepthMax || Places() > rules.columns_left) return false;
  if ((fits_ & SetOf(SqlType::kArray)) != 0) {
    column.type = SqlType::kArray;
    if (element_ == nullptr) return false;
    std::optional<Column> element =
        element_->Build(absl::StrCat(path, "[]"), false, depth + 1, rules);
    if (!element.has_value()) return false;
    element->name = "element";
    column.children = {std::move(*element)};
    return true;
  }
  if (is_map_) return BuildMap(column, path, depth, rules);
  column.type = SqlType::kStruct;
  for (const NamedGuess& member : members_) {
    std::optional<Column> field =
        member.guess->Build(absl::StrCat(path, ".", member.name),
                            member.objects < objects_, depth + 1, rules);
    if (!field.has_value()) continue;
    field->name = member.name;
    column.children.push_back(std::move(*field));
  }
  return !column.children.empty();
}

std::optional<Column> ValueGuess::Build(absl::string_view path, bool is_missing,
                                        uint32_t depth,
                                        GuessRules& rules) const {
  Column column = {.nullable = nulls_ > 0 || is_missing || !rules.is_whole};
  const size_t notes = rules.notes.size();
  const uint64_t values = count();
  const bool is_container =
      values > 0 && (CountOf(ValueClass::kArray) == values ||
                     CountOf(ValueClass::kObject) == values);
  bool is_good = false;
  if (is_container && !is_opaque_) {
    is_good = BuildChildren(column, path, depth, rules);
  } else if (const auto type = SingleType(); values > 0 && type.has_value()) {
    column.type = *type;
    is_good = true;
    SetDetails(column, rules);
  }
  if (!is_good) {
    // What was said of places inside is of no use.
    rules.notes.resize(notes);
    if (rules.has_variant && !CanBeVariant()) {
      rules.notes.push_back(absl::StrCat(path, ": left out, for no type takes ",
                                         SeenText(rules)));
      return std::nullopt;
    }
    column.children.clear();
    column.type = rules.has_variant ? SqlType::kVariant : SqlType::kVarchar;
  }
  --rules.columns_left;
  Explain(path, column, rules);
  return column;
}

Schema ValueGuess::BuildSchema(GuessRules& rules) const {
  Schema schema;
  if (passed_over_ > 0) {
    rules.notes.push_back(absl::StrCat(
        passed_over_,
        " members were left out: a schema has no more columns, no column is "
        "called so, or there are more places in the sample than are looked "
        "at"));
  }
  for (const NamedGuess& member : members_) {
    if (rules.columns_left == 0) {
      rules.notes.push_back(absl::StrCat(
          member.name, ": left out, a schema has no more columns"));
      continue;
    }
    std::optional<Column> column =
        member.guess->Build(member.name, member.objects < objects_, 0, rules);
    if (!column.has_value()) continue;
    column->name = member.name;
    schema.columns.push_back(std::move(*column));
  }
  return schema;
}

}  // namespace penstock::core
