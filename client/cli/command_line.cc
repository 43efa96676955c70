#include "client/cli/command_line.h"

#include "client/internal/yaml_scalar.h"

#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <CLI/CLI.hpp>

namespace penstock::client {
namespace {

constexpr char kFooter[] =
    "A first pipeline, orders.yaml:\n"
    "  name: shop\n"
    "  connectors:\n"
    "    - name: orders\n"
    "      source: {file: {path: orders.ndjson}}\n"
    "      format: {ndjson: {key: user.id}}\n"
    "      sink:   {file: {path: out}}\n"
    "      shards: 4\n"
    "Then: penstock run orders.yaml && penstock verify orders.yaml\n"
    "\n"
    "Exit codes: 0 done, 1 failed, 2 wrong options or file, 3 stored state is\n"
    "damaged, 4 worker or store unreachable, or store locked, 5 another\n"
    "controller took over, 6 a person must decide, 7 verify found "
    "differences,\n"
    "8 stopped with steps that were not checkpointed, 9 some connectors "
    "failed,\n"
    "the others did their work, 130 interrupted.\n";

// How workers are dialled.
void AddAccess(CLI::App& command, bool& insecure, TlsFiles& tls) {
  command.add_flag("--insecure", insecure, "Plaintext to other hosts");
  command.add_option("--tls-ca", tls.ca,
                     "TLS: PEM file of the authorities of workers' "
                     "certificates (also $PENSTOCK_TLS_CA)");
  command.add_option("--tls-cert", tls.certificate,
                     "TLS: PEM file of our certificate chain (also "
                     "$PENSTOCK_TLS_CERT)");
  command.add_option("--tls-key", tls.private_key,
                     "TLS: PEM file of its private key (also "
                     "$PENSTOCK_TLS_KEY)");
  command.add_option("--tls-name", tls.server_name,
                     "TLS: the name that a worker's certificate must have "
                     "(default: its host; also $PENSTOCK_TLS_NAME)");
  for (const char* name : {"CA", "CERT", "KEY", "NAME"}) {
    command.get_option(absl::StrCat("--tls-", absl::AsciiStrToLower(name)))
        ->envname(absl::StrCat("PENSTOCK_TLS_", name));
  }
}

void AddFormat(CLI::App& command, std::string& format,
               const std::vector<std::string>& formats) {
  command.add_option("--output", format, absl::StrJoin(formats, " or "))
      ->check(CLI::IsMember(formats))
      ->capture_default_str();
}

void AddRun(CLI::App& cli, CommandLine& options) {
  CLI::App* run = cli.add_subcommand(
      "run",
      "Drive a pipeline file to the end of its input. Killed at any moment, "
      "the same command goes on where it was.");
  run->add_option("file", options.run.pipeline_file, "The pipeline file")
      ->required();
  run->add_option("--output", options.run.format,
                  "text (a live line on a terminal) or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  run->add_option("--worker-program", options.run.worker_program,
                  "penstock-worker, where the file names no workers");
  run->add_option("--worker-state-dir", options.run.worker_state_dir,
                  "Where the local worker keeps its fence (default: beside "
                  "the store)");
  AddAccess(*run, options.run.insecure, options.run.tls);
  run->add_flag("--single-calls", options.run.single_calls,
                "Command workers by a call for each command, not over one "
                "Session");
  run->add_option("--heartbeat", options.run.heartbeat_seconds,
                  "Seconds between the heartbeats of a Session; a worker that "
                  "is silent for three of them is given up")
      ->check(CLI::Range(0.1, 60.0))
      ->capture_default_str();
  run->add_option("--crash-at", options.run.crash_at,
                  "For fault tests: POINT:N, for example after_journal:3");
  run->add_option("--crash-how", options.run.crash_how, "kill or stop")
      ->check(CLI::IsMember({"kill", "stop"}));
}

void AddVerify(CLI::App& cli, CommandLine& options) {
  CLI::App* verify = cli.add_subcommand(
      "verify",
      "Compare inputs with outputs: every record exactly once, in order "
      "within each shard; or what the pipeline's level promises.");
  CLI::Option* file =
      verify->add_option("file", options.verify.pipeline_file,
                         "A pipeline file: its connectors from files to files");
  CLI::Option* input = verify->add_option("--input", options.verify.inputs,
                                          "An input file (repeatable)");
  CLI::Option* output = verify->add_option("--sink", options.verify.output,
                                           "The directory of a file sink");
  CLI::Option* level =
      verify
          ->add_option("--level", options.verify.level,
                       "What to expect with --input; a pipeline file says it "
                       "itself")
          ->check(CLI::IsMember({"none", "at_least_once", "exactly_once"}))
          ->capture_default_str();
  input->needs(output)->excludes(file);
  output->needs(input);
  level->needs(input);
  AddFormat(*verify, options.verify.format, {"text", "json"});
  verify
      ->add_option("--findings", options.verify.findings_max,
                   "How many differences are listed")
      ->capture_default_str();
  verify->callback([file, input] {
    if (file->count() == 0 && input->count() == 0) {
      throw CLI::RequiredError("a pipeline file, or --input and --sink");
    }
  });
}

void AddInfer(CLI::App& cli, CommandLine& options) {
  InferCommandOptions& to = options.infer;
  CLI::App* infer = cli.add_subcommand(
      "infer",
      "Guess format and columns of a file from a sample of it, and print them "
      "as YAML for a connector; what they rest on goes to standard error.");
  infer
      ->add_option("file", to.file,
                   "The file, also gzip or zstd; - is standard input")
      ->required();
  infer->add_option("--format", to.format, "What it is (default: a guess)")
      ->check(CLI::IsMember({"csv", "json", "msgpack", "ndjson", "raw"}));
  infer
      ->add_option("--delimiter", to.delimiter,
                   "csv: what stands between fields, \\t for a tab (default: "
                   "a guess)")
      ->check([](const std::string& text) {
        return text.size() == 1 || text == "\\t" ? "" : "one character";
      });
  infer
      ->add_option("--header", to.header,
                   "csv: whether the first record names the fields")
      ->check(CLI::IsMember({"yes", "no", "auto"}))
      ->capture_default_str();
  infer
      ->add_option("--sample-bytes", to.sample_bytes,
                   "How much is looked at, of what a compressed file holds")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 30))
      ->capture_default_str();
  infer
      ->add_option("--records", to.records_max,
                   "How many records are looked at")
      ->check(CLI::Range(uint64_t{1}, UINT64_MAX))
      ->capture_default_str();
  infer->add_flag("--pipeline", to.pipeline,
                  "Print a whole pipeline file, into files of a directory");
  infer->footer(
      "Each good record of the sample fits the columns, and nothing of it is\n"
      "lost: 007 stays text. What was not sure is said on standard error.\n"
      "Example: penstock infer --pipeline orders.csv.gz > orders.yaml");
}

