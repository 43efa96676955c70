#include "tests/simulation/lane.h"

#include "core/sinks/file/config.h"
#include "core/sinks/file/file_sink_reader.h"
#include "core/sources/file/config.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>

#include <algorithm>

namespace penstock::simulation {
namespace {

// Where the file sink of the lane writes to.
std::string DirectoryOf(const Plan& plan, const std::string& name) {
  const core::ConnectorSpec spec = SpecOf(plan, 0, name);
  return static_cast<const core::FileSinkConfig&>(*spec.sink).path;
}

}  // namespace

Lane::Lane(const Plan& plan, uint32_t index, core::FakeFileSystem& data_disk,
           core::FakeDatabase& database, const client::FakeStoreDisk& store,
           std::string& violation)
    : plan_(plan),
      name_(ConnectorName(index)),
      table_(core::FakeDatabase::TableName(kPipeline, name_)),
      input_(InputOf(name_)),
      data_disk_(data_disk),
      database_(database),
      store_(store),
      checkers_(plan, store, name_, violation),
      letters_(plan, DeadLettersOf(name_), checkers_) {
  data_disk_.Put(input_, plan.records.empty()
                             ? ""
                             : absl::StrJoin(plan.records, "\n") + "\n");
}

std::vector<core::Step> Lane::Progress() {
  if (plan_.file_sink) {
    const auto reader =
        core::FileSinkReader::Open(data_disk_, DirectoryOf(plan_, name_));
    return reader.ok() ? reader->progress() : std::vector<core::Step>();
  }
  std::vector<core::Step> progress;
  for (uint32_t shard = 0; shard < plan_.shards_max(); ++shard) {
    if (const auto steps = database_.Progress(table_, shard)) {
      progress.push_back(*steps);
    }
  }
  return progress;
}

std::vector<std::vector<std::string>> Lane::Lines() {
  std::vector<std::vector<std::string>> shards(plan_.shards_max());
  if (!plan_.file_sink) {
    for (uint32_t shard = 0; shard < shards.size(); ++shard) {
      for (const std::string& line : database_.Lines(table_, shard)) {
        shards[shard].push_back(line + "\n");
      }
    }
    return shards;
  }
  const auto reader =
      core::FileSinkReader::Open(data_disk_, DirectoryOf(plan_, name_));
  if (!reader.ok()) return shards;  // Nothing was opened there yet.
  for (uint32_t shard = 0; shard < shards.size(); ++shard) {
    core::FileSinkLines lines = reader->Lines(shard);
    absl::string_view line;
    while (true) {
      const auto more = lines.Next(line);
      if (!more.ok()) {
        checkers_.Violate(absl::StrCat("the file sink is damaged: ",
                                       more.status().message()));
        return shards;
      }
      if (!*more) break;
      shards[shard].push_back(absl::StrCat(line, "\n"));
    }
  }
  return shards;
}

std::vector<const core::StepResult*> Lane::StepsToReplay() {
  std::vector<const core::StepResult*> steps;
  const auto found = store_.state.connectors.find(name_);
  if (found == store_.state.connectors.end()) return steps;
  const std::vector<core::Step> progress = Progress();
  for (const core::StepResult& row : found->second.journal) {
    const bool is_held =
        std::all_of(progress.begin(), progress.end(),
                    [&row](core::Step held) { return held > row.step; });
    if (!is_held && row.amount.records > 0) steps.push_back(&row);
  }
  return steps;
}

void Lane::OnCommit(core::ShardIndex shard,
                    const core::FakeDatabase::Transaction& commit) {
  checkers_.OnCommit(shard, commit);
  if (plan_.at_least_once() || !has_letters()) return;
  letters_.CheckDurable(shard, commit.steps.end, data_disk_);
}

void Lane::CheckStore() {
  if (checkers_.StoreMoved()) checkers_.CheckStore(Progress());
}

void Lane::CheckStatus(const core::ConnectorStatus& status) {
  checkers_.CheckStatus(status);
  if (!plan_.file_sink) checkers_.CheckCompleted(status);
}

void Lane::CheckAfterEvent() {
  if (plan_.at_least_once() && has_letters()) {
    letters_.CheckPassed(checkers_.passed_records(), data_disk_);
  }
  const auto writer = database_.writer(table_);
  if (writer < writer_) {
    checkers_.Violate("INV-7: the target let a lower writer in");
  }
  writer_ = writer;
}

void Lane::CheckVisible() {
  const std::vector<std::vector<std::string>> lines = Lines();
  for (uint32_t shard = 0; shard < lines.size(); ++shard) {
    checkers_.CheckVisible(shard, lines[shard]);
  }
}

void Lane::CheckVisible(const core::ConnectorStatus& status) {
  checkers_.CheckCompleted(status);
}

uint64_t Lane::CheckComplete() {
  const std::vector<std::vector<std::string>> lines = Lines();
  for (uint32_t shard = 0; shard < lines.size(); ++shard) {
    checkers_.CheckComplete(shard, lines[shard]);
  }
  return letters_.CheckComplete(data_disk_);
}

}  // namespace penstock::simulation
