#include "tests/simulation/checkers.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>

#include <algorithm>
#include <utility>

namespace penstock::simulation {
namespace {

// Records of the input before the position's end, as the file source counts.
uint64_t RecordsBefore(absl::string_view position) {
  constexpr absl::string_view kName = "\"records\":";
  const size_t at = position.find(kName);
  if (at == absl::string_view::npos) return 0;
  const absl::string_view rest = position.substr(at + kName.size());
  uint64_t records = 0;
  (void)absl::SimpleAtoi(rest.substr(0, rest.find_first_of(",}")), &records);
  return records;
}

std::vector<std::string> LinesOf(
    const core::FakeDatabase::Transaction& transaction) {
  std::vector<std::string> lines;
  for (const std::string& frame : transaction.frames) {
    for (const absl::string_view line :
         absl::StrSplit(frame, '\n', absl::SkipEmpty())) {
      lines.push_back(absl::StrCat(line, "\n"));
    }
  }
  return lines;
}

}  // namespace

Checkers::Checkers(const Plan& plan, const client::FakeStoreDisk& store,
                   std::string connector, std::string& violation)
    : plan_(plan),
      store_(store),
      connector_(std::move(connector)),
      violation_(violation),
      expected_(plan.shards_max()),
      positions_(plan.shards_max()),
      visible_(plan.shards_max(), 0),
      seen_(plan.shards_max()),
      writers_(plan.shards_max()) {
  Expect(plan.specs[spec_], 0);
}

void Checkers::Expect(const core::ConnectorSpec& spec, uint64_t from) {
  for (size_t shard = 0; shard < expected_.size(); ++shard) {
    std::vector<uint64_t>& positions = positions_[shard];
    positions.erase(std::lower_bound(positions.begin(), positions.end(), from),
                    positions.end());
    expected_[shard].resize(positions.size());
  }
  for (uint64_t i = from; i < plan_.records.size(); ++i) {
    if (IsMalformed(plan_.records[i])) continue;
    if (IsRefused(plan_, plan_.records[i])) continue;
    const core::ShardIndex shard = ShardOf(plan_.records[i], spec);
    positions_[shard].push_back(i);
    expected_[shard].push_back(plan_.records[i] + "\n");
  }
}

void Checkers::CheckSpecChange(const client::StoredConnector& stored) {
  const size_t index = SpecIndex(stored.spec_bytes);
  if (index == spec_) return;
  const core::ConnectorSpec& before = plan_.specs[std::exchange(spec_, index)];
  const core::ConnectorSpec& after = plan_.specs[index];
  if (MakesSameSteps(before, after)) {
    if (!stored.journal.empty()) ++specs_at_once_;
    return;
  }
  if (stored.base_steps > 0) ++specs_clean_;
  if (!stored.journal.empty()) {
    Violate(absl::StrCat("INV-3: the specification changed under ",
                         stored.journal.size(), " journaled steps"));
  }
  const uint64_t from = RecordsBefore(stored.position.value_or(""));
  Expect(after, from);
  for (size_t shard = 0; shard < visible_.size(); ++shard) {
    const auto lines =
        static_cast<size_t>(std::lower_bound(positions_[shard].begin(),
                                             positions_[shard].end(), from) -
                            positions_[shard].begin());
    if (visible_[shard] <= lines) continue;
    Violate(absl::StrCat("INV-1: the specification changed behind ", lines,
                         " lines of shard ", shard, ", which shows ",
                         visible_[shard]));
  }
}

void Checkers::Violate(const std::string& what) {
  if (violation_.empty()) violation_ = absl::StrCat(connector_, ": ", what);
}

const client::StoredConnector* Checkers::Stored() const {
  const auto found = store_.state.connectors.find(connector_);
  return found == store_.state.connectors.end() ? nullptr : &found->second;
}

void Checkers::OnResult(const core::ConnectorRef& ref,
                        const core::StepResult& result) {
  made_[ref.instance][result.step] =
      RecordsBefore(result.resume.seek().value_or(""));
  const auto [found, fresh] = results_.emplace(result.step, result);
  if (!fresh && !(found->second == result)) {
    Violate(absl::StrCat("INV-2: step ", result.step, " has two contents"));
  }
}

core::Step Checkers::Journaled() const {
  const client::StoredConnector* const found = Stored();
  if (found == nullptr) return 0;
  const client::StoredConnector& stored = *found;
  return stored.journal.empty() ? stored.base_steps
                                : stored.journal.back().step + 1;
}

uint64_t Checkers::JournaledRecords() const {
  const client::StoredConnector* const found = Stored();
  if (found == nullptr) return 0;
  const client::StoredConnector& stored = *found;
  if (stored.journal.empty()) {
    return RecordsBefore(stored.position.value_or(""));
  }
  return RecordsBefore(stored.journal.back().resume.seek().value_or(""));
}

void Checkers::OnCommit(core::ShardIndex shard,
                        const core::FakeDatabase::Transaction& transaction) {
  if (plan_.at_least_once()) {
    for (const std::string& line : LinesOf(transaction)) {
      ++seen_[shard][line];
      const std::vector<std::string>& all = expected_[shard];
      if (std::find(all.begin(), all.end(), line) != all.end()) continue;
      Violate(
          absl::StrCat("shard ", shard, " shows ", line, ", which is not its"));
    }
    return;
  }
  if (transaction.steps.end > Journaled()) {
    Violate(absl::StrCat("INV-1: shard ", shard, " shows steps below ",
                         transaction.steps.end, ", journaled are those below ",
                         Journaled()));
  }
  if (transaction.writer < writers_[shard]) {
    Violate(
        absl::StrCat("INV-7: shard ", shard, " was written by a lower writer"));
  }
  writers_[shard] = std::max(writers_[shard], transaction.writer);
  for (const std::string& line : LinesOf(transaction)) {
    const size_t at = visible_[shard]++;
    if (at >= expected_[shard].size() || expected_[shard][at] != line) {
      Violate(absl::StrCat("INV-3, 4: line ", at, " of shard ", shard, " is ",
                           line));
    }
  }
}

void Checkers::CheckStore(const std::vector<core::Step>& progress) {
  commits_seen_ = store_.commits;
  if (store_.state.epoch < epoch_) Violate("INV-7: the epoch went back");
  epoch_ = store_.state.epoch;
  const client::StoredConnector* const found = Stored();
  if (found == nullptr) return;
  const client::StoredConnector& stored = *found;
  CheckSpecChange(stored);
  if (stored.base_steps < base_steps_) {
    Violate("INV-1: the checkpoint went back");
  }
  base_steps_ = stored.base_steps;
  for (const core::StepResult& result : stored.journal) {
    const auto [row, fresh] = journal_.emplace(result.step, result);
    if (!fresh && !(row->second == result)) {
      Violate(
          absl::StrCat("INV-2: journaled step ", result.step, " was replaced"));
    }
    if (result.step >= stored.reserved_steps) {
      Violate(absl::StrCat("INV-2: step ", result.step,
                           " was used before its number was reserved"));
    }
  }
  if (plan_.at_least_once()) CheckPassed(CheckpointedRecords(), "checkpointed");
  for (size_t shard = 0; shard < progress.size(); ++shard) {
    if (progress[shard] < stored.base_steps) {
      Violate(absl::StrCat("INV-1: checkpoint at ", stored.base_steps,
                           " while shard ", shard, " holds steps below ",
                           progress[shard]));
    }
  }
}

uint64_t Checkers::CheckpointedRecords() const {
  const client::StoredConnector* const found = Stored();
  return found == nullptr ? 0 : RecordsBefore(found->position.value_or(""));
}

uint64_t Checkers::RecordsMade(const std::string& instance,
                               core::Step steps) const {
  const auto steps_of = made_.find(instance);
  if (steps_of == made_.end()) return 0;
  auto last = steps_of->second.lower_bound(steps);
  return last == steps_of->second.begin() ? 0 : (--last)->second;
}

void Checkers::CheckPassed(uint64_t records, const std::string& when) {
  // What is in the target stays there.
  if (records <= passed_records_) return;
  passed_records_ = records;
  for (size_t shard = 0; shard < positions_.size(); ++shard) {
    const std::vector<uint64_t>& positions = positions_[shard];
    const auto end =
        std::lower_bound(positions.begin(), positions.end(), records);
    CheckHas(shard, static_cast<size_t>(end - positions.begin()),
             absl::StrCat(when, " are the first ", records, " lines, but"));
  }
}

void Checkers::CheckHas(size_t shard, size_t lines, const std::string& when) {
  std::map<std::string, size_t> needed;
  for (size_t i = 0; i < lines; ++i) ++needed[expected_[shard][i]];
  for (const auto& [line, count] : needed) {
    const auto found = seen_[shard].find(line);
    const size_t there = found == seen_[shard].end() ? 0 : found->second;
    if (there >= count) continue;
    Violate(absl::StrCat("INV-1: ", when, " shard ", shard, " has ", line, " ",
                         there, " times of ", count));
  }
}

uint64_t Checkers::doubled() const {
  uint64_t seen = 0;
  uint64_t expected = 0;
  for (size_t shard = 0; shard < expected_.size(); ++shard) {
    expected += expected_[shard].size();
    for (const auto& [line, count] : seen_[shard]) seen += count;
  }
  return seen > expected ? seen - expected : 0;
}

void Checkers::CheckStatus(const core::ConnectorStatus& status) {
  if (status.checkpointed_steps > status.completed_steps ||
      status.completed_steps > status.made_steps ||
      status.released_steps > status.made_steps) {
    Violate(absl::StrCat("INV-1: made ", status.made_steps, ", released ",
                         status.released_steps, ", completed ",
                         status.completed_steps, ", checkpointed ",
                         status.checkpointed_steps));
  }
  CheckAgainstStore(status);
  CheckMonotone(status);
  const bool at_rest = status.state != core::ConnectorState::kReplaying &&
                       status.state != core::ConnectorState::kClosed &&
                       status.state != core::ConnectorState::kFailed &&
                       !status.running_step.has_value();
  if (!at_rest) return;
  const core::BufferSize accounted =
      status.extended_total + status.replayed_total + status.queued;
  if (!(status.buffered_total == accounted)) {
    Violate(absl::StrCat("INV-8: buffered ", status.buffered_total.records,
                         " records, ", accounted.records, " accounted for"));
  }
  const uint64_t in =
      status.extended_total.records + status.replayed_total.records;
  const uint64_t out =
      status.records_out + status.records_skipped + status.records_discarded;
  if (in != out) {
    Violate(absl::StrCat("INV-8: ", in, " records in, ", out, " out"));
  }
}

void Checkers::CheckAgainstStore(const core::ConnectorStatus& status) {
  // At least once nothing waits to be released.
  const core::Step journaled =
      plan_.at_least_once() ? status.made_steps : Journaled();
  if (status.released_steps > journaled) {
    Violate(absl::StrCat("INV-1: released ", status.released_steps,
                         ", but journaled are those below ", journaled));
  }
  // The number of the first unfinished step may be above a gap, but what is not
  // released is not finished.
  if (!plan_.at_least_once() && !status.retained_steps.empty() &&
      status.completed_steps > status.retained_steps.front()) {
    Violate(absl::StrCat("INV-1: completed ", status.completed_steps,
                         ", but not released ", status.retained_steps.front()));
  }
  const client::StoredConnector* const found = Stored();
  const core::Step checkpointed = found == nullptr ? 0 : found->base_steps;
  if (status.checkpointed_steps > checkpointed) {
    Violate(absl::StrCat("INV-1: checkpointed ", status.checkpointed_steps,
                         ", but the checkpoint is at ", checkpointed));
  }
}

void Checkers::CheckMonotone(const core::ConnectorStatus& status) {
  const std::vector<uint64_t> now = {status.made_steps,
                                     status.released_steps,
                                     status.completed_steps,
                                     status.checkpointed_steps,
                                     status.buffered_total.records,
                                     status.extended_total.records,
                                     status.replayed_total.records,
                                     status.records_out,
                                     status.records_skipped,
                                     status.records_discarded,
                                     status.already_held_steps,
                                     status.error_count};
  std::vector<uint64_t>& before = counters_[status.instance];
  before.resize(now.size());
  for (size_t i = 0; i < now.size(); ++i) {
    if (now[i] >= before[i]) continue;
    Violate(absl::StrCat("counter ", i, " went back from ", before[i], " to ",
                         now[i]));
  }
  before = now;
}

uint64_t Checkers::RecordsBelow(core::Step steps) const {
  auto row = journal_.lower_bound(steps);
  if (row == journal_.begin()) return 0;
  --row;
  return RecordsBefore(row->second.resume.seek().value_or(""));
}

void Checkers::CheckCompleted(const core::ConnectorStatus& status) {
  if (plan_.at_least_once()) {
    return CheckPassed(RecordsMade(status.instance, status.completed_steps),
                       "completed");
  }
  const uint64_t records = RecordsBelow(status.completed_steps);
  for (size_t shard = 0; shard < positions_.size(); ++shard) {
    const std::vector<uint64_t>& positions = positions_[shard];
    const auto lines = static_cast<size_t>(
        std::lower_bound(positions.begin(), positions.end(), records) -
        positions.begin());
    if (visible_[shard] >= lines) continue;
    Violate(absl::StrCat("INV-1: completed are the steps below ",
                         status.completed_steps, ", but shard ", shard,
                         " shows ", visible_[shard], " of ", lines, " lines"));
  }
}

void Checkers::CheckVisible(core::ShardIndex shard,
                            const std::vector<std::string>& lines) {
  const std::vector<std::string>& expected = expected_[shard];
  visible_[shard] = lines.size();
  if (lines.size() > expected.size() ||
      !std::equal(lines.begin(), lines.end(), expected.begin())) {
    Violate(absl::StrCat("INV-3, 4: shard ", shard, " shows ", lines.size(),
                         " lines that are not how the input begins"));
    return;
  }
  if (!lines.empty() &&
      positions_[shard][lines.size() - 1] >= JournaledRecords()) {
    Violate(absl::StrCat("INV-1: shard ", shard, " shows input record ",
                         positions_[shard][lines.size() - 1],
                         ", journaled are the first ", JournaledRecords()));
  }
}

void Checkers::CheckComplete(core::ShardIndex shard,
                             const std::vector<std::string>& lines) {
  if (plan_.at_least_once()) {
    return CheckHas(shard, expected_[shard].size(), "at the end");
  }
  if (lines != expected_[shard]) {
    Violate(absl::StrCat("at the end shard ", shard, " holds ", lines.size(),
                         " lines of ", expected_[shard].size()));
  }
}

void Checkers::CheckSpec(const std::string& spec_bytes) {
  const client::StoredConnector* const found = Stored();
  if (found != nullptr && found->spec_bytes == spec_bytes) return;
  Violate("at the end the store holds another specification than the file");
}

}  // namespace penstock::simulation
