// What the controller knows of one connector's past: its checkpoint, the steps
// journaled above it, and the newest place where a checkpoint may be taken.
#pragma once

#include "client/controller/state_store.h"
#include "core/connector/requests.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace penstock::client {

// Owner:   a session. Threads: thread-compatible.
// Bound:   journal_rows_max and journal_bytes_max, kept by the session.
class ConnectorJournal {
 public:
  // A place that is no barrier and whose position is complete.
  struct Cut {
    core::Step steps = 0;
    std::string position;
  };

  // `position`: nullopt as long as the connector was never opened.
  ConnectorJournal(core::Step base_steps, std::optional<std::string> position,
                   std::vector<core::StepResult> rows);

  core::Step base_steps() const { return base_steps_; }
  const std::optional<std::string>& position() const { return position_; }
  void SetPosition(std::string position) { position_ = std::move(position); }
  // Last journaled step + 1, or the base.
  core::Step journaled_steps() const { return journaled_steps_; }
  // Above the base; nullopt: there is nothing new to checkpoint.
  const std::optional<Cut>& cut() const { return cut_; }
  // The newest journaled step could be checkpointed, or there is none.
  bool IsCutAtEnd() const {
    return (cut_.has_value() ? cut_->steps : base_steps_) == journaled_steps_;
  }
  size_t rows() const { return rows_.size(); }
  uint64_t bytes() const { return bytes_; }

  // The first journaled step at or above `steps`; null: none.
  std::shared_ptr<const core::StepResult> At(core::Step steps) const;

  // Requires: step >= journaled_steps().
  void Append(std::shared_ptr<const core::StepResult> result);
  // Below exactly-once: remembers the place only, no row.
  void Note(const core::StepResult& result);
  // What was only noted is lost with the life that made it.
  void ForgetNotes();
  // A checkpoint was stored there; rows below go.
  void Trim(const Cut& cut);

 private:
  void Look(const core::StepResult& result);

  core::Step base_steps_;
  std::optional<std::string> position_;
  core::Step journaled_steps_;
  std::optional<Cut> cut_;
  // Shared with: the journal writer, the replies of this process.
  std::deque<std::shared_ptr<const core::StepResult>> rows_;
  uint64_t bytes_ = 0;
};

}  // namespace penstock::client