void AddWorkerTarget(CLI::App& command, WorkerTarget& worker) {
  command
      .add_option("--worker", worker.target,
                  "The worker: host:port or unix:/path")
      ->capture_default_str();
  AddAccess(command, worker.insecure, worker.tls);
}

void AddInspection(CLI::App& cli, CommandLine& options) {
  CLI::App* connectors = cli.add_subcommand(
      "connectors", "List a worker's connectors, or show one in full.");
  connectors->add_option("name", options.connector, "One connector");
  AddFormat(*connectors, options.connectors_format, {"table", "json"});
  AddWorkerTarget(*connectors, options.worker);

  CLI::App* log_level = cli.add_subcommand(
      "log-level", "Show which events a worker logs, or change it.");
  log_level
      ->add_option("level", options.log_level,
                   "info, warning or error, until the next change or restart")
      ->check(CLI::IsMember({"info", "warning", "error"}));
  AddWorkerTarget(*log_level, options.worker);

  CLI::App* watch = cli.add_subcommand(
      "watch", "Print a worker's events, one JSON object a line.");
  watch->add_option("connectors", options.watch_connectors,
                    "Only these connectors");
  watch->add_option("--kind", options.watch_kinds,
                    "Only these kinds, for example health, completion "
                    "(repeatable)");
  watch->add_option("--events", options.watch_events_max,
                    "End after so many events");
  AddWorkerTarget(*watch, options.worker);
}

void AddValidate(CLI::App& cli, CommandLine& options) {
  ValidateOptions& to = options.validate;
  CLI::App* validate = cli.add_subcommand(
      "validate",
      "Check a pipeline file; nothing it names is touched. With --probe a "
      "worker looks outside as well, phase by phase, and leaves no trace.");
  validate->add_option("file", to.pipeline_file, "The pipeline file")
      ->required();
  validate->add_flag("--probe", to.probe,
                     "Look at source and sink: is it there, does it let us "
                     "in, may we write, is there a record that can be parsed");
  validate->add_option("--worker", to.worker.target,
                       "Ask this worker (default: those that the file names, "
                       "or one of the command's own)");
  AddAccess(*validate, to.worker.insecure, to.worker.tls);
  AddFormat(*validate, to.format, {"table", "json"});
  validate->footer(
      "Phases: schema, resolve, connect, authenticate, permission, read_one.\n"
      "Exit codes: 0 it would open, 2 something is wrong with it, 4 something\n"
      "cannot be reached now.\n"
      "Example: penstock validate --probe orders.yaml");
}

