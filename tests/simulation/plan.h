// What one seed decides before the first event.
#pragma once

#include "core/base/random.h"
#include "core/connector/requests.h"

#include <absl/time/time.h>

#include <cstdint>
#include <string>
#include <vector>

namespace penstock::simulation {

// How often faults are drawn, what died is looked after, and slow checks run.
inline constexpr absl::Duration kMoment = absl::Milliseconds(5);

// The faults that may come, each with how likely it is at each moment.
struct FaultRates {
  double kill_worker = 0;
  double kill_controller = 0;
  double kill_both = 0;
  double power_loss = 0;
  double freeze_worker = 0;
  double freeze_controller = 0;
  // Half of what is frozen.
  double wake = 0;
  double bad_network = 0;
  double store_trouble = 0;
  double target_trouble = 0;
  // Each time a worker is killed: the input changes before the next one reads.
  double tamper = 0;
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
  // Virtual time during which faults come, at most.
  absl::Duration trouble;
  // What a message takes in a good network.
  absl::Duration delay_max = absl::Milliseconds(2);
  FaultRates faults;
};

Plan DrawPlan(uint64_t seed);
// The same for every seed but for the order in which things happen: a middling
// input in dozens of steps over three shards, no faults, no checkpoint before
// the end.
Plan QuietPlan(uint64_t seed, bool file_sink, bool separate_committer);

// The records that each shard must hold at the end, in order, each with its
// newline.
std::vector<std::vector<std::string>> ExpectedShards(const Plan& plan);

// `input` with something else among the bytes of `step`: a byte changed, two
// records in the other order, or a record less.
std::string Tampered(const std::string& input, const core::StepResult& step,
                     core::Random& random);

}  // namespace penstock::simulation
