#include "server/schemas/protobuf_compiler.h"

#include "core/base/error.h"
#include "core/base/status_macros.h"
#include "server/schemas/protobuf_files.h"

#include <absl/container/flat_hash_map.h>
#include <absl/strings/str_cat.h>
#include <google/protobuf/descriptor.pb.h>

#include <algorithm>
#include <deque>
#include <string>
#include <utility>
#include <vector>

namespace penstock::server {
namespace {

using core::ProtobufEnum;
using core::ProtobufField;
using core::ProtobufMessage;
using core::ProtobufSchema;
using core::ProtobufShape;
using core::ProtobufType;
using core::ProtobufWellKnown;
using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;

bool IsProto3(const FileDescriptor& file) {
  return file.syntax() == FileDescriptor::SYNTAX_PROTO3;
}

ProtobufType TypeOf(const FieldDescriptor& field) {
  switch (field.type()) {
    case FieldDescriptor::TYPE_DOUBLE:
      return ProtobufType::kDouble;
    case FieldDescriptor::TYPE_FLOAT:
      return ProtobufType::kFloat;
    case FieldDescriptor::TYPE_INT64:
      return ProtobufType::kInt64;
    case FieldDescriptor::TYPE_UINT64:
      return ProtobufType::kUint64;
    case FieldDescriptor::TYPE_INT32:
      return ProtobufType::kInt32;
    case FieldDescriptor::TYPE_FIXED64:
      return ProtobufType::kFixed64;
    case FieldDescriptor::TYPE_FIXED32:
      return ProtobufType::kFixed32;
    case FieldDescriptor::TYPE_BOOL:
      return ProtobufType::kBool;
    case FieldDescriptor::TYPE_STRING:
      return ProtobufType::kString;
    case FieldDescriptor::TYPE_GROUP:
      return ProtobufType::kGroup;
    case FieldDescriptor::TYPE_MESSAGE:
      return ProtobufType::kMessage;
    case FieldDescriptor::TYPE_BYTES:
      return ProtobufType::kBytes;
    case FieldDescriptor::TYPE_UINT32:
      return ProtobufType::kUint32;
    case FieldDescriptor::TYPE_ENUM:
      return ProtobufType::kEnum;
    case FieldDescriptor::TYPE_SFIXED32:
      return ProtobufType::kSfixed32;
    case FieldDescriptor::TYPE_SFIXED64:
      return ProtobufType::kSfixed64;
    case FieldDescriptor::TYPE_SINT32:
      return ProtobufType::kSint32;
    case FieldDescriptor::TYPE_SINT64:
      return ProtobufType::kSint64;
  }
  return ProtobufType::kBytes;
}

// By name and by shape, for a set of descriptors may have any message of that
// name.
ProtobufWellKnown WellKnownOf(const ProtobufMessage& message) {
  constexpr absl::string_view kPackage = "google.protobuf.";
  absl::string_view name = message.name;
  if (name.substr(0, kPackage.size()) != kPackage) {
    return ProtobufWellKnown::kNone;
  }
  name.remove_prefix(kPackage.size());
  const std::vector<ProtobufField>& fields = message.fields;
  const auto is_time = [&] {
    return fields.size() == 2 && fields[0].type == ProtobufType::kInt64 &&
           fields[1].type == ProtobufType::kInt32 &&
           fields[0].shape == ProtobufShape::kSingular &&
           fields[1].shape == ProtobufShape::kSingular;
  };
  const auto has_one = [&](ProtobufShape shape) {
    return fields.size() == 1 && fields[0].shape == shape;
  };
  if (name == "Timestamp" && is_time()) return ProtobufWellKnown::kTimestamp;
  if (name == "Duration" && is_time()) return ProtobufWellKnown::kDuration;
  if (name == "Struct" && has_one(ProtobufShape::kMap)) {
    return ProtobufWellKnown::kStruct;
  }
  if (name == "ListValue" && has_one(ProtobufShape::kRepeated)) {
    return ProtobufWellKnown::kListValue;
  }
  if (name == "Value" && message.oneofs == 1 && !fields.empty() &&
      std::all_of(fields.begin(), fields.end(),
                  [](const ProtobufField& one) { return one.oneof == 0; })) {
    return ProtobufWellKnown::kValue;
  }
  const auto is_one_of = {"DoubleValue", "FloatValue",  "Int64Value",
                          "UInt64Value", "Int32Value",  "UInt32Value",
                          "BoolValue",   "StringValue", "BytesValue"};
  const bool is_wrapper =
      std::find(is_one_of.begin(), is_one_of.end(), name) != is_one_of.end() &&
      has_one(ProtobufShape::kSingular) &&
      fields[0].type != ProtobufType::kMessage;
  return is_wrapper ? ProtobufWellKnown::kWrapper : ProtobufWellKnown::kNone;
}

// Numbers messages and enums as they are met.
class Table {
 public:
  uint32_t NumberOf(const Descriptor& message) {
    const auto [found, is_new] = message_numbers_.try_emplace(
        &message, static_cast<uint32_t>(message_numbers_.size()));
    if (is_new) waiting_.push_back(&message);
    return found->second;
  }

  // Fills in those that were met, and so on.
  void Fill() {
    while (!waiting_.empty()) {
      const Descriptor& message = *waiting_.front();
      waiting_.pop_front();
      messages_.push_back(Tabulate(message));
    }
  }

  std::shared_ptr<const ProtobufSchema> Take(std::vector<uint32_t> roots) {
    return std::make_shared<ProtobufSchema>(
        std::move(messages_), std::move(enums_), std::move(roots));
  }

