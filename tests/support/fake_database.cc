#include "tests/support/fake_database.h"

#include "core/base/error.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>

#include <algorithm>
#include <utility>

namespace penstock::core {

namespace {

std::vector<std::string> LinesOf(absl::string_view text) {
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  // Behind the last newline, or where there are no rows, nothing follows.
  if (lines.back().empty()) lines.pop_back();
  return lines;
}

}  // namespace

std::vector<std::string> FakeDatabase::Transaction::Rows() const {
  std::vector<std::string> rows = LinesOf(absl::StrJoin(frames, ""));
  for (const Message& message : messages) {
    rows.push_back(message.value.value_or(""));
  }
  return rows;
}

std::string FakeDatabase::TableName(absl::string_view pipeline,
                                    absl::string_view connector) {
  return absl::StrCat(pipeline, "/", connector);
}

absl::StatusOr<std::vector<Step>> FakeDatabase::Open(const OutputOpen& open) {
  const std::string name = TableName(open.pipeline, open.connector);
  MutexLock lock(mu_);
  Table& table = tables_[name];
  if (table.writer.has_value() && *table.writer >= open.writer) {
    return MakeError(Reason::WRITER_FENCED,
                     absl::StrCat("table ", name, " has a newer writer"));
  }
  if (table.incarnation.empty()) table.incarnation = open.incarnation;
  if (table.incarnation != open.incarnation) {
    return MakeError(Reason::FOREIGN_PROGRESS,
                     absl::StrCat("table ", name, " holds the progress of ",
                                  table.incarnation));
  }
  // The fence first: from here on no older writer commits.
  table.writer = open.writer;
  table.schema = open.schema;
  if (open.level != FtModel::kExactlyOnce) {
    table.shards.resize(std::max<size_t>(table.shards.size(), open.shards));
    return std::vector<Step>();
  }
  if (absl::Status status = OpenProgress(open, table); !status.ok()) {
    return status;
  }
  return *table.progress;
}

absl::Status FakeDatabase::OpenProgress(const OutputOpen& open, Table& table) {
  if (!table.progress.has_value()) {
    if (!open.first_open) {
      return MakeError(Reason::PROGRESS_LOST, "the table's progress is gone");
    }
    table.progress.emplace(open.shards, open.base_steps);
  }
  if (table.progress->size() != open.shards) {
    // At a clean checkpoint every shard stands at it.
    const bool clean =
        std::all_of(table.progress->begin(), table.progress->end(),
                    [&](Step steps) { return steps == open.base_steps; });
    if (!clean) {
      return MakeError(Reason::INVALID_CONFIG,
                       "shards: needs a clean checkpoint");
    }
    table.progress.emplace(open.shards, open.base_steps);
  }
  table.shards.resize(std::max<size_t>(table.shards.size(), open.shards));
  return absl::OkStatus();
}

absl::StatusOr<bool> FakeDatabase::Examine(
    const std::string& name, ShardIndex shard, std::optional<FtModel> level,
    const Transaction& transaction) const {
  const auto found = tables_.find(name);
  if (found == tables_.end() || found->second.writer != transaction.writer) {
    return MakeError(Reason::WRITER_FENCED,
                     absl::StrCat("table ", name, " has a newer writer"));
  }
  const Table& table = found->second;
  if (level == FtModel::kExactlyOnce) {
    if (!table.progress.has_value() || shard >= table.progress->size()) {
      return MakeError(Reason::PROGRESS_LOST, "the table's progress is gone");
    }
    const Step progress = (*table.progress)[shard];
    if (progress == transaction.steps.end) return false;
    if (progress != transaction.steps.begin) {
      return MakeError(progress > transaction.steps.begin
                           ? Reason::PROGRESS_AHEAD
                           : Reason::PROGRESS_BEHIND,
                       absl::StrCat("shard ", shard, " holds ", progress,
                                    " steps, not ", transaction.steps.begin));
    }
  }
  if (judge_ == nullptr) return true;
  std::vector<std::string> present;
  if (shard < table.shards.size()) {
    for (const Transaction& earlier : table.shards[shard]) {
      const std::vector<std::string> rows = earlier.Rows();
      present.insert(present.end(), rows.begin(), rows.end());
    }
  }
  const absl::Status judged = judge_(present, transaction.Rows());
  if (!judged.ok()) return judged;
  return true;
}

absl::Status FakeDatabase::Commit(const std::string& name, ShardIndex shard,
                                  std::optional<FtModel> level,
                                  Transaction transaction) {
  Transaction added;
  {
    MutexLock lock(mu_);
    const absl::StatusOr<bool> is_new =
        Examine(name, shard, level, transaction);
    if (!is_new.ok()) return is_new.status();
    if (!*is_new) return absl::OkStatus();
    Table& table = tables_[name];
    if (level == FtModel::kExactlyOnce) {
      (*table.progress)[shard] = transaction.steps.end;
    }
    if (shard >= table.shards.size()) table.shards.resize(shard + 1);
    table.shards[shard].push_back(transaction);
    added = std::move(transaction);
  }
  if (on_commit_ != nullptr) on_commit_(name, shard, added);
  return absl::OkStatus();
}

absl::Status FakeDatabase::Probe(const std::string& name, ShardIndex shard,
                                 std::optional<FtModel> level,
                                 const Transaction& transaction) const {
  MutexLock lock(mu_);
  return Examine(name, shard, level, transaction).status();
}

std::optional<FakeDatabase::Fault> FakeDatabase::Meet(const Call& call) {
  {
    MutexLock lock(mu_);
    const auto failure = failures_.find(call.operation);
    if (failure != failures_.end()) {
      Fault fault = std::move(failure->second);
      failures_.erase(failure);
      return fault;
    }
  }
  if (hook_ == nullptr) return std::nullopt;
  return hook_(call);
}

void FakeDatabase::FailNext(Operation operation, absl::Status status,
                            int times) {
  MutexLock lock(mu_);
  for (int i = 0; i < times; ++i) {
    failures_.emplace(operation, Fault{.status = status, .lost = false});
  }
}

void FakeDatabase::LoseNextAnswer(Operation operation) {
  MutexLock lock(mu_);
  failures_.emplace(operation, Fault{.status = MakeError(Reason::UNAVAILABLE,
                                                         "the answer was lost"),
                                     .lost = true});
}

void FakeDatabase::HealAll() {
  MutexLock lock(mu_);
  failures_.clear();
}

void FakeDatabase::SetHook(Hook hook) { hook_ = std::move(hook); }

void FakeDatabase::SetJudge(Judge judge) { judge_ = std::move(judge); }

void FakeDatabase::SetOnCommit(OnCommit on_commit) {
  on_commit_ = std::move(on_commit);
}

void FakeDatabase::ForgetProgress(const std::string& table) {
  MutexLock lock(mu_);
  tables_[table].progress.reset();
}

void FakeDatabase::Fence(const std::string& table, Writer writer) {
  MutexLock lock(mu_);
  tables_[table].writer = writer;
}

std::vector<FakeDatabase::Transaction> FakeDatabase::Transactions(
    const std::string& name, ShardIndex shard) const {
  MutexLock lock(mu_);
  const auto table = tables_.find(name);
  if (table == tables_.end() || shard >= table->second.shards.size()) {
    return {};
  }
  return table->second.shards[shard];
}

std::string FakeDatabase::Contents(const std::string& table,
                                   ShardIndex shard) const {
  std::string contents;
  for (const Transaction& transaction : Transactions(table, shard)) {
    for (const std::string& frame : transaction.frames) contents += frame;
  }
  return contents;
}

std::vector<std::string> FakeDatabase::Lines(const std::string& table,
                                             ShardIndex shard) const {
  return LinesOf(Contents(table, shard));
}

std::vector<FakeDatabase::Message> FakeDatabase::Messages(
    const std::string& table, ShardIndex shard) const {
  std::vector<Message> messages;
  for (const Transaction& transaction : Transactions(table, shard)) {
    messages.insert(messages.end(), transaction.messages.begin(),
                    transaction.messages.end());
  }
  return messages;
}

std::optional<Step> FakeDatabase::Progress(const std::string& name,
                                           ShardIndex shard) const {
  MutexLock lock(mu_);
  const auto table = tables_.find(name);
  if (table == tables_.end() || !table->second.progress.has_value() ||
      shard >= table->second.progress->size()) {
    return std::nullopt;
  }
  return (*table->second.progress)[shard];
}

std::optional<Writer> FakeDatabase::writer(const std::string& name) const {
  MutexLock lock(mu_);
  const auto table = tables_.find(name);
  if (table == tables_.end()) return std::nullopt;
  return table->second.writer;
}

uint32_t FakeDatabase::shards(const std::string& name) const {
  MutexLock lock(mu_);
  const auto table = tables_.find(name);
  if (table == tables_.end()) return 0;
  return static_cast<uint32_t>(table->second.shards.size());
}

Schema FakeDatabase::schema(const std::string& name) const {
  MutexLock lock(mu_);
  const auto table = tables_.find(name);
  return table == tables_.end() ? Schema() : table->second.schema;
}

}  // namespace penstock::core
