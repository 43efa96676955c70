// What a Session compares at its beginning.
#pragma once

#include "core/connector/control.h"
#include "proto/penstock/v1/session.pb.h"

namespace penstock::wire {

// One without a specification desires only its name: whatever is there of it is
// not to be dropped.
v1::DesiredConnector ToProto(const core::DesiredConnector& desired);
// An outcome that this version lacks counts as changed: it is opened anew.
core::ReconciledConnector FromProto(const v1::ReconciledConnector& from);

}  // namespace penstock::wire
