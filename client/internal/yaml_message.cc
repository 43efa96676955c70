#include "client/internal/yaml_message.h"

#include "client/internal/yaml_scalar.h"
#include "proto/wire/proto_time.h"
#include "proto/wire/text.h"

#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_replace.h>
#include <absl/strings/str_split.h>
#include <absl/strings/strip.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/duration.pb.h>
#include <google/protobuf/message.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace penstock::client::internal {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::OneofDescriptor;
using google::protobuf::Reflection;

constexpr absl::string_view kUnspecifiedSuffix = "UNSPECIFIED";

// Most values read: aliases inside of aliases make a short file a long one.
constexpr size_t kValuesMax = 200'000;

// YAML says null of a key or value that is written `null` or `~` or not at all.
std::string KeyText(const YAML::Node& key) {
  return key.IsNull() ? "null" : key.Scalar();
}

bool CountsBytes(const FieldDescriptor& field) {
  return absl::StrContains(field.name(), "bytes") ||
         field.name() == "memory_max";
}

std::vector<std::string> FieldNames(const Descriptor& type) {
  std::vector<std::string> names;
  for (int i = 0; i < type.field_count(); ++i) {
    names.push_back(type.field(i)->name());
  }
  return names;
}

// "DELIVERY_LEVEL_" of DeliveryLevel.
std::string EnumPrefix(const EnumDescriptor& type) {
  return std::string(
      absl::StripSuffix(type.value(0)->name(), kUnspecifiedSuffix));
}

std::vector<std::string> EnumNames(const EnumDescriptor& type) {
  const std::string prefix = EnumPrefix(type);
  std::vector<std::string> names;
  // The first one is UNSPECIFIED, which nobody may write.
  for (int i = 1; i < type.value_count(); ++i) {
    names.push_back(absl::AsciiStrToLower(
        absl::StripPrefix(type.value(i)->name(), prefix)));
  }
  return names;
}

const EnumValueDescriptor* FindEnumValue(const EnumDescriptor& type,
                                         absl::string_view text) {
  const std::string upper = absl::StrReplaceAll(absl::AsciiStrToUpper(text),
                                                {{"-", "_"}, {" ", "_"}});
  const std::string prefix = EnumPrefix(type);
  const EnumValueDescriptor* value = type.FindValueByName(
      absl::StartsWith(upper, prefix) ? upper : prefix + upper);
  return value == nullptr || value->number() == 0 ? nullptr : value;
}

// Reads one document. Uses yaml-cpp, which throws: its caller catches.
// Lifetime: what it refers to outlives it.
class Reader {
 public:
  Reader(FieldLines& lines, wire::Violations& violations)
      : lines_(lines), violations_(violations) {}

  void ReadMessage(const YAML::Node& node, const std::string& path,
                   Message& message) {
    if (node.IsNull()) return;
    if (!node.IsMap()) {
      Add(path, absl::StrCat("must be a mapping with the keys of ",
                             message.GetDescriptor()->name()));
      return;
    }
    std::set<std::string> seen;
    for (const auto& entry : node) ReadEntry(entry, path, seen, message);
  }

 private:
  using Entry = YAML::const_iterator::value_type;

  void Add(const std::string& path, std::string description,
           absl::string_view reason = wire::kMalformed) {
    violations_.Add(path, std::move(description), reason);
  }

  void ReadEntry(const Entry& entry, const std::string& path,
                 std::set<std::string>& seen, Message& message) {
    if (!entry.first.IsScalar() && !entry.first.IsNull()) {
      Add(path, "has a key that is no text");
      return;
    }
    const Descriptor& type = *message.GetDescriptor();
    const std::string name = wire::ToUtf8(KeyText(entry.first), 256);
    const std::string field_path = wire::JoinPath(path, name);
    lines_.Set(field_path, entry.first.Mark().line + 1);
    const FieldDescriptor* field = type.FindFieldByName(name);
    if (field == nullptr) {
      Add(field_path,
          absl::StrCat("unknown", SuggestOf(name, FieldNames(type))),
          wire::kUnknownField);
      return;
    }
    if (!seen.insert(name).second) {
      Add(field_path, "is given twice", wire::kContradiction);
      return;
    }
    const OneofDescriptor* arms = field->real_containing_oneof();
    const FieldDescriptor* other =
        arms == nullptr
            ? nullptr
            : message.GetReflection()->GetOneofFieldDescriptor(message, arms);
    if (other != nullptr) {
      Add(field_path,
          absl::StrCat("excludes '", other->name(), "'; give one of them"),
          wire::kContradiction);
      return;
    }
    ReadField(entry.second, field_path, *field, message);
  }

