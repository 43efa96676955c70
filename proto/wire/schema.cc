#include "proto/wire/schema.h"

#include "proto/penstock/v1/spec.pb.h"
#include "proto/wire/enums.h"
#include "proto/wire/field_reader.h"
#include "proto/wire/text.h"

#include <absl/strings/ascii.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <absl/strings/strip.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace penstock::wire {
namespace {

using core::SqlType;
using ColumnSpecs = google::protobuf::RepeatedPtrField<v1::ColumnSpec>;

constexpr size_t kColumnsMax = 1'000;
constexpr size_t kLevelsMax = 16;
constexpr size_t kNameBytesMax = 256;
constexpr uint32_t kDecimalDigitsMax = 1'000;
constexpr uint32_t kSecondDecimalsMax = 9;
constexpr uint32_t kSecondDecimalsDefault = 6;

// "boolean, tinyint ..." as YAML has them.
std::string KnownTypes() {
  std::vector<std::string> names;
  for (int i = v1::ColumnType_MIN + 1; i <= v1::ColumnType_MAX; ++i) {
    const std::string& name = v1::ColumnType_Name(i);
    names.push_back(
        absl::AsciiStrToLower(absl::StripPrefix(name, "COLUMN_TYPE_")));
  }
  return absl::StrJoin(names, ", ");
}

bool IsNested(SqlType type) {
  return type == SqlType::kArray || type == SqlType::kMap ||
         type == SqlType::kStruct;
}

bool HasSecondDecimals(SqlType type) {
  return type == SqlType::kTime || type == SqlType::kTimestamp ||
         type == SqlType::kTimestamptz;
}

// What a child is called that needs no name; empty: it needs one.
absl::string_view DefaultName(std::optional<SqlType> parent, size_t index) {
  if (parent == SqlType::kArray) return "element";
  if (parent == SqlType::kMap) return index == 0 ? "key" : "value";
  return "";
}

// Reads columns and what is in them.
// Lifetime: `violations` outlives it.
class ColumnReader {
 public:
  explicit ColumnReader(Violations& violations) : violations_(violations) {}

  // The columns at `path`, `level` from 1; `parent`: the type that they are
  // inside of, if any.
  std::vector<core::Column> Read(const ColumnSpecs& specs,
                                 const std::string& path, size_t level,
                                 std::optional<SqlType> parent) {
    std::vector<core::Column> columns;
    if (level > kLevelsMax) {
      Add(path,
          absl::StrCat("is inside of more than ", kLevelsMax - 1, " others"),
          kOutOfRange);
      return columns;
    }
    // Name to its place.
    std::map<std::string, int> places;
    for (int i = 0; i < specs.size(); ++i) {
      if (++count_ > kColumnsMax) {
        // Once is enough.
        if (count_ == kColumnsMax + 1) {
          Add(path,
              absl::StrCat("more than ", kColumnsMax,
                           " columns, those inside of others counted"),
              kOutOfRange);
        }
        break;
      }
      const std::string place = absl::StrCat(path, "[", i, "]");
      FieldReader fields(place, violations_);
      core::Column column =
          ReadColumn(specs[i], fields, level, parent, static_cast<size_t>(i));
      const auto [other, fresh] = places.emplace(column.name, i);
      if (!fresh && !column.name.empty()) {
        fields.Add("name",
                   absl::StrCat("'", ToUtf8(column.name, kNameBytesMax),
                                "' is the name of ", path, "[", other->second,
                                "], too"),
                   kContradiction);
      }
      columns.push_back(std::move(column));
    }
    return columns;
  }

 private:
  core::Column ReadColumn(const v1::ColumnSpec& spec, FieldReader& fields,
                          size_t level, std::optional<SqlType> parent,
                          size_t index) {
    core::Column column;
    column.name = spec.name().empty() ? std::string(DefaultName(parent, index))
                                      : spec.name();
    CheckName(column.name, fields);
    const bool is_key = parent == SqlType::kMap && index == 0;
    column.nullable = spec.has_nullable() ? spec.nullable() : !is_key;
    if (is_key && column.nullable) {
      fields.Add("nullable", "must not be true: the key of a map is never null",
                 kContradiction);
    }
    const std::optional<SqlType> type = FromProto(spec.type());
    if (!type.has_value()) {
      const bool is_missing = spec.type() == v1::COLUMN_TYPE_UNSPECIFIED;
      fields.Add("type",
                 absl::StrCat(is_missing ? std::string("is missing")
                                         : absl::StrCat("is ", spec.type()),
                              "; known are: ", KnownTypes()),
                 is_missing ? kRequired : kUnknownValue);
      return column;
    }
    column.type = *type;
    if (is_key && (IsNested(*type) || *type == SqlType::kVariant)) {
      fields.Add("type",
                 absl::StrCat("is ", core::SqlTypeName(*type),
                              ", which the key of a map cannot be"),
                 kContradiction);
    }
    ReadPrecision(spec, fields, column);
    ReadChildren(spec, fields, level, column);
    return column;
  }

