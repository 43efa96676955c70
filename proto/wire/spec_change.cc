#include "proto/wire/spec_change.h"

#include "core/base/status_macros.h"
#include "proto/penstock/v1/spec.pb.h"
#include "proto/wire/proto_time.h"
#include "proto/wire/spec.h"
#include "proto/wire/violations.h"

#include <absl/strings/escaping.h>
#include <absl/strings/str_cat.h>
#include <absl/time/time.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/duration.pb.h>
#include <google/protobuf/message.h>
#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <set>

namespace penstock::wire {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::Duration;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::OneofDescriptor;
using google::protobuf::Reflection;
using google::protobuf::util::MessageDifferencer;

constexpr size_t kTextBytesMax = 200;
constexpr absl::string_view kUnset = "unset";

// A message of ours, whose fields have classes of their own.
bool HasClassedFields(const FieldDescriptor& field) {
  return field.message_type() != nullptr && !field.is_map() &&
         field.message_type()->file()->package() != "google.protobuf";
}

// Of the field and all that is in it, but for messages that were `seen`: one
// may be inside of itself.
v1::ChangeClass StrictestIn(const FieldDescriptor& field,
                            std::set<const Descriptor*>& seen) {
  v1::ChangeClass strictest = ChangeClassOf(field);
  if (!HasClassedFields(field)) return strictest;
  const Descriptor& message = *field.message_type();
  if (!seen.insert(&message).second) return strictest;
  for (int i = 0; i < message.field_count(); ++i) {
    strictest = std::max(strictest, StrictestIn(*message.field(i), seen));
  }
  return strictest;
}

v1::ChangeClass StrictestIn(const FieldDescriptor& field) {
  std::set<const Descriptor*> seen;
  return StrictestIn(field, seen);
}

bool IsInPlace(const FieldDescriptor& field) {
  return field.options().GetExtension(v1::config).in_place();
}

// Requires: the field is repeated.
int SizeOf(const Message& message, const FieldDescriptor& field) {
  return message.GetReflection()->FieldSize(message, &field);
}

bool IsSet(const Message& message, const FieldDescriptor& field) {
  return field.is_repeated()
             ? SizeOf(message, field) > 0
             : message.GetReflection()->HasField(message, &field);
}

bool AreEqual(const Message& before, const Message& after,
              const FieldDescriptor& field) {
  const auto set = [&field](const Message& message) {
    std::vector<const FieldDescriptor*> fields;
    if (IsSet(message, field)) fields.push_back(&field);
    return fields;
  };
  MessageDifferencer differencer;
  return differencer.CompareWithFields(before, after, set(before), set(after));
}

std::string MessageText(const Message& message) {
  if (message.GetDescriptor() != Duration::descriptor()) return "given";
  const auto& duration = static_cast<const Duration&>(message);
  return absl::FormatDuration(
      DurationFromProto(duration).value_or(absl::ZeroDuration()));
}

std::string Text(const Message& message, const FieldDescriptor& field) {
  const Reflection& reflection = *message.GetReflection();
  if (field.is_repeated()) {
    return absl::StrCat(SizeOf(message, field), " given");
  }
  if (field.has_presence() && !IsSet(message, field)) {
    return std::string(kUnset);
  }
  if (field.options().GetExtension(v1::config).secret()) return "(secret)";
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return absl::StrCat(reflection.GetInt32(message, &field));
    case FieldDescriptor::CPPTYPE_INT64:
      return absl::StrCat(reflection.GetInt64(message, &field));
    case FieldDescriptor::CPPTYPE_UINT32:
      return absl::StrCat(reflection.GetUInt32(message, &field));
    case FieldDescriptor::CPPTYPE_UINT64:
      return absl::StrCat(reflection.GetUInt64(message, &field));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return absl::StrCat(reflection.GetDouble(message, &field));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return absl::StrCat(reflection.GetFloat(message, &field));
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.GetBool(message, &field) ? "true" : "false";
    case FieldDescriptor::CPPTYPE_ENUM:
      return std::string(reflection.GetEnum(message, &field)->name());
    case FieldDescriptor::CPPTYPE_STRING:
      return absl::StrCat(
          "'",
          absl::CHexEscape(
              reflection.GetString(message, &field).substr(0, kTextBytesMax)),
          "'");
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return MessageText(reflection.GetMessage(message, &field));
  }
  return "";
}

void Compare(const Message& before, const Message& after,
             absl::string_view path, std::vector<SpecChange>& changes);

