#include "server/rpc/dry_run.h"

#include "core/base/error.h"
#include "core/base/mutex.h"
#include "core/connector/opening.h"
#include "core/connector/requests.h"
#include "core/connector/source_probe.h"
#include "proto/wire/enums.h"
#include "proto/wire/spec.h"
#include "proto/wire/status.h"
#include "proto/wire/violations.h"

#include <absl/base/thread_annotations.h>
#include <absl/status/status.h>
#include <absl/strings/str_cat.h>
#include <absl/time/time.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

namespace penstock::server {
namespace {

constexpr absl::Duration kRetryDelay = absl::Seconds(1);
constexpr v1::ConnectorTypeKind kWhole = v1::CONNECTOR_TYPE_KIND_UNSPECIFIED;

// The phase that an error belongs to. What was before it is taken as passed.
v1::ValidationPhase PhaseOf(const absl::Status& error) {
  const auto info = core::GetErrorInfo(error);
  if (!info.has_value()) return v1::VALIDATION_PHASE_CONNECT;
  using core::Reason;
  switch (info->reason) {
    case Reason::INVALID_CONFIG:
    case Reason::INVALID_REQUEST:
    case Reason::PATH_NOT_ALLOWED:
    case Reason::LEVEL_REFUSED:
    case Reason::MEMORY_REFUSED:
    case Reason::UNSUPPORTED:
      return v1::VALIDATION_PHASE_RESOLVE;
    case Reason::UNAUTHENTICATED:
      return v1::VALIDATION_PHASE_AUTHENTICATE;
    case Reason::PERMISSION_DENIED:
      return v1::VALIDATION_PHASE_PERMISSION;
    case Reason::MALFORMED_FRAME:
    case Reason::RECORD_TOO_LARGE:
      return v1::VALIDATION_PHASE_READ_ONE;
    default:
      return v1::VALIDATION_PHASE_CONNECT;
  }
}

std::string ReasonOf(const absl::Status& error) {
  const auto info = core::GetErrorInfo(error);
  return std::string(core::ReasonName(
      info.has_value() ? info->reason : core::Reason::INTERNAL));
}

// One call.
// Threads: its steps run one after the other; a cancellation may come at any
//          time.
class DryRun final : public grpc::ServerUnaryReactor {
 public:
  DryRun(DryRunContext context, const v1::ValidateConnectorRequest& request,
         v1::ValidateConnectorResponse& response)
      : context_(std::move(context)), request_(request), response_(response) {
    if (request_.probe()) {
      has_slot_ = context_.slots.Take();
      if (!has_slot_) {
        Refuse();
        return;
      }
    }
    context_.environment.io.Schedule([this] { Begin(); });
  }

  void OnCancel() override {
    std::shared_ptr<core::SourceProbe> probe;
    {
      core::MutexLock lock(mu_);
      is_cancelled_ = true;
      probe = probe_;
    }
    if (probe != nullptr) probe->Cancel();
  }
  void OnDone() override {
    ReturnSlot();
    delete this;
  }

 private:
  void Refuse() {
    Finish(wire::StatusToGrpc(core::WithRetryDelay(
        core::MakeError(core::Reason::BUDGET_EXCEEDED,
                        absl::StrCat("looking outside: ", ProbeSlots::kMost,
                                     " dry runs do already; ask again")),
        kRetryDelay)));
  }

  void Begin() {
    if (!CheckSchema() || !Resolve()) return End();
    if (!request_.probe()) return End();
    if (parts_.source != nullptr &&
        !parts_.source->FaultTolerance().has_value()) {
      // Whoever looked at it would have taken it away.
      Add(v1::VALIDATION_PHASE_READ_ONE, v1::CONNECTOR_TYPE_KIND_SOURCE,
          v1::VALIDATION_OUTCOME_SKIPPED)
          .set_message("what is read of it cannot be read again");
      OnSink();
      return End();
    }
    core::SourceProbeOptions options;
    options.source = std::move(parts_.source);
    options.parser = std::move(parts_.parser);
    options.schema = spec_.schema;
    options.level = parts_.level;
    // Once it is started, `this` may be gone at any moment.
    const auto probe = core::SourceProbe::Make(
        std::move(options), context_.environment.io,
        [this](absl::StatusOr<core::SourceSight> sight) {
          OnSource(std::move(sight));
        });
    bool is_cancelled = false;
    {
      core::MutexLock lock(mu_);
      probe_ = probe;
      is_cancelled = is_cancelled_;
    }
    if (is_cancelled) probe->Cancel();
    probe->Start();
  }