 private:
  ProtobufMessage Tabulate(const Descriptor& from) {
    ProtobufMessage message{
        .name = from.full_name(),
        .oneofs = static_cast<uint32_t>(from.real_oneof_decl_count())};
    for (int i = 0; i < from.field_count(); ++i) {
      message.fields.push_back(Tabulate(*from.field(i)));
      message.has_required |= message.fields.back().is_required;
    }
    std::sort(message.fields.begin(), message.fields.end(),
              [](const ProtobufField& one, const ProtobufField& other) {
                return one.number < other.number;
              });
    for (int i = 0; i < from.nested_type_count(); ++i) {
      const Descriptor& nested = *from.nested_type(i);
      // The path of a message counts only what is declared.
      if (nested.options().map_entry()) continue;
      message.nested.push_back(NumberOf(nested));
    }
    message.well_known = WellKnownOf(message);
    return message;
  }

  ProtobufField Tabulate(const FieldDescriptor& from) {
    const bool is_of_entry = from.containing_type()->options().map_entry();
    ProtobufField field{
        .number = static_cast<uint32_t>(from.number()),
        .name = from.name(),
        .type = TypeOf(from),
        .shape = from.is_map()        ? ProtobufShape::kMap
                 : from.is_repeated() ? ProtobufShape::kRepeated
                                      : ProtobufShape::kSingular,
        .has_presence = from.has_presence() && !is_of_entry,
        .is_required = from.is_required(),
        .is_utf8 = from.type() == FieldDescriptor::TYPE_STRING &&
                   IsProto3(*from.file())};
    if (from.real_containing_oneof() != nullptr) {
      field.oneof =
          static_cast<uint32_t>(from.real_containing_oneof()->index());
    }
    if (from.message_type() != nullptr) {
      field.of = NumberOf(*from.message_type());
    } else if (from.enum_type() != nullptr) {
      field.of = NumberOf(*from.enum_type(), !IsProto3(*from.file()));
    }
    return field;
  }

  uint32_t NumberOf(const EnumDescriptor& from, bool is_closed) {
    const auto [found, is_new] = enum_numbers_.try_emplace(
        std::pair(&from, is_closed), static_cast<uint32_t>(enums_.size()));
    if (!is_new) return found->second;
    ProtobufEnum made{
        .is_closed = is_closed,
        .is_null = from.full_name() == "google.protobuf.NullValue"};
    for (int i = 0; i < from.value_count(); ++i) {
      made.values.emplace_back(from.value(i)->number(), from.value(i)->name());
    }
    const auto by_number = [](const auto& one, const auto& other) {
      return one.first < other.first;
    };
    std::stable_sort(made.values.begin(), made.values.end(), by_number);
    const auto same = [](const auto& one, const auto& other) {
      return one.first == other.first;
    };
    made.values.erase(std::unique(made.values.begin(), made.values.end(), same),
                      made.values.end());
    enums_.push_back(std::move(made));
    return found->second;
  }

  absl::flat_hash_map<const Descriptor*, uint32_t> message_numbers_;
  absl::flat_hash_map<std::pair<const EnumDescriptor*, bool>, uint32_t>
      enum_numbers_;
  std::deque<const Descriptor*> waiting_;
  std::vector<ProtobufMessage> messages_;
  std::vector<ProtobufEnum> enums_;
};

// Puts a file's messages in and returns which they are.
void AddFile(const FileDescriptor& file, Table& table,
             std::vector<uint32_t>& roots) {
  for (int i = 0; i < file.message_type_count(); ++i) {
    roots.push_back(table.NumberOf(*file.message_type(i)));
  }
}

absl::StatusOr<std::shared_ptr<const ProtobufSchema>> ReadDescriptorSet(
    absl::string_view bytes) {
  const auto bad = [](absl::string_view problem) {
    return core::MakeError(
        core::Reason::INVALID_CONFIG,
        absl::StrCat("format.protobuf.descriptor_set: ", problem),
        {{"field", "format.protobuf.descriptor_set"}});
  };
  google::protobuf::FileDescriptorSet set;
  if (!set.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return bad("it is no FileDescriptorSet");
  }
  google::protobuf::SimpleDescriptorDatabase database;
  google::protobuf::DescriptorPool pool(&database);
  for (const auto& file : set.file()) {
    if (!database.Add(file)) {
      return bad(absl::StrCat(file.name(),
                              " is in it twice, or declares what "
                              "another file does"));
    }
  }
  Table table;
  std::vector<uint32_t> roots;
  for (const auto& file : set.file()) {
    const FileDescriptor* const built = pool.FindFileByName(file.name());
    if (built == nullptr) {
      return bad(absl::StrCat(file.name(),
                              " cannot be linked; make it with "
                              "--include_imports"));
    }
    AddFile(*built, table, roots);
  }
  table.Fill();
  return table.Take(std::move(roots));
}

absl::StatusOr<std::shared_ptr<const core::WriterSchema>> ReadFiles(
    const core::RegisteredSchema& schema) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ProtobufFiles> files,
                   ProtobufFiles::Parse(schema));
  return TabulateProtobuf(files->file());
}

}  // namespace

std::shared_ptr<const ProtobufSchema> TabulateProtobuf(
    const FileDescriptor& file) {
  Table table;
  std::vector<uint32_t> roots;
  AddFile(file, table, roots);
  table.Fill();
  return table.Take(std::move(roots));
}

core::ProtobufCompiler MakeProtobufCompiler() {
  return {.language = {.type = "PROTOBUF", .read = ReadFiles},
          .read_descriptor_set = ReadDescriptorSet};
}

}  // namespace penstock::server