void AddDescribe(CLI::App& cli, CommandLine& options) {
  DescribeOptions& to = options.describe;
  CLI::App* describe = cli.add_subcommand(
      "describe",
      "List the types of source, format, route and sink, or show one with all "
      "its fields.");
  describe->add_option("type", to.type, "Such as sink.file, or csv");
  describe->add_option("--worker", to.worker.target,
                       "Ask this worker (default: one of the command's own)");
  AddAccess(*describe, to.worker.insecure, to.worker.tls);
  AddFormat(*describe, to.format, {"table", "json", "schema"});
  describe->footer(
      "`schema` is JSON Schema (2020-12), for editors and programs.\n"
      "Examples: penstock describe\n"
      "          penstock describe format.csv\n"
      "          penstock describe sink.file --output schema");
}

void AddReport(CLI::App& command, CommandLine& options) {
  ReportOptions& to = options.report;
  command.add_option("name", to.connector, "One connector (default: all)");
  AddFormat(command, to.format, {"table", "json"});
  AddWorkerTarget(command, to.worker);
}

void AddReports(CLI::App& cli, CommandLine& options) {
  ReportOptions& to = options.report;
  CLI::App* top = cli.add_subcommand(
      "top",
      "What flows now: rates, steps and health of each connector, refreshed "
      "until Ctrl-C.");
  AddReport(*top, options);
  top->add_flag("--once", to.once, "One look, for scripts; then end");
  top->add_option("--interval", to.interval_seconds, "Seconds between looks")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  top->footer(
      "MADE, RELEASED, COMPLETED, CHECKPT count steps from the start: what is\n"
      "made and not released waits for the controller, what is released and\n"
      "not completed for the target. WHY says what holds it up.");

  CLI::App* errors = cli.add_subcommand(
      "errors", "The last errors of a worker's connectors, newest first.");
  AddReport(*errors, options);
  errors->add_option("--tag", to.tag, "Only those with this tag");

  CLI::App* checkpoints = cli.add_subcommand(
      "checkpoints",
      "How far each connector is stored, what a crash would replay, and what "
      "blocks the next checkpoint.");
  AddReport(*checkpoints, options);
}

void AddDoctor(CLI::App& cli, CommandLine& options) {
  DoctorOptions& to = options.doctor;
  CLI::App* doctor = cli.add_subcommand(
      "doctor",
      "Look at what a pipeline needs around it (file, store, workers, "
      "encryption, clocks), and say what to do.");
  CLI::Option* file = doctor->add_option(
      "file", to.pipeline_file,
      "A pipeline file: its store and its workers are looked at");
  AddFormat(*doctor, to.format, {"table", "json"});
  AddWorkerTarget(*doctor, to.worker);
  doctor->get_option("--worker")->excludes(file);
  doctor->footer(
      "It changes nothing. What source and sink say: penstock validate "
      "--probe.\n"
      "Exit codes: 0 nothing is bad, 4 a worker cannot be reached, 1 "
      "something\n"
      "else is bad.");
}

struct HandCommand {
  const char* name;
  HandVerb verb;
  const char* help;
};
constexpr HandCommand kHandCommands[] = {
    {"open", HandVerb::kOpen,
     "Open a connector at its checkpoint, by hand; then replay, extend."},
    {"replay", HandVerb::kReplay,
     "Make all journaled steps above the checkpoint again."},
    {"extend", HandVerb::kExtend, "Let its source read."},
    {"pause", HandVerb::kPause,
     "Stop its source; what is buffered can be queued. It stays paused in "
     "`penstock run`, until it is extended by hand."},
    {"queue", HandVerb::kQueue,
     "Make one step of what is buffered, and journal it."},
    {"release", HandVerb::kRelease,
     "Let everything that is journaled into the target."},
    {"checkpoint", HandVerb::kCheckpoint,
     "Take a checkpoint at the last step: the next open begins there."},
    {"disconnect", HandVerb::kDisconnect,
     "End a connector; what was not checkpointed comes again."},
};

