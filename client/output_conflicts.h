// Outputs of a pipeline that would be taken for something else.
#pragma once

#include "proto/penstock/v1/pipeline.pb.h"
#include "proto/wire/violations.h"

#include <cstddef>
#include <vector>

namespace penstock::client {

// Adds what the paths alone show to be wrong: two connectors of one worker that
// write into one directory, which the second would be refused; and a connector
// whose pattern matches the files of its own sink or of its dead letters: it
// would read what it wrote, for ever if it follows. Links are not looked at.
// Requires: `placement` has a worker's number for each connector.
void CheckOutputs(const v1::PipelineSpec& spec,
                  const std::vector<size_t>& placement,
                  wire::Violations& violations);

}  // namespace penstock::client
