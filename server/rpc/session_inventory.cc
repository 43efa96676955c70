#include "server/rpc/session_inventory.h"

#include "proto/wire/connector_status.h"
#include "proto/wire/spec.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

namespace penstock::server {
namespace {

constexpr size_t kPartBytes = size_t{128} << 10;
// As GetConnector's.
constexpr int kRetainedStepsMax = 1024;

// Why `status` is not what is desired, to be used on; empty: it is.
std::string Difference(const core::ConnectorStatus& status,
                       const v1::DesiredConnector& desired) {
  if (status.state == core::ConnectorState::kFailed ||
      status.state == core::ConnectorState::kClosed) {
    return absl::StrCat("it is ", core::StateName(status.state));
  }
  // It may yet fail; whoever asks to open it again gets that answer.
  if (status.chunk_bytes == 0) return "it is being opened";
  if (!desired.instance().empty() && desired.instance() != status.instance) {
    return absl::StrCat("its instance is '", status.instance, "'");
  }
  if (!desired.spec_hash().empty() &&
      desired.spec_hash() != wire::SpecHash(status.spec_bytes)) {
    return "it was opened with another specification";
  }
  if (desired.has_journaled_steps()) {
    const core::Step journaled = desired.journaled_steps();
    if (status.made_steps < journaled) {
      return absl::StrCat("it has made the steps below ", status.made_steps,
                          ", and those below ", journaled, " are journaled");
    }
    if (status.released_steps > journaled) {
      return absl::StrCat("steps from ", journaled,
                          " on are released, down to ", status.released_steps,
                          ", and retained no more");
    }
  }
  return "";
}

// Puts `items` into parts: `list(part)` is where they go, `last(part)` says
// that it is the last one.
template <typename Item, typename List, typename Last>
std::vector<v1::WorkerMessage> Parts(std::vector<Item> items, List list,
                                     Last last) {
  std::vector<v1::WorkerMessage> parts(1);
  size_t bytes = 0;
  for (Item& item : items) {
    if (bytes >= kPartBytes) {
      parts.emplace_back();
      bytes = 0;
    }
    bytes += item.ByteSizeLong();
    *list(parts.back())->Add() = std::move(item);
  }
  last(parts.back());
  return parts;
}

}  // namespace

std::vector<core::ConnectorStatus> OfPipeline(
    std::vector<core::ConnectorStatus> statuses, const std::string& pipeline) {
  std::erase_if(statuses, [&](const core::ConnectorStatus& status) {
    return status.pipeline != pipeline;
  });
  std::sort(statuses.begin(), statuses.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return statuses;
}

std::vector<v1::WorkerMessage> InventoryOf(
    const std::vector<core::ConnectorStatus>& statuses) {
  std::vector<v1::InventoryEntry> entries;
  for (const core::ConnectorStatus& status : statuses) {
    v1::InventoryEntry& entry = entries.emplace_back();
    *entry.mutable_connector() = wire::SummaryToProto(status);
    for (const core::Step step : status.retained_steps) {
      if (entry.retained_steps_size() == kRetainedStepsMax) break;
      entry.add_retained_steps(step);
    }
  }
  return Parts(
      std::move(entries),
      [](v1::WorkerMessage& part) {
        return part.mutable_inventory()->mutable_connectors();
      },
      [](v1::WorkerMessage& part) {
        part.mutable_inventory()->set_is_last(true);
      });
}

std::vector<v1::ReconciledConnector> Reconcile(
    const std::vector<core::ConnectorStatus>& statuses,
    const std::vector<v1::DesiredConnector>& desired, bool drop_others) {
  std::map<std::string, v1::ReconciledConnector> outcomes;
  for (const v1::DesiredConnector& one : desired) {
    v1::ReconciledConnector& outcome = outcomes[one.connector()];
    outcome.set_connector(one.connector());
    outcome.set_outcome(v1::RECONCILIATION_MISSING);
    outcome.set_detail("it is not open here");
  }
  for (const core::ConnectorStatus& status : statuses) {
    if (outcomes.contains(status.name) || !drop_others) continue;
    v1::ReconciledConnector& outcome = outcomes[status.name];
    outcome.set_connector(status.name);
    outcome.set_outcome(v1::RECONCILIATION_DROPPED);
    outcome.set_detail("it is not desired");
  }
  std::map<std::string, const core::ConnectorStatus*> open;
  for (const core::ConnectorStatus& status : statuses) {
    open[status.name] = &status;
  }
  for (const v1::DesiredConnector& one : desired) {
    const auto found = open.find(one.connector());
    if (found == open.end()) continue;
    v1::ReconciledConnector& outcome = outcomes[one.connector()];
    outcome.set_detail(Difference(*found->second, one));
    outcome.set_outcome(outcome.detail().empty() ? v1::RECONCILIATION_REUSED
                                                 : v1::RECONCILIATION_CHANGED);
  }
  std::vector<v1::ReconciledConnector> in_order;
  for (auto& [name, outcome] : outcomes) in_order.push_back(std::move(outcome));
  return in_order;
}

std::vector<v1::WorkerMessage> ReconciledParts(
    std::vector<v1::ReconciledConnector> connectors) {
  return Parts(
      std::move(connectors),
      [](v1::WorkerMessage& part) {
        return part.mutable_reconciled()->mutable_connectors();
      },
      [](v1::WorkerMessage& part) {
        part.mutable_reconciled()->set_is_last(true);
      });
}

}  // namespace penstock::server