  void ReadField(const YAML::Node& node, const std::string& path,
                 const FieldDescriptor& field, Message& message) {
    if (field.is_map()) return ReadMap(node, path, field, message);
    if (!field.is_repeated()) return ReadValue(node, path, field, message);
    if (!node.IsSequence()) {
      Add(path, "must be a list");
      return;
    }
    for (size_t i = 0; i < node.size(); ++i) {
      const std::string item = absl::StrCat(path, "[", i, "]");
      lines_.Set(item, node[i].Mark().line + 1);
      ReadValue(node[i], item, field, message);
    }
  }

  // Of texts by text.
  void ReadMap(const YAML::Node& node, const std::string& path,
               const FieldDescriptor& field, Message& message) {
    if (!node.IsMap()) {
      Add(path, "must be a mapping of names to values");
      return;
    }
    std::set<std::string> seen;
    for (const auto& entry : node) {
      const std::string name = wire::ToUtf8(KeyText(entry.first), 256);
      const std::string entry_path = wire::JoinPath(path, name);
      lines_.Set(entry_path, entry.first.Mark().line + 1);
      if (!seen.insert(name).second) {
        Add(entry_path, "is given twice", wire::kContradiction);
        continue;
      }
      Message& pair = *message.GetReflection()->AddMessage(&message, &field);
      pair.GetReflection()->SetString(&pair, field.message_type()->map_key(),
                                      name);
      ReadValue(entry.second, entry_path, *field.message_type()->map_value(),
                pair);
    }
  }

  void ReadValue(const YAML::Node& node, const std::string& path,
                 const FieldDescriptor& field, Message& message) {
    if (++values_ > kValuesMax) {
      // Once is enough.
      if (values_ == kValuesMax + 1) {
        Add(path,
            absl::StrCat("is beyond the limit of ", kValuesMax,
                         " values, aliases followed"),
            wire::kOutOfRange);
      }
      return;
    }
    const Descriptor* type = field.message_type();
    const bool is_time =
        type != nullptr && type == google::protobuf::Duration::descriptor();
    if (type != nullptr && !is_time) {
      return ReadMessage(node, path, Inner(message, field));
    }
    if (node.IsNull()) {
      Add(path, "has no value", wire::kRequired);
    } else if (!node.IsScalar()) {
      Add(path, "must be a single value");
    } else if (is_time) {
      ReadTimeSpan(node.Scalar(), path, field, message);
    } else {
      ReadScalar(node.Scalar(), path, field, message);
    }
  }

  // The message of a field, a new one of a list.
  static Message& Inner(Message& message, const FieldDescriptor& field) {
    const Reflection& reflection = *message.GetReflection();
    return field.is_repeated() ? *reflection.AddMessage(&message, &field)
                               : *reflection.MutableMessage(&message, &field);
  }

  // How Reflection takes a value of a field, or one more of a list.
  template <typename Value>
  using Take = void (Reflection::*)(Message*, const FieldDescriptor*,
                                    Value) const;

  template <typename Value>
  static void Put(Message& message, const FieldDescriptor& field,
                  Take<Value> set, Take<Value> add, Value value) {
    const Take<Value> take = field.is_repeated() ? add : set;
    (message.GetReflection()->*take)(&message, &field, std::move(value));
  }

  void ReadTimeSpan(const std::string& text, const std::string& path,
                    const FieldDescriptor& field, Message& message) {
    if (const auto time = ParseTime(text)) {
      Inner(message, field).CopyFrom(wire::DurationToProto(*time));
      return;
    }
    Add(path, absl::StrCat("'", wire::ToUtf8(text, 64),
                           "' is no time span; write it with a unit, such as "
                           "10s, 100ms, 5m, 1h30m"));
  }