  bool CheckSchema() {
    wire::Violations violations;
    spec_ = wire::SpecFromProto(request_.spec(), "spec", violations);
    for (const wire::FieldViolation& violation : violations.kept()) {
      AddViolation(violation.field, violation.description, violation.reason);
    }
    if (violations.empty()) {
      Add(v1::VALIDATION_PHASE_SCHEMA, kWhole, v1::VALIDATION_OUTCOME_PASSED);
      return true;
    }
    v1::ValidationFinding& finding =
        Add(v1::VALIDATION_PHASE_SCHEMA, kWhole, v1::VALIDATION_OUTCOME_FAILED);
    finding.set_reason(violations.kept().front().reason);
    finding.set_message(absl::StrCat(violations.kept().front().field, ": ",
                                     violations.kept().front().description));
    Skip(v1::VALIDATION_PHASE_RESOLVE, kWhole);
    return false;
  }

  bool Resolve() {
    auto parts =
        core::MakeParts(spec_, context_.registry, context_.environment);
    absl::Status outcome = parts.status();
    if (outcome.ok() && parts->limits.memory_max > context_.memory_left) {
      outcome = core::MakeError(
          core::Reason::MEMORY_REFUSED,
          absl::StrCat("limits.memory_max is ", parts->limits.memory_max,
                       ", and this worker has ", context_.memory_left,
                       " left for another connector; lower it, or raise "
                       "--memory-max"),
          {{"field", "limits.memory_max"}});
    }
    if (!outcome.ok()) {
      Fail(v1::VALIDATION_PHASE_RESOLVE, kWhole, outcome);
      return false;
    }
    parts_ = *std::move(parts);
    Add(v1::VALIDATION_PHASE_RESOLVE, kWhole, v1::VALIDATION_OUTCOME_PASSED);
    return true;
  }

  void OnSource(absl::StatusOr<core::SourceSight> sight) {
    const auto kSource = v1::CONNECTOR_TYPE_KIND_SOURCE;
    if (!sight.ok()) {
      AddPhases(kSource, sight.status(), v1::VALIDATION_PHASE_READ_ONE);
    } else {
      AddPhases(kSource, absl::OkStatus(), v1::VALIDATION_PHASE_PERMISSION);
      v1::ValidationFinding& finding =
          Add(v1::VALIDATION_PHASE_READ_ONE, kSource,
              sight->records > 0 ? v1::VALIDATION_OUTCOME_PASSED
                                 : v1::VALIDATION_OUTCOME_SKIPPED);
      finding.set_message(
          sight->records > 0
              ? absl::StrCat("its first block has ", sight->records,
                             " records, ", sight->bytes, " bytes")
          : sight->end_of_input ? "the input has no record"
                                : "no record came in time; it may come later");
    }
    OnSink();
    End();
  }

  void OnSink() {
    const auto kSink = v1::CONNECTOR_TYPE_KIND_SINK;
    const core::Registry::SinkProbe* const probe =
        context_.registry.FindSinkProbe(spec_.sink->type());
    if (probe != nullptr) {
      AddPhases(kSink,
                (*probe)(*spec_.sink, parts_.level, spec_.schema,
                         context_.environment),
                v1::VALIDATION_PHASE_PERMISSION);
      return;
    }
    for (const auto phase :
         {v1::VALIDATION_PHASE_CONNECT, v1::VALIDATION_PHASE_AUTHENTICATE,
          v1::VALIDATION_PHASE_PERMISSION}) {
      Skip(phase, kSink)
          .set_message("this sink cannot be looked at without leaving a trace");
    }
  }

