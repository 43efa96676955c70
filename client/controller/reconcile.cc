#include "client/controller/reconcile.h"

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"

#include <absl/strings/str_cat.h>

#include <set>
#include <string>

namespace penstock::client {
namespace {

absl::StatusOr<TakesEffect> CheckChange(const ControllerOptions& options,
                                        const std::string& before,
                                        const std::string& after) {
  if (options.check_spec_change) {
    return options.check_spec_change(before, after);
  }
  return core::MakeError(core::Reason::INVALID_CONFIG,
                         "its specification is not the one that its "
                         "checkpoint was taken with");
}

absl::Status ReconcileOne(const ControllerOptions& options,
                          const PipelineConnector& configured,
                          StoredPipeline& pipeline,
                          StoreTransaction& transaction) {
  auto [entry, is_new] = pipeline.connectors.try_emplace(configured.name);
  StoredConnector& stored = entry->second;
  const std::string& spec_bytes = configured.spec_bytes;
  if (!is_new && stored.spec_bytes == spec_bytes) return absl::OkStatus();
  // Nothing depends on the specification before the first open.
  if (!stored.opened) {
    stored.spec_bytes = spec_bytes;
    transaction.add_connectors.push_back(
        {configured.name, spec_bytes, stored.base_steps});
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const TakesEffect when,
                   CheckChange(options, stored.spec_bytes, spec_bytes),
                   _ << "while comparing connector '" << configured.name
                     << "' with its stored state");
  switch (when) {
    case TakesEffect::kAtOnce:
      transaction.replace_specs.push_back({configured.name, spec_bytes});
      break;
    case TakesEffect::kAtCleanCheckpoint:
      // The session changes it once everything was replayed.
      if (!stored.journal.empty()) return absl::OkStatus();
      transaction.checkpoints.push_back({configured.name, stored.base_steps,
                                         stored.position.value_or("null"),
                                         spec_bytes});
      break;
  }
  stored.spec_bytes = spec_bytes;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<StoreTransaction> Reconcile(const ControllerOptions& options,
                                           StoredPipeline& stored) {
  StoreTransaction transaction;
  std::set<std::string> configured;
  for (const PipelineConnector& connector : options.connectors) {
    configured.insert(connector.name);
    RETURN_IF_ERROR(ReconcileOne(options, connector, stored, transaction));
  }
  for (const auto& [name, connector] : stored.connectors) {
    if (configured.count(name) > 0) continue;
    LOG(WARNING).With("connector", name)
        << "the store knows a connector that the pipeline no longer has; its "
           "state is kept";
  }
  return transaction;
}

}  // namespace penstock::client
