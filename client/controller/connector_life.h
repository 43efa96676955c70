// What a session knows of one life of its connector.
// See client/controller/README.md.
#pragma once

#include "core/contract/ft_model.h"
#include "core/record/step.h"

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

namespace penstock::client {

// What is true of this life only. Counts are exclusive.
// Owner: the session. Threads: confined to its strand.
struct ConnectorLife {
  std::string instance;
  std::optional<core::FtModel> level;
  // Steps of a living connector that are not journaled yet, rising.
  std::deque<core::Step> steps_to_fetch;
  uint32_t adopt_attempts = 0;
  std::string delete_request_id;
  std::string open_request_id;
  uint32_t open_attempts = 0;
  core::Step replayed_steps = 0;
  core::Step made_steps = 0;
  core::Step released_steps = 0;
  core::Step committed_steps = 0;  // CommitCheckpoint was answered.
  core::Step flushed_steps = 0;    // Level none.
  bool at_end = false;
  // The number that was given out last and has made no step yet.
  std::optional<core::Step> asked_step;
  bool queue_outstanding = false;
  bool was_interrupted = false;
  bool checkpoint_requested = false;
  bool end_position_asked = false;
  bool release_outstanding = false;
  core::Step release_asked = 0;
  bool commit_outstanding = false;
  core::Step commit_asked = 0;
  // The gate is open between Extend and Pause.
  bool gate_open = false;
  bool gate_outstanding = false;
  std::string gate_request_id;
};

}  // namespace penstock::client
