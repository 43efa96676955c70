// What one seed decides before the first event.
#pragma once

#include "core/base/random.h"
#include "core/connector/requests.h"

#include <absl/time/time.h>

#include <cstdint>
#include <string>
#include <vector>

namespace penstock::simulation {

// The faults that may come, each with how likely it is at each of the world's
// moments (every few milliseconds of virtual time).
struct FaultRates {
  double kill_worker = 0;
  double kill_controller = 0;
  double kill_both = 0;
  double power_loss = 0;
  double freeze_worker = 0;
  double freeze_controller = 0;
  double bad_network = 0;
  double store_trouble = 0;
  double target_trouble = 0;
};

// Drawn from the seed: options as well as faults.
struct Plan {
  uint64_t seed = 0;
  // The input file's lines, keys included.
  std::vector<std::string> records;
  core::ConnectorSpec spec;
  // The real file sink, or the transactional fake.
  bool file_sink = false;
  bool separate_committer = false;
  absl::Duration checkpoint_interval;
  // Virtual time during which faults come.
  absl::Duration trouble;
  FaultRates faults;
};

Plan DrawPlan(uint64_t seed);

// The records that each shard must hold at the end, in order, each with its
// newline.
std::vector<std::vector<std::string>> ExpectedShards(const Plan& plan);

}  // namespace penstock::simulation
