#include "core/handoff/bad_row_search.h"

#include "core/base/check.h"
#include "core/contract/sink_error.h"

#include <bit>
#include <utility>

namespace penstock::core {

BadRowSearch::BadRowSearch(size_t rows, Mode mode) : mode_(mode), bad_(rows) {
  CHECK_GT(rows, 0u);
  alone_.push_back({.begin = 0, .end = rows});
}

std::optional<RowRange> BadRowSearch::Next() const {
  if (!alone_.empty()) return alone_.back();
  if (!together_.has_value()) return std::nullopt;
  const size_t count = TogetherCount();
  return RowRange{.begin = 0, .end = together_->rows[count - 1] + 1};
}

size_t BadRowSearch::TogetherCount() const {
  if (together_->refused == 0) return together_->rows.size();
  return (together_->taken + together_->refused) / 2;
}

void BadRowSearch::OnTaken() {
  CHECK(Next().has_value());
  ++trials_;
  if (!alone_.empty()) {
    alone_.pop_back();
    return;
  }
  if (together_->refused == 0) {
    together_.reset();
    return;
  }
  together_->taken = TogetherCount();
  NarrowTogether();
}

void BadRowSearch::OnRefused(const absl::Status& error) {
  CHECK(Next().has_value());
  CHECK(KindOfSinkError(error) == SinkErrorKind::kBadRow) << error;
  ++trials_;
  if (!alone_.empty()) {
    OnRefusedAlone(error);
  } else {
    OnRefusedTogether(error);
  }
}

void BadRowSearch::OnRefusedAlone(const absl::Status& error) {
  const RowRange range = alone_.back();
  alone_.pop_back();
  const auto push = [this](size_t begin, size_t end) {
    if (begin < end) alone_.push_back({.begin = begin, .end = end});
  };
  std::optional<size_t> row = NamedRow(range, error);
  if (range.end - range.begin == 1) row = range.begin;
  if (row.has_value()) {
    AddBad(*row, error);
    push(*row + 1, range.end);
    push(range.begin, *row);
    return;
  }
  const size_t middle = range.begin + (range.end - range.begin) / 2;
  push(middle, range.end);
  push(range.begin, middle);
}

void BadRowSearch::OnRefusedTogether(const absl::Status& error) {
  Together& together = *together_;
  const std::optional<size_t> named = NamedRow(*Next(), error);
  if (!named.has_value()) {
    together.refused = TogetherCount();
    together.error = error;
    NarrowTogether();
    return;
  }
  AddBad(*named, error);
  std::erase(together.rows, *named);
  // It may have stood in the midst of what was taken.
  together.taken = 0;
  together.refused = 0;
  if (together.rows.empty()) together_.reset();
}

void BadRowSearch::NarrowTogether() {
  Together& together = *together_;
  if (together.refused - together.taken > 1) return;
  const size_t row = together.rows[together.taken];
  AddBad(row, together.error);
  std::erase(together.rows, row);
  together.refused = 0;
  // What is left is known to be taken, or is nothing.
  if (together.taken == together.rows.size()) together_.reset();
}

std::optional<size_t> BadRowSearch::NamedRow(RowRange range,
                                             const absl::Status& error) const {
  std::optional<uint64_t> left = RefusedRow(error);
  if (!left.has_value()) return std::nullopt;
  for (size_t row = range.begin; row < range.end; ++row) {
    if (bad_[row]) continue;
    if (*left == 0) return row;
    --*left;
  }
  return std::nullopt;
}

void BadRowSearch::AddBad(size_t row, const absl::Status& error) {
  CHECK(!bad_[row]);
  bad_[row] = true;
  ++bad_count_;
  found_any_ = true;
  found_.push_back({.row = row, .error = error});
}

bool BadRowSearch::Resume() {
  CHECK(mode_ == Mode::kProbe);
  CHECK(!Next().has_value());
  fruitless_ = std::exchange(found_any_, false) ? 0 : fruitless_ + 1;
  if (fruitless_ >= kFruitlessMax || bad_count_ == bad_.size()) return false;
  together_ = Together();
  for (size_t row = 0; row < bad_.size(); ++row) {
    if (!bad_[row]) together_->rows.push_back(row);
  }
  return true;
}

std::vector<BadRowSearch::Found> BadRowSearch::TakeFound() {
  return std::exchange(found_, {});
}

uint64_t BadRowSearch::TrialsMax(size_t rows, size_t bad, size_t together) {
  // Halvings until one row is left.
  const uint64_t depth = std::bit_width(rows - 1);
  // Each bad row refuses at most one range of each size, whose halves are then
  // tried. Together each costs a descent and one look at all the rest.
  return 1 + 2 * bad * (depth + 1) + together * (depth + 1) + 1;
}

}  // namespace penstock::core
