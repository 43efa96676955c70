// The options of `penstock-worker`.
#pragma once

#include "server/options.h"

namespace CLI {
class App;
}  // namespace CLI

namespace penstock::server {

// Declares all of them; parsing fills `options`, and `drain_seconds` for its
// drain_timeout. Both outlive `cli`.
void AddOptions(CLI::App& cli, WorkerOptions& options, double& drain_seconds);

}  // namespace penstock::server
