#include "client/cli/hand_commands.h"

#include "client/cli/controller_options.h"
#include "client/cli/hand.h"
#include "client/client.h"
#include "client/controller/sqlite_store.h"
#include "client/pipeline_file.h"
#include "core/base/error.h"
#include "core/base/filesystem.h"
#include "core/base/json_text.h"
#include "core/base/random.h"
#include "core/base/status_macros.h"
#include "core/base/thread_pool_executor.h"
#include "core/connector/state_machine.h"
#include "proto/penstock/v1/control.pb.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <absl/strings/string_view.h>
#include <absl/time/time.h>

#include <iostream>
#include <memory>
#include <utility>
#include <vector>

namespace penstock::client {
namespace {

// What a command has to say: names and values, in order.
class Report {
 public:
  void Text(absl::string_view name, absl::string_view value) {
    std::string json;
    core::AppendJsonString(value, json);
    facts_.push_back({std::string(name), std::string(value), json});
  }
  void Number(absl::string_view name, uint64_t value) {
    Plain(name, absl::StrCat(value));
  }
  void Flag(absl::string_view name, bool value) {
    Plain(name, value ? "true" : "false");
  }
  void Numbers(absl::string_view name, const std::vector<core::Step>& values) {
    facts_.push_back({std::string(name),
                      values.empty() ? "none" : absl::StrJoin(values, ", "),
                      absl::StrCat("[", absl::StrJoin(values, ","), "]")});
  }
  void Texts(absl::string_view name, const std::vector<std::string>& values) {
    std::string json = "[";
    for (const std::string& value : values) {
      if (json.size() > 1) json += ",";
      core::AppendJsonString(value, json);
    }
    facts_.push_back({std::string(name),
                      values.empty() ? "none" : absl::StrJoin(values, "; "),
                      json + "]"});
  }
  void Print(const std::string& format) const {
    if (format == "json") {
      std::cout << "{"
                << absl::StrJoin(facts_, ",",
                                 [](std::string* out, const Fact& fact) {
                                   absl::StrAppend(out, "\"", fact.name,
                                                   "\":", fact.json);
                                 })
                << "}" << std::endl;
      return;
    }
    for (const Fact& fact : facts_) {
      std::cout << fact.name << ": " << fact.text << "\n";
    }
    std::cout << std::flush;
  }

 private:
  struct Fact {
    std::string name;
    std::string text;
    std::string json;
  };
  void Plain(absl::string_view name, const std::string& value) {
    facts_.push_back({std::string(name), value, value});
  }

