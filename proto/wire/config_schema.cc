#include "proto/wire/config_schema.h"

#include "core/base/json_text.h"
#include "proto/penstock/v1/options.pb.h"
#include "proto/wire/config_comments.h"
#include "proto/wire/spec_change.h"
#include "proto/wire/violations.h"

#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/strip.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/duration.pb.h>

#include <algorithm>

namespace penstock::wire {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::Duration;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::OneofDescriptor;

constexpr absl::string_view kDuration =
    R"("type": "string", "pattern": "^([0-9.]+(ns|us|ms|s|m|h))+$")";
constexpr absl::string_view kBytes =
    R"("type": ["integer", "string"], "minimum": 0, )"
    R"("pattern": "^[0-9]+ *([kKMGT]?B|[KMGT]iB)?$")";

bool IsDuration(const FieldDescriptor& field) {
  return field.message_type() == Duration::descriptor();
}

bool IsRequired(const FieldDescriptor& field) {
  return field.options().GetExtension(v1::config).required();
}

std::string Quoted(absl::string_view text) {
  std::string quoted;
  core::AppendJsonString(text, quoted);
  return quoted;
}

// Writes one schema, messages as definitions that refer to each other.
// Threads: confined. Bound: the descriptors of spec.proto.
class SchemaWriter {
 public:
  explicit SchemaWriter(const Descriptor& root) { Need(root); }

  std::string Write() {
    std::string definitions;
    // Each may need more of them.
    for (size_t i = 0; i < needed_.size(); ++i) {
      absl::StrAppend(&definitions, i == 0 ? "" : ",\n", "    ",
                      Quoted(needed_[i]->name()), ": ", Message(*needed_[i]));
    }
    return absl::StrCat(
        "{\n  \"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n"
        "  \"$ref\": ",
        Reference(*needed_[0]), ",\n  \"$defs\": {\n", definitions,
        "\n  }\n}\n");
  }

 private:
  static std::string Reference(const Descriptor& message) {
    return Quoted(absl::StrCat("#/$defs/", message.name()));
  }

  void Need(const Descriptor& message) {
    if (std::find(needed_.begin(), needed_.end(), &message) == needed_.end()) {
      needed_.push_back(&message);
    }
  }

  std::string Message(const Descriptor& message) {
    std::string properties;
    std::string required;
    for (int i = 0; i < message.field_count(); ++i) {
      const FieldDescriptor& field = *message.field(i);
      absl::StrAppend(&properties, i == 0 ? "" : ",", "\n        ",
                      Quoted(field.name()), ": ", Field(field));
      if (IsRequired(field)) {
        absl::StrAppend(&required, required.empty() ? "" : ", ",
                        Quoted(field.name()));
      }
    }
    std::string text = absl::StrCat(
        "{\n      \"description\": ", Quoted(CommentOf(message)),
        ",\n      \"type\": \"object\",\n      \"additionalProperties\": false",
        ",\n      \"properties\": {", properties,
        properties.empty() ? "}" : "\n      }");
    if (!required.empty()) {
      absl::StrAppend(&text, ",\n      \"required\": [", required, "]");
    }
    // Exactly one arm of a oneof.
    if (message.real_oneof_decl_count() > 0) {
      absl::StrAppend(&text,
                      ",\n      \"minProperties\": 1, \"maxProperties\": 1");
    }
    return absl::StrCat(text, "\n    }");
  }

  std::string Field(const FieldDescriptor& field) {
    const std::string comment = CommentOf(field);
    std::string type = field.is_map() ? std::string() : Type(field);
    if (field.is_map()) {
      // Of texts by text.
      type = R"("type": "object", "additionalProperties": {"type": "string"})";
    } else if (field.is_repeated()) {
      type = absl::StrCat(R"("type": "array", "items": {)", type, "}");
    }
    return absl::StrCat("{", type, ", \"description\": ", Quoted(comment), "}");
  }

  std::string Type(const FieldDescriptor& field) {
    if (IsDuration(field)) return std::string(kDuration);
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_MESSAGE:
        Need(*field.message_type());
        return absl::StrCat("\"$ref\": ", Reference(*field.message_type()));
      case FieldDescriptor::CPPTYPE_ENUM:
        return Enum(*field.enum_type());
      case FieldDescriptor::CPPTYPE_BOOL:
        return R"("type": "boolean")";
      case FieldDescriptor::CPPTYPE_STRING:
        return R"("type": "string")";
      case FieldDescriptor::CPPTYPE_DOUBLE:
      case FieldDescriptor::CPPTYPE_FLOAT:
        return R"("type": "number")";
      default:
        return absl::StrContains(field.name(), "bytes")
                   ? std::string(kBytes)
                   : R"("type": "integer", "minimum": 0)";
    }
  }

  static std::string Enum(const EnumDescriptor& type) {
    std::string values;
    // The first one is UNSPECIFIED, and refused.
    for (int i = 1; i < type.value_count(); ++i) {
      absl::StrAppend(&values, i == 1 ? "" : ", ",
                      Quoted(ShortEnumName(*type.value(i))));
    }
    return absl::StrCat(R"("enum": [)", values, "]");
  }

  std::vector<const Descriptor*> needed_;
};

void AddFields(const Descriptor& message, const std::string& path,
               std::vector<const Descriptor*>& above,
               std::vector<v1::ConfigField>& fields) {
  if (std::find(above.begin(), above.end(), &message) != above.end()) return;
  above.push_back(&message);
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    const std::string name =
        absl::StrCat(JoinPath(path, field.name()),
                     field.is_repeated() && !field.is_map() ? "[]" : "");
    v1::ConfigField& to = fields.emplace_back();
    to.set_name(name);
    to.set_type(field.is_map() ? "map<string, string>"
                : field.message_type() != nullptr
                    ? field.message_type()->full_name()
                : field.enum_type() != nullptr ? field.enum_type()->full_name()
                                               : field.type_name());
    to.set_required(IsRequired(field));
    to.set_description(CommentOf(field));
    to.set_default_value(DefaultIn(to.description()));
    to.set_change(ChangeClassOf(field));
    to.set_secret(field.options().GetExtension(v1::config).secret());
    if (field.message_type() != nullptr && !field.is_map() &&
        !IsDuration(field)) {
      AddFields(*field.message_type(), name, above, fields);
    }
  }
  above.pop_back();
}

}  // namespace

std::string ConfigSchema(const Descriptor& message) {
  return SchemaWriter(message).Write();
}

std::vector<v1::ConfigField> ConfigFields(const Descriptor& message) {
  std::vector<v1::ConfigField> fields;
  std::vector<const Descriptor*> above;
  AddFields(message, "", above, fields);
  return fields;
}

std::string ShortEnumName(const google::protobuf::EnumValueDescriptor& value) {
  // Values bear their enum's name: COLUMN_TYPE_BIGINT of ColumnType.
  const std::string first = value.type()->value(0)->name();
  const absl::string_view prefix = absl::StripSuffix(first, "UNSPECIFIED");
  return absl::AsciiStrToLower(absl::StripPrefix(value.name(), prefix));
}

}  // namespace penstock::wire
