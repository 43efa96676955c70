#include "proto/wire/violations.h"

#include "proto/penstock/v1/status.pb.h"
#include "proto/wire/text.h"

#include <absl/strings/cord.h>
#include <absl/strings/str_cat.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/unknown_field_set.h>

#include <utility>

namespace penstock::wire {
namespace {

constexpr absl::string_view kViolationsUrl = "penstock/field_violations";

}  // namespace

void Violations::Add(std::string field, std::string description,
                     absl::string_view reason) {
  ++count_;
  if (reason == kUnsupportedField) ++unsupported_count_;
  if (kept_.size() == kKeptMax) return;
  kept_.push_back(
      {std::move(field), std::move(description), std::string(reason)});
}

absl::Status Violations::ToStatus(core::Reason reason) const {
  if (empty()) return absl::OkStatus();
  if (unsupported_count_ == count_) reason = core::Reason::UNSUPPORTED;
  const FieldViolation& first = kept_.front();
  std::string message = absl::StrCat(first.field, ": ", first.description);
  if (count_ > 1) {
    absl::StrAppend(&message, " (and ", count_ - 1, " more wrong field",
                    count_ > 2 ? "s)" : ")");
  }
  return WithViolations(
      core::MakeError(reason, message, {{"field", first.field}}), kept_);
}

absl::Status WithViolations(absl::Status status,
                            const std::vector<FieldViolation>& violations) {
  if (status.ok()) return status;
  v1::BadRequest request;
  for (const FieldViolation& violation : violations) {
    auto& to = *request.add_field_violations();
    to.set_field(ToUtf8(violation.field));
    to.set_description(ToUtf8(violation.description));
    to.set_reason(violation.reason);
  }
  status.SetPayload(kViolationsUrl, absl::Cord(request.SerializeAsString()));
  return status;
}

std::vector<FieldViolation> GetViolations(const absl::Status& status) {
  std::vector<FieldViolation> result;
  const auto payload = status.GetPayload(kViolationsUrl);
  v1::BadRequest request;
  if (!payload.has_value() || !request.ParseFromString(std::string(*payload))) {
    return result;
  }
  for (const auto& violation : request.field_violations()) {
    result.push_back(
        {violation.field(), violation.description(), violation.reason()});
  }
  return result;
}

void AddUnknownFields(const google::protobuf::Message& message,
                      absl::string_view path, Violations& violations) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  const auto& unknown = reflection.GetUnknownFields(message);
  for (int i = 0; i < unknown.field_count(); ++i) {
    violations.Add(JoinPath(path, absl::StrCat("#", unknown.field(i).number())),
                   absl::StrCat("field number ", unknown.field(i).number(),
                                " of ", message.GetDescriptor()->full_name(),
                                " is not known to this version"),
                   kUnknownField);
  }
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const google::protobuf::FieldDescriptor* field : fields) {
    if (field->message_type() == nullptr) continue;
    const std::string name = JoinPath(path, field->name());
    if (!field->is_repeated()) {
      AddUnknownFields(reflection.GetMessage(message, field), name, violations);
      continue;
    }
    for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
      AddUnknownFields(reflection.GetRepeatedMessage(message, field, i),
                       absl::StrCat(name, "[", i, "]"), violations);
    }
  }
}

std::string JoinPath(absl::string_view path, absl::string_view name) {
  if (path.empty()) return std::string(name);
  return absl::StrCat(path, ".", name);
}

}  // namespace penstock::wire
