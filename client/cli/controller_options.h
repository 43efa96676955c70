// What a pipeline file says of the controller that drives it.
#pragma once

#include "client/controller/controller.h"
#include "client/pipeline_file.h"
#include "core/base/random.h"

#include <string>

namespace penstock::client {

// `host:pid`, for people.
std::string MakeControllerId();

// With a nonce and a seed drawn from `random`.
ControllerOptions ControllerOptionsOf(const PipelineFile& pipeline,
                                      std::string controller_id,
                                      core::Random& random);

}  // namespace penstock::client