  // CONNECT to `last`: passed up to the one that `outcome` is about.
  void AddPhases(v1::ConnectorTypeKind target, const absl::Status& outcome,
                 v1::ValidationPhase last) {
    const v1::ValidationPhase failed = outcome.ok()
                                           ? v1::VALIDATION_PHASE_UNSPECIFIED
                                           : std::min(PhaseOf(outcome), last);
    if (failed == v1::VALIDATION_PHASE_RESOLVE) Fail(failed, target, outcome);
    for (int i = v1::VALIDATION_PHASE_CONNECT; i <= last; ++i) {
      const auto phase = static_cast<v1::ValidationPhase>(i);
      if (outcome.ok() || phase < failed) {
        Add(phase, target, v1::VALIDATION_OUTCOME_PASSED);
      } else if (phase == failed) {
        Fail(phase, target, outcome);
      } else {
        Skip(phase, target);
      }
    }
  }

  v1::ValidationFinding& Add(v1::ValidationPhase phase,
                             v1::ConnectorTypeKind target,
                             v1::ValidationOutcome outcome) {
    v1::ValidationFinding& finding = *response_.add_findings();
    finding.set_phase(phase);
    finding.set_target(target);
    finding.set_outcome(outcome);
    return finding;
  }

  v1::ValidationFinding& Skip(v1::ValidationPhase phase,
                              v1::ConnectorTypeKind target) {
    return Add(phase, target, v1::VALIDATION_OUTCOME_SKIPPED);
  }

  void Fail(v1::ValidationPhase phase, v1::ConnectorTypeKind target,
            const absl::Status& error) {
    v1::ValidationFinding& finding =
        Add(phase, target, v1::VALIDATION_OUTCOME_FAILED);
    finding.set_reason(ReasonOf(error));
    finding.set_message(std::string(error.message()));
    const auto info = core::GetErrorInfo(error);
    std::string field = target == v1::CONNECTOR_TYPE_KIND_SOURCE ? "source"
                        : target == v1::CONNECTOR_TYPE_KIND_SINK ? "sink"
                                                                 : "";
    if (info.has_value() && info->metadata.count("field") > 0) {
      field = info->metadata.at("field");
    }
    AddViolation(wire::JoinPath("spec", field), finding.message(),
                 finding.reason());
  }

  void AddViolation(const std::string& field, const std::string& description,
                    const std::string& reason) {
    auto& violation = *response_.add_violations();
    violation.set_field(field);
    violation.set_description(description);
    violation.set_reason(reason);
  }

  void ReturnSlot() {
    if (std::exchange(has_slot_, false)) context_.slots.Return();
  }

  void End() {
    if (response_.violations().empty()) {
      *response_.mutable_resolved_spec() = wire::SpecToProto(spec_);
      response_.set_memory_max(parts_.limits.memory_max);
      response_.set_level(wire::LevelToProto(parts_.level));
      if (parts_.level < spec_.level) {
        response_.set_level_reason(absl::StrCat("source and sink reach ",
                                                core::LevelName(parts_.level),
                                                ", and allow_lower is set"));
      }
    }
    // Whoever has the answer may ask the next thing.
    ReturnSlot();
    Finish(grpc::Status::OK);
  }

  const DryRunContext context_;
  // Both live until OnDone.
  const v1::ValidateConnectorRequest& request_;
  v1::ValidateConnectorResponse& response_;
  core::ConnectorSpec spec_;
  core::ConnectorParts parts_;
  bool has_slot_ = false;
  core::Mutex mu_;
  bool is_cancelled_ ABSL_GUARDED_BY(mu_) = false;
  std::shared_ptr<core::SourceProbe> probe_ ABSL_GUARDED_BY(mu_);
};

}  // namespace

grpc::ServerUnaryReactor* StartDryRun(
    DryRunContext context, const v1::ValidateConnectorRequest& request,
    v1::ValidateConnectorResponse& response) {
  return new DryRun(std::move(context), request, response);
}

}  // namespace penstock::server