void AddHand(CLI::App& cli, CommandLine& options) {
  HandOptions& hand = options.hand;
  for (const HandCommand& each : kHandCommands) {
    CLI::App* const command = cli.add_subcommand(each.name, each.help);
    command
        ->add_option("file", hand.pipeline_file,
                     "A pipeline file that names its workers. Its state is "
                     "that of `penstock run`; a run of it that is under way "
                     "ends (5)")
        ->required();
    command->add_option("connector", hand.connector,
                        "Which one, if it has several");
    AddFormat(*command, hand.format, {"text", "json"});
    AddAccess(*command, hand.insecure, hand.tls);
    switch (each.verb) {
      case HandVerb::kOpen:
        command->add_flag("--reopen", hand.reopen,
                          "Delete one that lives; what it has not committed "
                          "is replayed or read again");
        break;
      case HandVerb::kQueue:
        command->add_option("--min-records", hand.min_records,
                            "End the step at so many (default: limits)");
        command->add_option("--max-records", hand.max_records,
                            "Take no further buffer after so many");
        [[fallthrough]];
      case HandVerb::kCheckpoint:
      case HandVerb::kDisconnect:
        command
            ->add_option("--wait", hand.wait,
                         "How long: for data, for released steps")
            ->capture_default_str();
        break;
      default:
        break;
    }
  }
  CLI::App* const drain = cli.add_subcommand(
      "drain",
      "Empty a worker: its sources stop, its controllers take what is left, "
      "it opens nothing more.");
  drain
      ->add_option("--worker", options.drain.target,
                   "The worker: host:port or unix:/path")
      ->capture_default_str();
  AddAccess(*drain, options.drain.insecure, options.drain.tls);
  drain
      ->add_option("--deadline", options.drain.deadline,
                   "What is left then is dropped, and comes again")
      ->capture_default_str();
  AddFormat(*drain, options.drain.format, {"text", "json"});
}

void AddConformance(CLI::App& cli, CommandLine& options) {
  CLI::App* const conformance = cli.add_subcommand(
      "conformance",
      "Check whether a server keeps the promises of the protocol, one by one.");
  ConformanceOptions& suite = options.conformance;
  conformance
      ->add_option("--worker,--target", suite.target,
                   "The server: host:port or unix:/path")
      ->capture_default_str();
  AddAccess(*conformance, suite.insecure, suite.tls);
  conformance->add_option(
      "--directory", suite.directory,
      "Where the server finds its input and may write; both sides must see it "
      "under this name (default: a new one below $TMPDIR, removed in the end)");
  conformance->add_option("--only", suite.only,
                          "Only checks with this in their name, such as 6/");
  conformance
      ->add_option("--faults", suite.faults,
                   "What becomes of commands on their way: none; lose (an "
                   "answer is lost, and asked for again); cut (a call is given "
                   "up and given again); repeat (twice at once); late (once "
                   "more, later). Default: all checks with each in turn")
      ->check(CLI::IsMember({"none", "lose", "cut", "repeat", "late"}));
  conformance->add_option(
      "--kill", suite.kill_command,
      "A shell command that kills the server; whatever looks after it starts "
      "it again. Without it nothing is killed");
  conformance->add_flag("--list", suite.list, "Only list them");
  AddFormat(*conformance, suite.format, {"text", "json"});
}

void AddCompletion(CLI::App& cli, CommandLine& options) {
  CLI::App* const completion = cli.add_subcommand(
      "completion",
      "Print a completion script: source <(penstock completion bash)");
  completion
      ->add_option("shell", options.completion_shell,
                   "bash (zsh: behind bashcompinit)")
      ->required()
      ->check(CLI::IsMember({"bash"}));
}

}  // namespace

std::optional<HandVerb> HandVerbOf(const CLI::App& cli) {
  for (const HandCommand& each : kHandCommands) {
    if (cli.got_subcommand(each.name)) return each.verb;
  }
  return std::nullopt;
}

std::string UsageError(const CLI::App* cli, const CLI::Error& error) {
  const std::vector<std::string> unknown = cli->remaining(true);
  const std::vector<CLI::App*> chosen = cli->get_subcommands();
  const CLI::App* const command = chosen.empty() ? cli : chosen.front();
  const std::string ask = absl::StrCat(
      "\n`", cli->get_name().empty() ? "penstock" : cli->get_name(),
      chosen.empty() ? "" : " " + command->get_name(),
      " --help` says what there is.\n");
  if (unknown.empty()) return absl::StrCat(error.what(), ask);
  const std::string& first = unknown.front();
  std::vector<std::string> known;
  if (absl::StartsWith(first, "-")) {
    for (const CLI::Option* option : command->get_options()) {
      for (const std::string& name : option->get_lnames()) {
        known.push_back("--" + name);
      }
    }
  } else if (chosen.empty()) {
    for (const CLI::App* each : cli->get_subcommands({})) {
      known.push_back(each->get_name());
    }
  }
  const auto nearest = internal::NearestOf(first, known);
  return absl::StrCat(
      first, ": not expected here",
      nearest.has_value() ? "; did you mean `" + *nearest + "`?" : "", ask);
}

void AddCommands(CLI::App& cli, CommandLine& line) {
  cli.failure_message(UsageError);
  cli.footer(kFooter);
  cli.require_subcommand(1);
  AddRun(cli, line);
  AddVerify(cli, line);
  AddInfer(cli, line);
  AddValidate(cli, line);
  AddDescribe(cli, line);
  AddDoctor(cli, line);
  AddInspection(cli, line);
  AddReports(cli, line);
  AddHand(cli, line);
  AddConformance(cli, line);
  AddCompletion(cli, line);
}

}  // namespace penstock::client
