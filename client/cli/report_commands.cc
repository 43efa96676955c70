#include "client/cli/report_commands.h"

#include "client/cli/text_table.h"
#include "core/base/clock.h"
#include "core/base/json_text.h"
#include "core/base/status_macros.h"
#include "core/connector/state_machine.h"
#include "proto/penstock/v1/status.pb.h"
#include "proto/wire/connector_status.h"
#include "proto/wire/enums.h"

#include <absl/strings/ascii.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

#include <unistd.h>
#include <algorithm>
#include <csignal>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>

namespace penstock::client {
namespace {

using Statuses = std::vector<core::ConnectorStatus>;

std::string Json(absl::string_view text) {
  std::string json;
  core::AppendJsonString(text, json);
  return json;
}

uint64_t RecordsOf(const core::ConnectorStatus& status) {
  return status.extended_total.records + status.replayed_total.records;
}

uint64_t BytesOf(const core::ConnectorStatus& status) {
  return status.extended_total.bytes + status.replayed_total.bytes;
}

std::string ConditionOf(const core::ConnectorStatus& status) {
  return absl::AsciiStrToUpper(
      ShortName(wire::ToProto(status.health.condition)));
}

// Why it does not go on, if it does not.
std::string WhyOf(const core::ConnectorStatus& status) {
  if (!status.health.reason.empty()) return status.health.reason;
  if (!status.blockers.empty()) return status.blockers.front().text;
  return status.end_of_input ? "end of input" : "";
}

// A rate of what rose from `before`; nullopt: it is another life's.
struct Rates {
  double records = 0;
  double bytes = 0;
};
std::optional<Rates> RatesOf(const Statuses& before,
                             const core::ConnectorStatus& now,
                             absl::Duration between) {
  const double seconds = absl::ToDoubleSeconds(between);
  for (const core::ConnectorStatus& earlier : before) {
    if (earlier.name != now.name || earlier.instance != now.instance) continue;
    if (seconds <= 0) return std::nullopt;
    return Rates{
        .records =
            static_cast<double>(RecordsOf(now) - RecordsOf(earlier)) / seconds,
        .bytes =
            static_cast<double>(BytesOf(now) - BytesOf(earlier)) / seconds};
  }
  return std::nullopt;
}

void PrintTopJson(const Statuses& before, const Statuses& now,
                  absl::Duration between) {
  for (const core::ConnectorStatus& status : now) {
    const std::optional<Rates> rates = RatesOf(before, status, between);
    std::cout << absl::StrFormat(
        "{\"connector\":%s,\"pipeline\":%s,\"state\":%s,\"condition\":%s,"
        "\"records\":%d,\"bytes\":%d,\"records_per_second\":%s,"
        "\"bytes_per_second\":%s,\"queued_records\":%d,\"in_flight_bytes\":%d,"
        "\"made\":%d,\"released\":%d,\"completed\":%d,\"checkpointed\":%d,"
        "\"errors\":%d,\"why\":%s}\n",
        Json(status.name), Json(status.pipeline),
        Json(core::StateName(status.state)), Json(ConditionOf(status)),
        RecordsOf(status), BytesOf(status),
        rates.has_value() ? absl::StrFormat("%.1f", rates->records) : "null",
        rates.has_value() ? absl::StrFormat("%.1f", rates->bytes) : "null",
        status.queued.records, status.inflight_bytes, status.made_steps,
        status.released_steps, status.completed_steps,
        status.checkpointed_steps, status.error_count, Json(WhyOf(status)));
  }
  std::cout << std::flush;
}

// Waits for `duration`. True: a signal came that is to end it.
bool SleepOrSignal(absl::Duration duration) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  const timespec wait = absl::ToTimespec(duration);
  return sigtimedwait(&signals, nullptr, &wait) > 0;
}

// Statuses of what was asked for, with a client of their own.
absl::StatusOr<Statuses> LookOnce(const ReportOptions& options) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                   ConnectTo(options.worker));
  return QueryConnectors(*client, options.connector);
}

std::string Local(absl::Time time) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S", time, absl::LocalTimeZone());
}

}  // namespace

std::string BlockersOf(const core::ConnectorStatus& status, absl::Time now) {
  std::string text;
  for (const core::Blocker& blocker : status.blockers) {
    absl::StrAppend(
        &text, text.empty() ? "" : "; ", ShortName(wire::ToProto(blocker.kind)),
        blocker.shard.has_value() ? absl::StrCat(" of shard ", *blocker.shard)
                                  : "",
        " at step ", blocker.step, " for ", ShortDuration(now - blocker.since));
  }
  return text;
}

