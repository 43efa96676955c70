#include "tests/simulation/letter_checker.h"

#include "core/base/json_text.h"
#include "core/contract/sink_error.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>

#include <optional>
#include <utility>

namespace penstock::simulation {
namespace {

// The row of the record `text`, or the line that is no record, as a letter
// holds it.
std::string DataOf(const std::string& text) {
  std::string json;
  core::AppendJsonString(IsMalformed(text) ? text : text + "\n", json);
  return json;
}

// What stands in `line` between `begin` and `end`.
std::string Between(const std::string& line, absl::string_view begin,
                    absl::string_view end) {
  const size_t at = line.find(std::string(begin));
  if (at == std::string::npos) return "";
  const size_t from = at + begin.size();
  return line.substr(from, line.rfind(std::string(end)) - from);
}

}  // namespace

core::FakeDatabase::Judge MakeJudge(const Plan& plan) {
  return [plan](const std::vector<std::string>& /*present*/,
                const std::vector<std::string>& added) {
    for (size_t i = 0; i < added.size(); ++i) {
      if (!IsRefused(plan, added[i])) continue;
      return plan.names_refused_rows ? core::MakeRowRefused("refused", i)
                                     : core::MakeRowRefused("refused");
    }
    return absl::OkStatus();
  };
}

LetterChecker::LetterChecker(const Plan& plan, const std::string& directory,
                             Checkers& checkers)
    : plan_(plan),
      directory_(directory + "/"),
      checkers_(checkers),
      records_(plan.shards_max()) {
  // Under another specification other records pass each other.
  if (plan.specs.size() > 1) return;
  for (const std::string& text : plan.records) {
    if (IsMalformed(text)) continue;
    records_[ShardOf(text, plan.specs.front())].push_back(text);
  }
}

LetterChecker::Letters LetterChecker::Read(const core::FakeFileSystem& disk,
                                           bool durable) const {
  Letters letters;
  for (const std::string& path : disk.Files()) {
    if (!absl::StartsWith(path, directory_)) continue;
    const std::optional<std::string> text =
        durable ? disk.DurableContents(path) : disk.Contents(path);
    if (!text.has_value()) continue;
    std::vector<std::string> lines = absl::StrSplit(*text, '\n');
    // Behind the last newline is nothing, or a line that a crash cut short.
    lines.pop_back();
    for (const std::string& line : lines) {
      letters[Between(line, "\"data\":", "}")].insert(
          Between(line, "\"id\":", ",\"connector\""));
    }
  }
  return letters;
}

void LetterChecker::CheckDurable(core::ShardIndex shard, core::Step steps,
                                 const core::FakeFileSystem& disk) const {
  // What stands before the last row that is visible.
  Needed passed;
  size_t left = checkers_.visible(shard);
  for (const std::string& text : records_[shard]) {
    if (left == 0) break;
    if (IsRefused(plan_, text)) {
      ++passed[DataOf(text)];
    } else {
      --left;
    }
  }
  const uint64_t lines = shard == 0 ? checkers_.RecordsBelow(steps) : 0;
  for (uint64_t i = 0; i < lines; ++i) {
    if (IsMalformed(plan_.records[i])) ++passed[DataOf(plan_.records[i])];
  }
  CheckNeeded(passed, absl::StrCat("shard ", shard, " passed over "), disk);
}

void LetterChecker::CheckPassed(uint64_t lines,
                                const core::FakeFileSystem& disk) {
  if (lines <= passed_) return;
  passed_ = lines;
  Needed needed;
  for (uint64_t i = 0; i < lines; ++i) {
    const std::string& text = plan_.records[i];
    if (IsMalformed(text) || IsRefused(plan_, text)) ++needed[DataOf(text)];
  }
  CheckNeeded(needed, "completed or checkpointed behind ", disk);
}

void LetterChecker::CheckNeeded(const Needed& needed, const std::string& when,
                                const core::FakeFileSystem& disk) const {
  const Letters letters = Read(disk, /*durable=*/true);
  for (const auto& [data, count] : needed) {
    const auto found = letters.find(data);
    const size_t there = found == letters.end() ? 0 : found->second.size();
    if (there >= count) continue;
    checkers_.Violate(absl::StrCat("INV-11: ", when, data, " ", count,
                                   " times, durable are ", there, " letters"));
  }
}

uint64_t LetterChecker::CheckComplete(const core::FakeFileSystem& disk) const {
  Needed refused;
  uint64_t total = 0;
  for (const std::string& text : plan_.records) {
    if (!IsMalformed(text) && !IsRefused(plan_, text)) continue;
    ++refused[DataOf(text)];
    ++total;
  }
  for (const auto& [data, ids] : Read(disk, /*durable=*/false)) {
    const auto found = refused.find(data);
    if (found == refused.end()) {
      checkers_.Violate(
          absl::StrCat("INV-11: a letter of the good row ", data));
    } else if (found->second != ids.size()) {
      checkers_.Violate(absl::StrCat("INV-11: ", data, " was refused ",
                                     found->second, " times and has ",
                                     ids.size(), " ids"));
    } else {
      refused.erase(found);
    }
  }
  for (const auto& [data, count] : refused) {
    checkers_.Violate(absl::StrCat("INV-11: no letter of ", data));
  }
  return total;
}

}  // namespace penstock::simulation
