#include "proto/wire/reconcile.h"

#include "proto/wire/spec.h"

namespace penstock::wire {
namespace {

core::Reconciliation FromProto(v1::Reconciliation outcome) {
  switch (outcome) {
    case v1::RECONCILIATION_REUSED:
      return core::Reconciliation::kReused;
    case v1::RECONCILIATION_DROPPED:
      return core::Reconciliation::kDropped;
    case v1::RECONCILIATION_MISSING:
      return core::Reconciliation::kMissing;
    default:
      return core::Reconciliation::kChanged;
  }
}

}  // namespace

v1::DesiredConnector ToProto(const core::DesiredConnector& desired) {
  v1::DesiredConnector to;
  to.set_connector(desired.connector);
  if (desired.spec_bytes.empty()) return to;
  to.set_spec_hash(SpecHash(desired.spec_bytes));
  to.set_journaled_steps(desired.journaled_steps);
  return to;
}

core::ReconciledConnector FromProto(const v1::ReconciledConnector& from) {
  return {.connector = from.connector(),
          .outcome = FromProto(from.outcome()),
          .detail = from.detail()};
}

}  // namespace penstock::wire
