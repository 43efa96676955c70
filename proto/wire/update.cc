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

// OK if a living connector takes all of it over.
absl::Status Refusal(const std::vector<SpecChange>& changes) {
  std::vector<FieldViolation> violations;
  std::string text = "updating a connector:";
  for (const SpecChange& change : changes) {
    if (change.in_place) continue;
    violations.push_back({absl::StrCat("spec.", change.field), Describe(change),
                          std::string(ReasonOf(change.change))});
    if (violations.size() <= 3) {
      absl::StrAppend(&text, " ", Describe(change), " (",
                      ReasonOf(change.change), ");");
    }
  }
  if (violations.empty()) return absl::OkStatus();
  absl::StrAppend(&text,
                  " that cannot change while the connector lives, and nothing "
                  "was changed; open it anew with the other specification as "
                  "soon as the class of each field allows it");
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
  RETURN_IF_ERROR(violations.ToStatus(core::Reason::INVALID_REQUEST));
  ASSIGN_OR_RETURN(update.request.spec, SpecFromProto(request.spec(), "spec"));
  update.request.spec_bytes = SpecToBytes(update.request.spec);
  update.request.validate_only = request.validate_only();
  update.request.check = [asked = update.request.spec_bytes,
                          only = update.request.validate_only](
                             absl::string_view running) -> absl::Status {
    ASSIGN_OR_RETURN(const std::vector<SpecChange> changes,
                     CompareSpecBytes(running, asked));
    return only ? absl::OkStatus() : Refusal(changes);
  };
  return update;
}

absl::StatusOr<v1::UpdateConnectorResponse> AnswerUpdate(
    const core::UpdateRequest& request, const core::UpdateReply& reply) {
  ASSIGN_OR_RETURN(const std::vector<SpecChange> changes,
                   CompareSpecBytes(reply.before, request.spec_bytes));
  const std::string& now =
      request.validate_only ? reply.before : request.spec_bytes;
  v1::UpdateConnectorResponse response;
  for (const SpecChange& change : changes) {
    v1::SpecChange& to = *response.add_changes();
    to.set_field(change.field);
    to.set_change(change.change);
  }
  if (!response.mutable_resolved_spec()->ParseFromString(now)) {
    return core::MakeError(core::Reason::INTERNAL,
                           "the specification that runs does not decode");
  }
  response.set_spec_hash(SpecHash(now));
  return response;
}

}  // namespace penstock::wire
