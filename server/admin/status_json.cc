#include "server/admin/status_json.h"

#include "core/base/json_text.h"
#include "core/connector/connector_status.h"
#include "core/connector/health.h"
#include "core/connector/state_machine.h"
#include "server/admin/connector_metrics.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_replace.h>
#include <absl/strings/string_view.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <vector>

namespace penstock::server {
namespace {

using core::ConnectorStatus;

constexpr size_t kErrorsShown = 5;
constexpr size_t kBlockersShown = 5;
constexpr size_t kTextBytesMax = 500;

// One JSON object, field by field.
class Object {
 public:
  explicit Object(std::string& to) : to_(to) { to_ += '{'; }
  ~Object() { to_ += '}'; }
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  // Writes the key; the value follows.
  std::string& Key(absl::string_view key) {
    if (!is_first_) to_ += ',';
    is_first_ = false;
    absl::StrAppend(&to_, "\"", key, "\":");
    return to_;
  }
  void Text(absl::string_view key, absl::string_view value) {
    core::AppendJsonString(core::CutMiddle(value, kTextBytesMax), Key(key));
  }
  // JSON has no infinity and no NaN: they become null.
  void Number(absl::string_view key, double value) {
    std::string& to = Key(key);
    if (!std::isfinite(value)) {
      to += "null";
      return;
    }
    char digits[32];
    to.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
  }
  void Number(absl::string_view key, uint64_t value) {
    absl::StrAppend(&Key(key), value);
  }
  void Flag(absl::string_view key, bool value) {
    Key(key) += value ? "true" : "false";
  }
  // Milliseconds since 1970; left out if there is none.
  void Time(absl::string_view key, absl::Time value) {
    if (value == absl::InfinitePast() || value == absl::InfiniteFuture()) {
      return;
    }
    absl::StrAppend(&Key(key), absl::ToUnixMillis(value));
  }