  std::vector<Fact> facts_;
};

absl::StatusOr<absl::Duration> ParseWait(const std::string& text,
                                         absl::string_view option) {
  absl::Duration wait;
  if (absl::ParseDuration(text, &wait) && wait >= absl::ZeroDuration() &&
      wait <= absl::Minutes(10)) {
    return wait;
  }
  return core::MakeError(core::Reason::INVALID_CONFIG,
                         absl::StrCat("reading ", option, " `", text,
                                      "`: not a time from 0s to 10m, such as "
                                      "500ms"),
                         {{"field", std::string(option)}});
}

absl::string_view NameOf(core::NoStepReason reason) {
  switch (reason) {
    case core::NoStepReason::kWaitOver:
      return "there was nothing to read";
    case core::NoStepReason::kEndOfInput:
      return "end of input";
    case core::NoStepReason::kPaused:
      return "paused, and nothing is buffered";
    case core::NoStepReason::kInterrupted:
      return "interrupted";
  }
  return "unknown";
}

absl::string_view NameOf(core::Blocker::Kind kind) {
  switch (kind) {
    case core::Blocker::Kind::kBarrier:
      return "barrier";
    case core::Blocker::Kind::kOpenTransaction:
      return "open transaction";
    case core::Blocker::Kind::kReplay:
      return "replay";
    case core::Blocker::Kind::kUnflushedShard:
      return "not written by shard";
    case core::Blocker::Kind::kUnreleasedStep:
      return "not released";
    case core::Blocker::Kind::kUnfinishedStep:
      return "not finished";
  }
  return "unknown";
}

// --- One verb each: what it does and what it says ----------------------------

absl::Status Open(Hand& hand, const HandOptions& options, Report& report) {
  ASSIGN_OR_RETURN(const Hand::Opened opened, hand.Open(options.reopen));
  report.Text("instance", opened.reply.instance);
  report.Text("level", core::LevelName(opened.reply.level));
  report.Number("base_steps", opened.reply.base_steps);
  report.Numbers("shard_progress", opened.reply.shard_progress);
  report.Number("steps_to_replay", opened.steps_to_replay);
  report.Text("next", opened.steps_to_replay > 0 ? "replay" : "extend");
  return absl::OkStatus();
}

absl::Status Replay(Hand& hand, Report& report) {
  std::vector<core::Step> steps;
  uint64_t records = 0;
  uint64_t held = 0;
  while (true) {
    ASSIGN_OR_RETURN(const auto replayed, hand.ReplayNext());
    if (!replayed.has_value()) break;
    steps.push_back(replayed->step);
    records += replayed->reply.amount.records;
    if (replayed->reply.already_held) ++held;
  }
  report.Numbers("replayed", steps);
  report.Number("records", records);
  report.Number("already_held", held);
  report.Text("next", "extend");
  return absl::OkStatus();
}

absl::Status Queue(Hand& hand, const HandOptions& options, Report& report) {
  core::QueueRequest request;
  ASSIGN_OR_RETURN(request.wait, ParseWait(options.wait, "--wait"));
  request.min_records = options.min_records;
  request.max_records = options.max_records;
  ASSIGN_OR_RETURN(const core::QueueReply reply, hand.Queue(request));
  if (reply.result == nullptr) {
    const core::NoStep none = reply.no_step.value_or(core::NoStep{});
    report.Text("no_step", NameOf(none.reason));
    report.Flag("end_of_input", none.end_of_input);
    return absl::OkStatus();
  }
  report.Number("step", reply.result->step);
  report.Number("records", reply.result->amount.records);
  report.Number("bytes", reply.result->amount.bytes);
  report.Flag("end_of_input", reply.result->end_of_input);
  report.Text("next", "release");
  return absl::OkStatus();
}

absl::StatusOr<CliExit> Checkpoint(Hand& hand, const HandOptions& options,
                                   Report& report) {
  ASSIGN_OR_RETURN(const absl::Duration wait,
                   ParseWait(options.wait, "--wait"));
  ASSIGN_OR_RETURN(const Hand::Checkpointed taken, hand.Checkpoint(wait));
  report.Number("steps", taken.steps);
  report.Flag("ready", taken.reply.ready);
  std::vector<std::string> blockers;
  for (const core::Blocker& blocker : taken.reply.blockers) {
    blockers.push_back(
        absl::StrCat("step ", blocker.step, ": ", NameOf(blocker.kind),
                     blocker.text.empty() ? "" : ", ", blocker.text));
  }
  report.Texts("blockers", blockers);
  return taken.reply.ready ? CliExit::kOk : CliExit::kNotCheckpointed;
}

absl::Status Disconnect(Hand& hand, const HandOptions& options,
                        Report& report) {
  ASSIGN_OR_RETURN(const absl::Duration wait,
                   ParseWait(options.wait, "--wait"));
  ASSIGN_OR_RETURN(const core::DisconnectReply reply, hand.Disconnect(wait));
  report.Numbers("unconfirmed_steps", reply.unconfirmed_steps);
  report.Numbers("dropped_steps", reply.dropped_steps);
  return absl::OkStatus();
}

absl::StatusOr<CliExit> Do(HandVerb verb, Hand& hand,
                           const HandOptions& options, Report& report) {
  absl::Status done;
  switch (verb) {
    case HandVerb::kOpen:
      done = Open(hand, options, report);
      break;
    case HandVerb::kReplay:
      done = Replay(hand, report);
      break;
    case HandVerb::kExtend:
      done = hand.Extend();
      report.Text("next", "queue");
      break;
    case HandVerb::kPause:
      done = hand.Pause();
      report.Text("next", "queue what is buffered, or extend");
      break;
    case HandVerb::kQueue:
      done = Queue(hand, options, report);
      break;
    case HandVerb::kRelease: {
      const absl::StatusOr<core::Step> released = hand.Release();
      done = released.status();
      if (released.ok()) report.Number("released_steps", *released);
      break;
    }
    case HandVerb::kCheckpoint:
      return Checkpoint(hand, options, report);
    case HandVerb::kDisconnect:
      done = Disconnect(hand, options, report);
      break;
  }
  RETURN_IF_ERROR(done);
  return CliExit::kOk;
}

// --- What a command works on -------------------------------------------------

absl::Status CheckFile(const PipelineFile& pipeline, const std::string& file) {
  if (!pipeline.store_url.empty()) {
    return core::MakeError(
        core::Reason::UNSUPPORTED,
        absl::StrCat(file,
                     ": store: controllers share it and take turns; by hand, "
                     "keep the state in SQLite (`store: sqlite:PATH`)"),
        {{"field", "store"}});
  }
  if (!pipeline.workers.empty()) return absl::OkStatus();
  return core::MakeError(
      core::Reason::INVALID_CONFIG,
      absl::StrCat(file,
                   ": workers: names none; a worker has to live on from one "
                   "command to the next: start penstock-worker and name its "
                   "address"),
      {{"field", "workers"}});
}

absl::StatusOr<std::string> ChooseConnector(const PipelineFile& pipeline,
                                            const HandOptions& options) {
  if (!options.connector.empty()) return options.connector;
  if (pipeline.connectors.size() == 1) return pipeline.connectors[0].name;
  return core::MakeError(
      core::Reason::INVALID_CONFIG,
      absl::StrCat(options.pipeline_file, " has ", pipeline.connectors.size(),
                   " connectors; say which"),
      {{"field", "connector"}});
}

absl::StatusOr<std::unique_ptr<StateStore>> OpenStore(
    HandVerb verb, const PipelineFile& pipeline, core::Executor& executor) {
  auto store =
      MakeSqliteStore(pipeline.store_path,
                      {.create_if_missing = verb == HandVerb::kOpen}, executor);
  if (!core::HasReason(store.status(), core::Reason::NOT_FOUND)) return store;
  return core::MakeError(
      core::Reason::NOT_FOUND,
      absl::StrCat("pipeline '", pipeline.name, "' has no store at ",
                   pipeline.store_path,
                   ", so nothing of it was ever opened; open it first"),
      {{"path", pipeline.store_path}});
}

absl::StatusOr<CliExit> TryHand(HandVerb verb, const HandOptions& options,
                                Report& report) {
  ASSIGN_OR_RETURN(
      const PipelineFile pipeline,
      LoadPipelineFile(core::PosixFileSystem(), options.pipeline_file));
  RETURN_IF_ERROR(CheckFile(pipeline, options.pipeline_file));
  ASSIGN_OR_RETURN(const std::string connector,
                   ChooseConnector(pipeline, options));
  core::Random random(core::SeededFromEntropy());
  const ControllerOptions controller =
      ControllerOptionsOf(pipeline, MakeControllerId(), random);
  size_t worker = 0;
  for (const PipelineConnector& each : controller.connectors) {
    if (each.name == connector) worker = each.worker;
  }
  ClientOptions client_options;
  client_options.channel.insecure = options.insecure;
  client_options.channel.tls =
      options.tls.enabled() ? options.tls : pipeline.tls;
  ASSIGN_OR_RETURN(const auto client,
                   Client::Connect(pipeline.workers[worker].addresses.front(),
                                   client_options));
  core::ThreadPoolExecutor executor("store", 1);
  ASSIGN_OR_RETURN(const auto store, OpenStore(verb, pipeline, executor));
  ASSIGN_OR_RETURN(
      Hand hand, Hand::Take(client->control(), *store, controller, connector));
  if (verb != HandVerb::kOpen && hand.is_edited()) {
    std::cerr << "note: " << options.pipeline_file << " is not what '"
              << connector
              << "' was opened with; an edit takes effect at the next open\n";
  }
  return Do(verb, hand, options, report);
}

absl::StatusOr<CliExit> TryDrain(const DrainOptions& options, Report& report) {
  ASSIGN_OR_RETURN(const absl::Duration deadline,
                   ParseWait(options.deadline, "--deadline"));
  ClientOptions client_options;
  client_options.channel.insecure = options.insecure;
  client_options.channel.tls = options.tls;
  ASSIGN_OR_RETURN(const auto client,
                   Client::Connect(options.target, client_options));
  core::Random random(core::SeededFromEntropy());
  ASSIGN_OR_RETURN(const v1::DrainResponse drained,
                   client->Drain(deadline, core::RandomId(random)));
  report.Flag("complete", drained.complete());
  for (const v1::DrainedConnector& connector : drained.connectors()) {
    report.Numbers(absl::StrCat(connector.connector(), ".unconfirmed_steps"),
                   {connector.unconfirmed_steps().begin(),
                    connector.unconfirmed_steps().end()});
    report.Numbers(
        absl::StrCat(connector.connector(), ".dropped_steps"),
        {connector.dropped_steps().begin(), connector.dropped_steps().end()});
    report.Number(absl::StrCat(connector.connector(), ".unqueued_records"),
                  connector.unqueued().records());
    if (!connector.error().empty()) {
      report.Text(absl::StrCat(connector.connector(), ".error"),
                  connector.error());
    }
  }
  return drained.complete() ? CliExit::kOk : CliExit::kNotCheckpointed;
}

CliExit Fail(const absl::Status& status) {
  std::cerr << status.message() << "\n";
  return CliExitOf(status);
}

}  // namespace

CliExit RunHand(HandVerb verb, const HandOptions& options) {
  Report report;
  const absl::StatusOr<CliExit> exit = TryHand(verb, options, report);
  if (!exit.ok()) return Fail(exit.status());
  report.Print(options.format);
  return *exit;
}

CliExit RunDrain(const DrainOptions& options) {
  Report report;
  const absl::StatusOr<CliExit> exit = TryDrain(options, report);
  if (!exit.ok()) return Fail(exit.status());
  report.Print(options.format);
  return *exit;
}

}  // namespace penstock::client
