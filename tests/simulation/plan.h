// What one seed decides before the first event.
#pragma once

#include "core/base/random.h"
#include "core/connector/requests.h"

#include <absl/time/time.h>

#include <cstdint>
#include <string>
#include <vector>

namespace penstock::simulation {

inline constexpr char kPipeline[] = "pipeline";
// The first connector of a world, which directed tests look at.
inline constexpr char kConnector[] = "connector";

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
  // The data disk, with file sink and dead letters, is full for a while.
  double full_disk = 0;
  // Each time a worker is killed: the input changes before the next one reads.
  double tamper = 0;
  // The pipeline file is edited, mostly with a kill.
  double edit_spec = 0;
};

// Drawn from the seed: options as well as faults.
struct Plan {
  uint64_t seed = 0;
  // Whether a controller goes on with connectors that it finds alive. By the
  // seed's number, so that all else that is drawn stays what it was.
  bool adopts() const { return seed % 7 > 2; }
  // How many connectors the pipeline has. They are the same but for the places
  // that their names stand for, and each has the records below.
  uint32_t connectors = 1;
  // How many workers these go to, and how many addresses each has, of which a
  // new life takes any.
  uint32_t workers = 1;
  uint32_t addresses = 1;
  // The input file's lines, keys included; some that cannot be parsed, which go
  // to the dead letters.
  std::vector<std::string> records;
  // What the pipeline file may say of the connector. It begins with the first;
  // the others have other shards, keys, chunks, or only other limits.
  std::vector<core::ConnectorSpec> specs;
  // The real file sink, or the transactional fake.
  bool file_sink = false;
  bool separate_committer = false;
  // The transactional fake refuses such a part of the records, which go to the
  // dead letters; perhaps it says which one it was.
  double refused_share = 0;
  bool names_refused_rows = false;
  // The transactional fake with a committer answers a commit after so long, at
  // most; perhaps later than its deadline.
  absl::Duration commit_delay_max;
  // At least once: how many batches of a shard are written at the same time.
  uint32_t writers_max = 1;
  absl::Duration checkpoint_interval;
  // Virtual time during which faults come, at most.
  absl::Duration trouble;
  // What a message takes in a good network.
  absl::Duration delay_max = absl::Milliseconds(2);
  FaultRates faults;

  // All specs have one level.
  bool at_least_once() const {
    return specs.front().level == core::FtModel::kAtLeastOnce;
  }
  // The most that any of the specs has.
  uint32_t shards_max() const;
};

Plan DrawPlan(uint64_t seed);
// The same for every seed but for the order in which things happen: a middling
// input in dozens of steps over three shards, no faults, no checkpoint before
// the end.
Plan QuietPlan(uint64_t seed, bool file_sink, bool separate_committer);

std::string ConnectorName(uint32_t index);
// Places on the data disk: of the connector's input, and of its dead letters.
std::string InputOf(const std::string& connector);
std::string DeadLettersOf(const std::string& connector);
// What the pipeline file says of `connector` when it says `plan.specs[index]`.
core::ConnectorSpec SpecOf(const Plan& plan, size_t index,
                           const std::string& connector);
// Serialised specifications of this world are names of places in Plan::specs.
std::string SpecBytes(size_t index);
size_t SpecIndex(const std::string& spec_bytes);
// Whether a step that was made with one comes out the same with the other.
bool MakesSameSteps(const core::ConnectorSpec& a, const core::ConnectorSpec& b);
// Whether the target refuses the record `text` (without newline).
bool IsRefused(const Plan& plan, const std::string& text);
// Whether `text` is no record.
bool IsMalformed(const std::string& text);
// The shard that a record of DrawRecords goes to.
core::ShardIndex ShardOf(const std::string& record,
                         const core::ConnectorSpec& spec);

// `input` with something else among the records of `step`: a byte changed, two
// in the other order, or one less.
std::string Tampered(const std::string& input, const core::StepResult& step,
                     core::Random& random);

}  // namespace penstock::simulation