 private:
  std::string& to_;
  bool is_first_ = true;
};

// Calls `write(item)` for each, with commas between and brackets around.
template <typename Items, typename Write>
void Array(const Items& items, std::string& to, Write write) {
  to += '[';
  bool is_first = true;
  for (const auto& item : items) {
    if (!is_first) to += ',';
    is_first = false;
    write(item);
  }
  to += ']';
}

absl::string_view LevelText(const std::optional<core::FtModel>& level) {
  if (!level.has_value()) return "none";
  return *level == core::FtModel::kExactlyOnce ? "exactly once"
                                               : "at least once";
}

void WriteShards(const ConnectorStatus& status, Object& object) {
  uint64_t rows = 0;
  uint64_t bytes = 0;
  uint64_t retries = 0;
  uint64_t overdue = 0;
  for (const core::ShardStatus& shard : status.shards) {
    rows += shard.worker.rows_written;
    bytes += shard.worker.bytes_written;
    retries += shard.worker.retries;
    overdue += shard.worker.writes_overdue;
  }
  object.Number("shards", uint64_t{status.shards.size()});
  object.Number("rows_written", rows);
  object.Number("bytes_written", bytes);
  object.Number("retries", retries);
  object.Number("writes_overdue", overdue);
}

// Instead of what may quote a record.
constexpr absl::string_view kHidden =
    "(hidden on this address: ask `penstock errors`, or start the worker with "
    "--admin-show-errors)";

// Empty: that life of it is over.
std::vector<core::ErrorEntry> NewestErrors(const Dispatcher& dispatcher,
                                           const ConnectorStatus& status) {
  const auto connector = dispatcher.Find(status.name);
  if (connector == nullptr || connector->instance() != status.instance) {
    return {};
  }
  return connector->Errors(kErrorsShown);
}

void WriteTrouble(const ConnectorStatus& status,
                  const std::vector<core::ErrorEntry>& errors, bool shows_texts,
                  std::string& to, Object& object) {
  const auto shown = [shows_texts](const std::string& text) {
    return shows_texts || text.empty() ? absl::string_view(text) : kHidden;
  };
  object.Text("condition", ConditionName(status.health.condition));
  object.Text("reason", shown(status.health.reason));
  object.Time("since", status.health_since);
  object.Time("orphaned_since",
              status.orphaned_since.value_or(absl::InfinitePast()));
  object.Time("next_attempt", status.health.next_attempt);
  object.Number("error_count", status.error_count);
  if (status.first_error.has_value()) {
    object.Text("first_error", shown(*status.first_error));
  }
  object.Key("errors");
  Array(errors, to, [&](const core::ErrorEntry& error) {
    Object entry(to);
    entry.Text("tag", error.tag);
    entry.Time("time", error.time);
    entry.Flag("fatal", error.fatal);
    entry.Text("text", shown(error.text));
  });
  object.Key("blockers");
  const std::vector<core::Blocker> first(
      status.blockers.begin(),
      status.blockers.begin() + static_cast<std::ptrdiff_t>(std::min(
                                    kBlockersShown, status.blockers.size())));
  Array(first, to, [&](const core::Blocker& blocker) {
    Object entry(to);
    entry.Number("step", uint64_t{blocker.step});
    entry.Time("since", blocker.since);
    entry.Text("text", blocker.text);
  });
}

void WriteConnector(const ConnectorStatus& status,
                    const std::vector<core::ErrorEntry>& errors,
                    bool shows_texts, std::string& to) {
  Object object(to);
  object.Text("name", status.name);
  object.Text("pipeline", status.pipeline);
  object.Text("instance", status.instance);
  object.Text("state", core::StateName(status.state));
  object.Text("level", LevelText(status.level));
  object.Flag("end_of_input", status.end_of_input);
  object.Number("records_in", status.buffered_total.records);
  object.Number("bytes_in", status.buffered_total.bytes);
  object.Number("queued_records", status.queued.records);
  object.Number("queued_bytes", status.queued.bytes);
  object.Number("inflight_bytes", status.inflight_bytes);
  object.Number("retained_bytes", status.retained_bytes);
  object.Number("made", uint64_t{status.made_steps});
  object.Number("released", uint64_t{status.released_steps});
  object.Number("completed", uint64_t{status.completed_steps});
  object.Number("checkpointed", uint64_t{status.checkpointed_steps});
  object.Number("oldest_step_seconds",
                absl::ToDoubleSeconds(status.oldest_step_age));
  object.Number("parse_errors", status.parse_errors);
  object.Number("skipped", status.records_skipped);
  object.Number("refused", status.records_refused);
  object.Number("dead_letters", status.dead_letters);
  WriteShards(status, object);
  WriteTrouble(status, errors, shows_texts, to, object);
}

std::vector<ConnectorStatus> Sorted(const Dispatcher& dispatcher) {
  std::vector<ConnectorStatus> all = dispatcher.Statuses();
  std::sort(all.begin(), all.end(),
            [](const ConnectorStatus& a, const ConnectorStatus& b) {
              return a.name < b.name;
            });
  return all;
}

}  // namespace

std::string StatusJson(const Dispatcher* dispatcher, const StatusFacts& facts) {
  std::vector<ConnectorStatus> all;
  if (dispatcher != nullptr) all = Sorted(*dispatcher);
  std::string to;
  {
    Object object(to);
    object.Key("worker");
    {
      Object worker(to);
      worker.Text("version", facts.version);
      worker.Text("run_id", facts.run_id);
      worker.Time("started", facts.started);
      worker.Time("now", facts.now);
      worker.Flag("starting", dispatcher == nullptr);
      if (dispatcher != nullptr) {
        worker.Flag("draining", dispatcher->draining());
        worker.Number("memory_max", dispatcher->memory_max());
        worker.Number("memory_committed", dispatcher->memory_committed());
      }
      worker.Number("resident_bytes", facts.resident_bytes);
    }
    object.Key("connectors");
    Array(all, to, [&](const ConnectorStatus& status) {
      // One at a time: their texts are long.
      WriteConnector(status, NewestErrors(*dispatcher, status),
                     facts.shows_texts, to);
    });
  }
  return to;
}

HealthReport ReportHealth(const Dispatcher& dispatcher, bool verbose,
                          bool shows_texts, absl::Time now) {
  HealthReport report;
  std::string lines;
  size_t troubled = 0;
  const std::vector<ConnectorStatus> all = Sorted(dispatcher);
  for (const ConnectorStatus& status : all) {
    const bool is_well = status.health.condition == core::Condition::kOk;
    if (!is_well) ++troubled;
    absl::StrAppend(&lines, is_well ? "[+] " : "[-] ", status.name, " ",
                    core::StateName(status.state), " ",
                    ConditionName(status.health.condition));
    if (!is_well) {
      absl::StrAppend(&lines, " for ",
                      absl::FormatDuration(absl::Trunc(
                          now - status.health_since, absl::Seconds(1))));
      if (shows_texts) {
        absl::StrAppend(&lines, ": ",
                        core::CutMiddle(status.health.reason, kTextBytesMax));
      }
    }
    lines += '\n';
  }
  report.is_well = troubled == 0 && !dispatcher.draining();
  absl::StrAppend(
      &report.text,
      dispatcher.draining() ? "draining" : (troubled == 0 ? "ok" : "degraded"),
      ": ", all.size() - troubled, " of ", all.size(),
      " connectors are well\n");
  if (verbose) report.text += lines;
  return report;
}

}  // namespace penstock::server