  void ReadScalar(const std::string& text, const std::string& path,
                  const FieldDescriptor& field, Message& message) {
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_STRING:
        return ReadText(text, path, field, message);
      case FieldDescriptor::CPPTYPE_BOOL:
        if (const auto value = ParseBool(text)) {
          return Put(message, field, &Reflection::SetBool, &Reflection::AddBool,
                     *value);
        }
        return Wrong(text, path, "true or false");
      case FieldDescriptor::CPPTYPE_UINT32:
        if (const auto value = ParseNumber(text);
            value.has_value() && *value <= UINT32_MAX) {
          return Put(message, field, &Reflection::SetUInt32,
                     &Reflection::AddUInt32, static_cast<uint32_t>(*value));
        }
        return Wrong(text, path, "a whole number from 0 to 2^32 - 1");
      case FieldDescriptor::CPPTYPE_UINT64:
        if (const auto value =
                CountsBytes(field) ? ParseBytes(text) : ParseNumber(text)) {
          return Put(message, field, &Reflection::SetUInt64,
                     &Reflection::AddUInt64, *value);
        }
        return Wrong(text, path,
                     CountsBytes(field)
                         ? "a number of bytes, such as 4096, 64KiB, 8MiB"
                         : "a whole number from 0 to 2^64 - 1");
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return ReadDouble(text, path, field, message);
      case FieldDescriptor::CPPTYPE_ENUM:
        return ReadEnum(text, path, field, message);
      default:
        Add(path, "cannot be written in YAML");
    }
  }

  void ReadText(const std::string& text, const std::string& path,
                const FieldDescriptor& field, Message& message) {
    if (wire::ToUtf8(text) != text) {
      Add(path, "is not UTF-8");
      return;
    }
    Put(message, field, &Reflection::SetString, &Reflection::AddString, text);
  }

  void ReadDouble(const std::string& text, const std::string& path,
                  const FieldDescriptor& field, Message& message) {
    double value = 0;
    if (absl::SimpleAtod(text, &value) && std::isfinite(value)) {
      return Put(message, field, &Reflection::SetDouble, &Reflection::AddDouble,
                 value);
    }
    Wrong(text, path, "a number");
  }

  void ReadEnum(const std::string& text, const std::string& path,
                const FieldDescriptor& field, Message& message) {
    const EnumDescriptor& type = *field.enum_type();
    if (const EnumValueDescriptor* value = FindEnumValue(type, text)) {
      return Put(message, field, &Reflection::SetEnum, &Reflection::AddEnum,
                 value);
    }
    Add(path,
        absl::StrCat("'", wire::ToUtf8(text, 64), "' is unknown",
                     SuggestOf(absl::AsciiStrToLower(text), EnumNames(type))),
        wire::kUnknownValue);
  }

  void Wrong(const std::string& text, const std::string& path,
             absl::string_view expected) {
    Add(path, absl::StrCat("'", wire::ToUtf8(text, 64), "' is not ", expected));
  }

  FieldLines& lines_;
  wire::Violations& violations_;
  size_t values_ = 0;
};

}  // namespace

void FieldLines::Set(std::string path, int line) {
  lines_.insert_or_assign(std::move(path), line);
}

int FieldLines::Of(absl::string_view path) const {
  while (true) {
    const auto found = lines_.find(path);
    if (found != lines_.end()) return found->second;
    const size_t cut = path.find_last_of(".[");
    if (cut == absl::string_view::npos) break;
    path = path.substr(0, cut);
  }
  const auto root = lines_.find("");
  return root == lines_.end() ? 1 : root->second;
}

// What a person did where the parser says only what it met.
std::string YamlRemedy(absl::string_view text, int line) {
  const std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  // The mark may be behind the last line, and is often a line late.
  const size_t end = std::min(lines.size(), static_cast<size_t>(line + 1));
  for (size_t i = end > 2 ? end - 2 : 0; i < end; ++i) {
    const size_t indent = lines[i].find_first_not_of(" \t");
    if (lines[i].substr(0, indent).find('\t') != absl::string_view::npos) {
      return absl::StrCat("; line ", i + 1,
                          " begins with a tab, but only spaces indent");
    }
  }
  return "; is the line, or one before it, indented as its neighbours, are "
         "brackets and quotes closed, and is there a space behind each colon?";
}

void ReadYaml(absl::string_view text, Message& message, FieldLines& lines,
              wire::Violations& violations) {
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(std::string(text));
    if (documents.size() != 1) {
      violations.Add(
          "", absl::StrCat("must be one YAML document, not ", documents.size()),
          wire::kMalformed);
      return;
    }
    if (!documents[0].IsMap()) {
      violations.Add("", "must be a mapping, such as `name: shop`",
                     wire::kMalformed);
      return;
    }
    Reader(lines, violations).ReadMessage(documents[0], "", message);
  } catch (const YAML::Exception& error) {
    lines.Set("", std::max(0, error.mark.line) + 1);
    violations.Add("",
                   absl::StrCat("is not YAML: ", error.msg,
                                YamlRemedy(text, std::max(0, error.mark.line))),
                   wire::kMalformed);
  }
}

}  // namespace penstock::client::internal
