#include "client/cli/progress_printer.h"

#include "client/cli/text_table.h"
#include "core/base/json_text.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

#include <poll.h>
#include <unistd.h>
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <optional>

namespace penstock::client {
namespace {

// How long the last line waits for somebody to read what is before it.
constexpr absl::Duration kLastWordsMax = absl::Seconds(1);

absl::Duration IntervalOf(ProgressPrinter::Style style) {
  switch (style) {
    case ProgressPrinter::Style::kLive:
      return absl::Milliseconds(200);
    case ProgressPrinter::Style::kPlain:
      return absl::Seconds(5);
    case ProgressPrinter::Style::kJson:
      return absl::Seconds(1);
  }
  return absl::Seconds(1);
}

const char* PhaseName(ControllerPhase phase) {
  switch (phase) {
    case ControllerPhase::kStarting:
      return "starting";
    case ControllerPhase::kRunning:
      return "running";
    case ControllerPhase::kFinishing:
      return "finishing";
    case ControllerPhase::kEnded:
      return "ended";
  }
  return "?";
}

std::string Quoted(absl::string_view text) {
  std::string json;
  core::AppendJsonString(text, json);
  return json;
}

// "3 (1 not parsed, 0 not encoded, 2 refused by the target; 2 dead letters)".
std::string TextOf(const BadRecords& bad) {
  if (bad.total() == 0) return "0";
  return absl::StrCat(bad.total(), " (", bad.not_parsed, " not parsed, ",
                      bad.not_encoded, " not encoded, ", bad.refused,
                      " refused by the target; ", bad.dead_letters,
                      " dead letters)");
}

std::string JsonOf(const BadRecords& bad) {
  return absl::StrFormat(
      "{\"total\":%d,\"not_parsed\":%d,\"not_encoded\":%d,\"refused\":%d,"
      "\"dead_letters\":%d}",
      bad.total(), bad.not_parsed, bad.not_encoded, bad.refused,
      bad.dead_letters);
}

// {"no_such_connector":2}
std::string JsonOf(const std::map<std::string, uint64_t>& counts) {
  std::string json = "{";
  for (const auto& [name, count] : counts) {
    absl::StrAppend(&json, json.size() > 1 ? "," : "", Quoted(name), ":",
                    count);
  }
  return json + "}";
}

std::string JsonOf(const ControllerSnapshot& snapshot, const RunTotals& totals,
                   double rate, double seconds) {
  return absl::StrFormat(
      "\"phase\":\"%s\",\"epoch\":%d,\"seconds\":%.3f,\"records\":%d,"
      "\"bytes\":%d,\"bytes_per_second\":%.0f,\"step\":%d,\"released\":%d,"
      "\"completed\":%d,\"checkpointed\":%d,\"recoveries\":%d,"
      "\"adopted\":%d,\"not_adopted\":%s,"
      "\"bad_records\":%s,\"health\":%s",
      PhaseName(snapshot.phase), snapshot.epoch, seconds, totals.records,
      totals.bytes, rate, totals.step, totals.released, totals.completed,
      totals.checkpointed, totals.recoveries, totals.adopted,
      JsonOf(totals.not_adopted), JsonOf(totals.bad_records),
      Quoted(totals.health));
}

// ", not adopted no_such_connector 2", if there are any.
std::string NotAdoptedText(const std::map<std::string, uint64_t>& counts) {
  std::string text;
  for (const auto& [why, count] : counts) {
    absl::StrAppend(&text, text.empty() ? ", not adopted " : ", ", why, " ",
                    count);
  }
  return text;
}

// "  bad 3", if there are any.
std::string BadText(const RunTotals& totals) {
  const uint64_t bad = totals.bad_records.total();
  return bad == 0 ? "" : absl::StrCat("  bad ", bad);
}

// Bytes of the input behind `totals`: an LF stood behind each record.
uint64_t ReadOf(const RunTotals& totals) {
  return totals.bytes + totals.records;
}

// What is left of the input at the rate so far; nullopt: nobody knows.
std::optional<absl::Duration> TimeLeft(uint64_t done, uint64_t total,
                                       absl::Duration elapsed) {
  if (done == 0 || done >= total || elapsed <= absl::ZeroDuration()) {
    return std::nullopt;
  }
  return elapsed *
         (static_cast<double>(total - done) / static_cast<double>(done));
}

// "1.20GB of 3.40GB (35%)  350.00MB/s  about 6s left"; of records alone, where
// nobody knows how large the input is.
std::string DoneText(const RunTotals& totals, uint64_t total,
                     absl::Duration elapsed, double rate) {
  const uint64_t done =
      total > 0 ? std::min(ReadOf(totals), total) : totals.bytes;
  std::string text = absl::StrCat(ShortNumber(static_cast<double>(done)), "B");
  if (total > 0) {
    const double share = static_cast<double>(done) / static_cast<double>(total);
    absl::StrAppend(&text, " of ", ShortNumber(static_cast<double>(total)),
                    "B (", absl::StrFormat("%.0f%%", share * 100), ")");
  }
  absl::StrAppend(&text, "  ", ShortNumber(rate), "B/s");
  if (const auto left = TimeLeft(done, total, elapsed)) {
    absl::StrAppend(&text, "  about ", ShortDuration(*left), " left");
  }
  return text;
}

// Whether a line can be written now. A pipe that nobody reads would hold up the
// command, and with it the signals that are to end it.
bool CanPrint(absl::Duration wait) {
  pollfd out{.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
  return poll(&out, 1, static_cast<int>(absl::ToInt64Milliseconds(wait))) == 1;
}

}  // namespace

RunTotals TotalsOf(const ControllerSnapshot& snapshot) {
  RunTotals totals;
  for (const ConnectorProgress& connector : snapshot.connectors) {
    totals.records += connector.amount.records;
    totals.bytes += connector.amount.bytes;
    totals.step = std::max(totals.step, connector.made_steps);
    totals.released = std::max(totals.released, connector.released_steps);
    totals.completed = std::max(totals.completed, connector.completed_steps);
    totals.checkpointed =
        std::max(totals.checkpointed, connector.checkpointed_steps);
    totals.recoveries += connector.recoveries;
    if (connector.adopted) ++totals.adopted;
    if (!connector.not_adopted.empty()) {
      ++totals.not_adopted[connector.not_adopted];
    }
    totals.bad_records += connector.bad_records;
    if (!connector.health.empty() && connector.health != "OK") {
      totals.health = connector.health;
    }
  }
  return totals;
}

ProgressPrinter::Style ProgressPrinter::StyleOf(const std::string& format) {
  if (format == "json") return Style::kJson;
  return isatty(STDOUT_FILENO) == 1 ? Style::kLive : Style::kPlain;
}

void ProgressPrinter::EndReign(const ControllerSnapshot& last) {
  before_ = TotalsWith(last);
}

RunTotals ProgressPrinter::TotalsWith(
    const ControllerSnapshot& snapshot) const {
  RunTotals totals = TotalsOf(snapshot);
  totals.records += before_.records;
  totals.bytes += before_.bytes;
  totals.step = std::max(totals.step, before_.step);
  totals.released = std::max(totals.released, before_.released);
  totals.completed = std::max(totals.completed, before_.completed);
  totals.checkpointed = std::max(totals.checkpointed, before_.checkpointed);
  totals.recoveries += before_.recoveries;
  totals.adopted += before_.adopted;
  for (const auto& [why, count] : before_.not_adopted) {
    totals.not_adopted[why] += count;
  }
  totals.bad_records += before_.bad_records;
  return totals;
}

void ProgressPrinter::Show(const ControllerSnapshot& snapshot,
                           absl::Time steady_now) {
  const absl::Duration since = steady_now - last_;
  if (since < IntervalOf(style_) || !CanPrint(absl::ZeroDuration())) return;
  const RunTotals totals = TotalsWith(snapshot);
  rate_ = static_cast<double>(totals.bytes - last_bytes_) /
          absl::ToDoubleSeconds(since);
  last_ = steady_now;
  last_bytes_ = totals.bytes;
  if (style_ == Style::kJson) {
    const auto left =
        TimeLeft(ReadOf(totals), input_bytes_, steady_now - started_);
    std::cout << "{\"event\":\"progress\","
              << JsonOf(snapshot, totals, rate_,
                        absl::ToDoubleSeconds(steady_now - started_))
              << ",\"input_bytes\":"
              << (input_bytes_ > 0 ? absl::StrCat(input_bytes_) : "null")
              << ",\"seconds_left\":"
              << (left.has_value()
                      ? absl::StrFormat("%.1f", absl::ToDoubleSeconds(*left))
                      : "null")
              << "}" << std::endl;
    return;
  }
  const std::string line = absl::StrCat(
      ShortNumber(static_cast<double>(totals.records)), " records  ",
      DoneText(totals, input_bytes_, steady_now - started_, rate_), "  step ",
      totals.step, "  released ", totals.released, "  completed ",
      totals.completed, "  checkpointed ", totals.checkpointed, BadText(totals),
      "  ", totals.health);
  if (style_ == Style::kLive) {
    std::cout << "\r\033[K" << line << std::flush;
  } else {
    std::cout << line << std::endl;
  }
}

void ProgressPrinter::ShowStandby(const LeaseState& lease,
                                  absl::Time steady_now) {
  if (lease.controller == leader_ && steady_now - last_ < IntervalOf(style_)) {
    return;
  }
  if (!CanPrint(absl::ZeroDuration())) return;
  leader_ = lease.controller;
  last_ = steady_now;
  if (style_ == Style::kJson) {
    std::cout << absl::StrFormat(
                     "{\"event\":\"standby\",\"leader\":%s,\"epoch\":%d,"
                     "\"lease_until\":%s,\"lease_left_seconds\":%.3f}",
                     Quoted(lease.controller), lease.epoch, Quoted(lease.until),
                     absl::ToDoubleSeconds(lease.left))
              << std::endl;
    return;
  }
  const std::string line = absl::StrCat(
      "standing by: ", lease.controller, " leads (epoch ", lease.epoch,
      "); its lease ends at ", lease.until, " unless it renews it");
  if (style_ == Style::kLive) {
    std::cout << "\r\033[K" << line << std::flush;
  } else {
    std::cout << line << std::endl;
  }
}

void ProgressPrinter::Finish(const ControllerSnapshot& snapshot,
                             int worker_restarts, const std::string& outcome,
                             absl::Time steady_now) {
  if (!CanPrint(kLastWordsMax)) return;
  const RunTotals totals = TotalsWith(snapshot);
  const double seconds = absl::ToDoubleSeconds(steady_now - started_);
  const double rate =
      seconds > 0 ? static_cast<double>(totals.bytes) / seconds : 0;
  if (style_ == Style::kJson) {
    std::cout << "{\"event\":\"end\",\"outcome\":" << Quoted(outcome) << ","
              << JsonOf(snapshot, totals, rate, seconds)
              << ",\"worker_restarts\":" << worker_restarts << "}" << std::endl;
    return;
  }
  if (style_ == Style::kLive) std::cout << "\r\033[K";
  std::cout << outcome << ": " << totals.records << " records, bad records "
            << TextOf(totals.bad_records) << ", "
            << ShortNumber(static_cast<double>(totals.bytes)) << "B in "
            << absl::StrFormat("%.1f", seconds) << " s (" << ShortNumber(rate)
            << "B/s), steps below " << totals.step << ", checkpointed "
            << totals.checkpointed << ", recoveries " << totals.recoveries
            << ", adopted " << totals.adopted
            << NotAdoptedText(totals.not_adopted) << ", worker restarts "
            << worker_restarts << std::endl;
}

}  // namespace penstock::client