std::string TopTable(const Statuses& before, const Statuses& now,
                     absl::Duration between) {
  TextTable table({"CONNECTOR", "STATE", "HEALTH", "REC/S", "B/S", "RECORDS",
                   "QUEUED", "IN FLIGHT", "MADE", "RELEASED", "COMPLETED",
                   "CHECKPT", "ERRORS", "WHY"});
  for (const core::ConnectorStatus& status : now) {
    const std::optional<Rates> rates = RatesOf(before, status, between);
    table.Add({status.name, std::string(core::StateName(status.state)),
               ConditionOf(status),
               rates.has_value() ? ShortNumber(rates->records) : "-",
               rates.has_value() ? ShortNumber(rates->bytes) : "-",
               ShortNumber(static_cast<double>(RecordsOf(status))),
               ShortNumber(static_cast<double>(status.queued.records)),
               ShortNumber(static_cast<double>(status.inflight_bytes)),
               absl::StrCat(status.made_steps),
               absl::StrCat(status.released_steps),
               absl::StrCat(status.completed_steps),
               absl::StrCat(status.checkpointed_steps),
               absl::StrCat(status.error_count), WhyOf(status)});
  }
  return table.ToString();
}

CliExit RunTop(const ReportOptions& options) {
  const auto client = ConnectTo(options.worker);
  if (!client.ok()) return FailToAsk(client.status(), options.worker);
  const core::Clock& clock = core::RealClock();
  const bool live =
      !options.once && options.format != "json" && isatty(STDOUT_FILENO) == 1;
  Statuses before;
  absl::Time before_at = clock.SteadyNow();
  for (int look = 0;; ++look) {
    auto now = QueryConnectors(**client, options.connector);
    if (!now.ok()) return FailToAsk(now.status(), options.worker);
    const absl::Time at = clock.SteadyNow();
    // The first look is only what the second one is compared with.
    if (look > 0 || live) {
      if (options.format == "json") {
        PrintTopJson(before, *now, at - before_at);
      } else {
        std::cout << (live ? "\033[H\033[J" : "")
                  << TopTable(before, *now, at - before_at) << std::flush;
      }
      if (options.once) return CliExit::kOk;
    }
    before = *std::move(now);
    before_at = at;
    if (SleepOrSignal(absl::Seconds(options.interval_seconds))) {
      return CliExit::kOk;
    }
  }
}

CliExit RunErrors(const ReportOptions& options) {
  const auto statuses = LookOnce(options);
  if (!statuses.ok()) return FailToAsk(statuses.status(), options.worker);
  struct Line {
    const core::ConnectorStatus* status;
    const core::ErrorEntry* error;
  };
  std::vector<Line> lines;
  for (const core::ConnectorStatus& status : *statuses) {
    for (const core::ErrorEntry& error : status.errors) {
      if (!options.tag.empty() && error.tag != options.tag) continue;
      lines.push_back({&status, &error});
    }
  }
  std::stable_sort(lines.begin(), lines.end(),
                   [](const Line& a, const Line& b) {
                     return a.error->time > b.error->time;
                   });
  if (options.format == "json") {
    for (const Line& line : lines) {
      std::cout << absl::StrFormat(
          "{\"time\":%s,\"connector\":%s,\"tag\":%s,\"count\":%d,"
          "\"fatal\":%s,\"text\":%s}\n",
          Json(absl::FormatTime(line.error->time, absl::UTCTimeZone())),
          Json(line.status->name), Json(line.error->tag), line.error->index,
          line.error->fatal ? "true" : "false", Json(line.error->text));
    }
    std::cout << std::flush;
    return CliExit::kOk;
  }
  if (lines.empty()) {
    std::cout << "no errors in " << statuses->size() << " connector(s)\n";
    return CliExit::kOk;
  }
  TextTable table({"TIME", "CONNECTOR", "TAG", "NUMBER", "FATAL", "TEXT"});
  for (const Line& line : lines) {
    table.Add({Local(line.error->time), line.status->name, line.error->tag,
               absl::StrCat(line.error->index), line.error->fatal ? "yes" : "",
               line.error->text});
  }
  std::cout << table.ToString();
  return CliExit::kOk;
}

CliExit RunCheckpoints(const ReportOptions& options) {
  const auto statuses = LookOnce(options);
  if (!statuses.ok()) return FailToAsk(statuses.status(), options.worker);
  const absl::Time now = core::RealClock().Now();
  TextTable table({"CONNECTOR", "BASE", "MADE", "RELEASED", "COMPLETED",
                   "CHECKPT", "TO REPLAY", "BLOCKED BY"});
  for (const core::ConnectorStatus& status : *statuses) {
    const uint64_t to_replay = status.made_steps - status.checkpointed_steps;
    const std::string blockers = BlockersOf(status, now);
    if (options.format == "json") {
      std::cout << absl::StrFormat(
                       "{\"connector\":%s,\"base\":%d,\"made\":%d,"
                       "\"released\":%d,\"completed\":%d,\"checkpointed\":%d,"
                       "\"to_replay\":%d,\"blocked_by\":%s}",
                       Json(status.name), status.base_steps, status.made_steps,
                       status.released_steps, status.completed_steps,
                       status.checkpointed_steps, to_replay, Json(blockers))
                << std::endl;
      continue;
    }
    table.Add({status.name, absl::StrCat(status.base_steps),
               absl::StrCat(status.made_steps),
               absl::StrCat(status.released_steps),
               absl::StrCat(status.completed_steps),
               absl::StrCat(status.checkpointed_steps), absl::StrCat(to_replay),
               blockers});
  }
  if (options.format != "json") std::cout << table.ToString();
  return CliExit::kOk;
}

}  // namespace penstock::client