// The chosen arm is compared like any field; another arm is one change.
void CompareOneof(const Message& before, const Message& after,
                  const OneofDescriptor& oneof, absl::string_view path,
                  std::vector<SpecChange>& changes) {
  const auto arm = [&oneof](const Message& message) {
    return message.GetReflection()->GetOneofFieldDescriptor(message, &oneof);
  };
  const auto name = [](const FieldDescriptor* field) {
    return field == nullptr ? std::string(kUnset) : field->name();
  };
  const FieldDescriptor* const from = arm(before);
  const FieldDescriptor* const to = arm(after);
  if (from == to) return;
  SpecChange change = {
      .field = std::string(path), .before = name(from), .after = name(to)};
  for (const FieldDescriptor* field : {from, to}) {
    if (field == nullptr) continue;
    change.change = std::max(change.change, StrictestIn(*field));
  }
  changes.push_back(std::move(change));
}

void CompareField(const Message& before, const Message& after,
                  const FieldDescriptor& field, absl::string_view path,
                  std::vector<SpecChange>& changes) {
  if (AreEqual(before, after, field)) return;
  const std::string name = JoinPath(path, field.name());
  const bool in_both = IsSet(before, field) && IsSet(after, field);
  if (HasClassedFields(field) && !field.is_repeated() && in_both) {
    return Compare(before.GetReflection()->GetMessage(before, &field),
                   after.GetReflection()->GetMessage(after, &field), name,
                   changes);
  }
  // As many as before: it is some of them that changed.
  if (HasClassedFields(field) && field.is_repeated() &&
      SizeOf(before, field) == SizeOf(after, field)) {
    for (int i = 0; i < SizeOf(before, field); ++i) {
      Compare(before.GetReflection()->GetRepeatedMessage(before, &field, i),
              after.GetReflection()->GetRepeatedMessage(after, &field, i),
              absl::StrCat(name, "[", i, "]"), changes);
    }
    return;
  }
  changes.push_back({.field = name,
                     .change = StrictestIn(field),
                     .before = Text(before, field),
                     .after = Text(after, field),
                     .in_place = IsInPlace(field)});
}

void Compare(const Message& before, const Message& after,
             absl::string_view path, std::vector<SpecChange>& changes) {
  const Descriptor& type = *before.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    const OneofDescriptor* const oneof = field.real_containing_oneof();
    if (oneof == nullptr) {
      CompareField(before, after, field, path, changes);
      continue;
    }
    if (oneof->field(0) == &field) {
      CompareOneof(before, after, *oneof, path, changes);
    }
    if (IsSet(before, field) && IsSet(after, field)) {
      CompareField(before, after, field, path, changes);
    }
  }
}

// What `spec_bytes` mean to this program, but by the versions that they name.
absl::StatusOr<v1::ConnectorSpec> Resolve(absl::string_view spec_bytes) {
  ASSIGN_OR_RETURN(const core::ConnectorSpec spec, SpecFromBytes(spec_bytes));
  v1::ConnectorSpec given;
  given.ParseFromArray(spec_bytes.data(), static_cast<int>(spec_bytes.size()));
  v1::ConnectorSpec resolved = SpecToProto(spec);
  // Zeros, which mean the newest, are not merged.
  resolved.mutable_versions()->MergeFrom(given.versions());
  return resolved;
}

}  // namespace

v1::ChangeClass ChangeClassOf(const FieldDescriptor& field) {
  const v1::ChangeClass change =
      field.options().GetExtension(v1::config).change();
  return change == v1::CHANGE_CLASS_UNSPECIFIED ? v1::CHANGE_CLASS_NEEDS_RESET
                                                : change;
}

std::vector<SpecChange> CompareSpecs(const Message& before,
                                     const Message& after) {
  std::vector<SpecChange> changes;
  Compare(before, after, "", changes);
  return changes;
}

absl::StatusOr<std::vector<SpecChange>> CompareSpecBytes(
    absl::string_view before, absl::string_view after) {
  ASSIGN_OR_RETURN(const v1::ConnectorSpec from, Resolve(before),
                   _ << "while reading the stored specification");
  ASSIGN_OR_RETURN(const v1::ConnectorSpec to, Resolve(after));
  return CompareSpecs(from, to);
}

v1::ChangeClass StrictestOf(const std::vector<SpecChange>& changes) {
  v1::ChangeClass strictest = v1::CHANGE_CLASS_REPLAY_SAFE;
  for (const SpecChange& change : changes) {
    strictest = std::max(strictest, change.change);
  }
  return strictest;
}

std::string Describe(const SpecChange& change) {
  return absl::StrCat(change.field, ": ", change.before, " -> ", change.after);
}

}  // namespace penstock::wire
