// What is open of a pipeline, told and compared (rule 10).
#pragma once

#include "core/connector/connector_status.h"
#include "proto/penstock/v1/session.pb.h"

#include <string>
#include <vector>

namespace penstock::server {

// Of `statuses`, those of `pipeline` in order of name.
std::vector<core::ConnectorStatus> OfPipeline(
    std::vector<core::ConnectorStatus> statuses, const std::string& pipeline);

// In parts well below the limit of a message; at least one, the last says so.
std::vector<v1::WorkerMessage> InventoryOf(
    const std::vector<core::ConnectorStatus>& statuses);

// Compares. `drop_others`: what is open and not desired is DROPPED, else it is
// left out. Shape: in order of name.
std::vector<v1::ReconciledConnector> Reconcile(
    const std::vector<core::ConnectorStatus>& statuses,
    const std::vector<v1::DesiredConnector>& desired, bool drop_others);

// In parts, as an inventory.
std::vector<v1::WorkerMessage> ReconciledParts(
    std::vector<v1::ReconciledConnector> connectors);

}  // namespace penstock::server