  static void CheckName(const std::string& name, FieldReader& fields) {
    if (name.empty()) {
      fields.Add("name", "is missing", kRequired);
    } else if (name.size() > kNameBytesMax) {
      fields.Add("name",
                 absl::StrCat("is longer than ", kNameBytesMax, " bytes"),
                 kOutOfRange);
    } else if (std::any_of(name.begin(), name.end(), [](char c) {
                 return absl::ascii_iscntrl(static_cast<unsigned char>(c));
               })) {
      fields.Add("name", "must not contain control characters", kMalformed);
    }
  }

  static void ReadPrecision(const v1::ColumnSpec& spec, FieldReader& fields,
                            core::Column& column) {
    const absl::string_view type = core::SqlTypeName(column.type);
    const std::optional<uint64_t> given = PENSTOCK_GIVEN(spec, precision);
    const bool is_decimal = column.type == SqlType::kDecimal;
    if (is_decimal) {
      column.precision = static_cast<uint32_t>(
          fields.Number("precision", given, 0, 1, kDecimalDigitsMax));
    } else if (column.type == SqlType::kVarchar ||
               column.type == SqlType::kVarbinary) {
      column.precision = static_cast<uint32_t>(
          fields.Number("precision", given, 0, 1, UINT32_MAX));
    } else if (HasSecondDecimals(column.type)) {
      column.precision = static_cast<uint32_t>(fields.Number(
          "precision", given, kSecondDecimalsDefault, 0, kSecondDecimalsMax));
    } else if (given.has_value()) {
      fields.Add("precision", absl::StrCat("is nothing that ", type, " has"),
                 kContradiction);
    }
    if (!spec.has_scale()) return;
    if (!is_decimal) {
      fields.Add("scale", absl::StrCat("is nothing that ", type, " has"),
                 kContradiction);
    } else if (!given.has_value()) {
      fields.Add("scale", "needs a precision beside it", kContradiction);
    } else if (spec.scale() > *given) {
      fields.Add("scale",
                 absl::StrCat("is ", spec.scale(),
                              ", must be at most the precision, ", *given),
                 kOutOfRange);
    } else {
      column.scale = static_cast<int32_t>(spec.scale());
    }
  }

  void ReadChildren(const v1::ColumnSpec& spec, FieldReader& fields,
                    size_t level, core::Column& column) {
    const int count = spec.children_size();
    const absl::string_view type = core::SqlTypeName(column.type);
    const auto need = [&](bool holds, absl::string_view what) {
      if (holds) return true;
      fields.Add("children",
                 absl::StrCat("has ", count, ", but ", type, " needs ", what),
                 count == 0 ? kRequired : kContradiction);
      return false;
    };
    bool good = true;
    if (column.type == SqlType::kArray) {
      good = need(count == 1, "one, the element");
    } else if (column.type == SqlType::kMap) {
      good = need(count == 2, "two, the key and the value");
    } else if (column.type == SqlType::kStruct) {
      good = need(count > 0, "its fields, at least one");
    } else if (count > 0) {
      fields.Add("children",
                 absl::StrCat("are nothing that ", type,
                              " has; only array, map and struct do"),
                 kContradiction);
      good = false;
    }
    if (!good || count == 0) return;
    column.children =
        Read(spec.children(), fields.Path("children"), level + 1, column.type);
  }

  void Add(const std::string& path, std::string description,
           absl::string_view reason) {
    violations_.Add(path, std::move(description), reason);
  }

  Violations& violations_;
  // Columns seen, those inside of others, too.
  size_t count_ = 0;
};

void WriteColumns(const std::vector<core::Column>& from, ColumnSpecs& to) {
  for (const core::Column& column : from) {
    v1::ColumnSpec& spec = *to.Add();
    spec.set_name(column.name);
    spec.set_type(ToProto(column.type));
    spec.set_nullable(column.nullable);
    if (column.precision > 0 || HasSecondDecimals(column.type)) {
      spec.set_precision(column.precision);
    }
    if (column.type == SqlType::kDecimal && column.precision > 0) {
      spec.set_scale(static_cast<uint32_t>(column.scale));
    }
    WriteColumns(column.children, *spec.mutable_children());
  }
}

}  // namespace

core::Schema SchemaFromProto(const v1::SchemaSpec& spec, absl::string_view path,
                             Violations& violations) {
  const std::string columns = JoinPath(path, "columns");
  if (spec.columns_size() == 0) {
    violations.Add(columns, "is missing; give at least one column", kRequired);
    return {};
  }
  return {
      ColumnReader(violations).Read(spec.columns(), columns, 1, std::nullopt)};
}

v1::SchemaSpec SchemaToProto(const core::Schema& schema) {
  v1::SchemaSpec spec;
  WriteColumns(schema.columns, *spec.mutable_columns());
  return spec;
}

}  // namespace penstock::wire
