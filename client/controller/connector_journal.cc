#include "client/controller/connector_journal.h"

#include "core/base/check.h"

#include <algorithm>
#include <utility>

namespace penstock::client {
ConnectorJournal::ConnectorJournal(core::Step base_steps,
                                   std::optional<std::string> position,
                                   std::vector<core::StepResult> rows)
    : base_steps_(base_steps),
      position_(std::move(position)),
      journaled_steps_(base_steps) {
  for (core::StepResult& row : rows) {
    Append(std::make_shared<const core::StepResult>(std::move(row)));
  }
}

std::shared_ptr<const core::StepResult> ConnectorJournal::At(
    core::Step steps) const {
  const auto found = std::lower_bound(
      rows_.begin(), rows_.end(), steps,
      [](const auto& row, core::Step step) { return row->step < step; });
  return found == rows_.end() ? nullptr : *found;
}

void ConnectorJournal::Append(std::shared_ptr<const core::StepResult> result) {
  Look(*result);
  if (result->full_position.has_value()) {
    // It is in the cut now. After a restart another step is asked for it.
    core::StepResult row = *result;
    row.full_position.reset();
    result = std::make_shared<const core::StepResult>(std::move(row));
  }
  bytes_ += BytesOf(*result);
  rows_.push_back(std::move(result));
}

void ConnectorJournal::Note(const core::StepResult& result) { Look(result); }

void ConnectorJournal::Look(const core::StepResult& result) {
  CHECK_GE(result.step, journaled_steps_);
  journaled_steps_ = result.step + 1;
  if (result.full_position.has_value()) {
    cut_ = Cut{journaled_steps_, *result.full_position};
    return;
  }
  const auto seek = result.resume.seek();
  if (!seek.has_value() || !result.position_complete) return;
  cut_ = Cut{journaled_steps_, std::string(*seek)};
}

void ConnectorJournal::ForgetNotes() {
  CHECK(rows_.empty());
  journaled_steps_ = base_steps_;
  cut_.reset();
}

void ConnectorJournal::Trim(const Cut& cut) {
  CHECK_GE(cut.steps, base_steps_);
  base_steps_ = cut.steps;
  position_ = cut.position;
  journaled_steps_ = std::max(journaled_steps_, base_steps_);
  while (!rows_.empty() && rows_.front()->step < base_steps_) {
    bytes_ -= BytesOf(*rows_.front());
    rows_.pop_front();
  }
  if (cut_.has_value() && cut_->steps <= base_steps_) cut_.reset();
}

}  // namespace penstock::client
