#include "proto/wire/update.h"

#include "core/base/error.h"
#include "core/base/status_macros.h"
#include "proto/penstock/v1/options.pb.h"
#include "proto/penstock/v1/spec.pb.h"
#include "proto/wire/header.h"
#include "proto/wire/spec.h"
#include "proto/wire/spec_change.h"
#include "proto/wire/violations.h"

#include <absl/strings/str_cat.h>

#include <vector>

namespace penstock::wire {
namespace {

absl::string_view ReasonOf(v1::ChangeClass change) {
  if (change == v1::CHANGE_CLASS_REPLAY_SAFE) return "NEEDS_REOPEN";
  if (change == v1::CHANGE_CLASS_NEEDS_CLEAN_CHECKPOINT) {
    return "NEEDS_CLEAN_CHECKPOINT";
  }
  return "NEEDS_RESET";
}

absl::Status Refusal(const std::vector<SpecChange>& changes) {
  std::vector<FieldViolation> violations;
  std::string text = "updating a connector:";
  for (const SpecChange& change : changes) {
    violations.push_back({absl::StrCat("spec.", change.field), Describe(change),
                          std::string(ReasonOf(change.change))});
    if (violations.size() <= 3) {
      absl::StrAppend(&text, " ", Describe(change), " (",
                      ReasonOf(change.change), ");");
    }
  }
  absl::StrAppend(&text,
                  " nothing of it can change while the connector lives; open "
                  "it anew with the other specification as soon as the class "
                  "of each field allows it");
  return WithViolations(core::MakeError(core::Reason::INVALID_CONFIG, text,
                                        {{"field", violations.front().field}}),
                        violations);
}

}  // namespace

absl::StatusOr<DecodedUpdate> FromProto(
    const v1::UpdateConnectorRequest& request) {
  Violations violations;
  DecodedUpdate update;
  update.header = ReadHeader(request, violations);
  update.validate_only = request.validate_only();
  RETURN_IF_ERROR(violations.ToStatus(core::Reason::INVALID_REQUEST));
  ASSIGN_OR_RETURN(const core::ConnectorSpec spec,
                   SpecFromProto(request.spec(), "spec"));
  update.spec_bytes = SpecToBytes(spec);
  return update;
}

absl::StatusOr<v1::UpdateConnectorResponse> AnswerUpdate(
    const DecodedUpdate& update, absl::string_view running) {
  ASSIGN_OR_RETURN(const std::vector<SpecChange> changes,
                   CompareSpecBytes(running, update.spec_bytes));
  if (!update.validate_only && !changes.empty()) return Refusal(changes);
  v1::UpdateConnectorResponse response;
  for (const SpecChange& change : changes) {
    v1::SpecChange& to = *response.add_changes();
    to.set_field(change.field);
    to.set_change(change.change);
  }
  // What runs, which is what it was asked to be if nothing differs.
  if (!response.mutable_resolved_spec()->ParseFromArray(
          running.data(), static_cast<int>(running.size()))) {
    return core::MakeError(core::Reason::INTERNAL,
                           "the specification that runs does not decode");
  }
  response.set_spec_hash(SpecHash(running));
  return response;
}

}  // namespace penstock::wire
