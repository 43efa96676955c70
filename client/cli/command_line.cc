#include "client/cli/command_line.h"

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
    "8 stopped with steps that were not checkpointed, 130 interrupted.\n";

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
  run->add_flag("--insecure", options.run.insecure,
                "Plaintext to workers on other hosts");
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
  verify->add_option("--output", options.verify.format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
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

void AddWorkerTarget(CLI::App& command, CommandLine& options) {
  command
      .add_option("--worker", options.worker.target,
                  "The worker: host:port or unix:/path")
      ->capture_default_str();
  command.add_flag("--insecure", options.worker.insecure,
                   "Plaintext to another host");
}

void AddInspection(CLI::App& cli, CommandLine& options) {
  CLI::App* validate = cli.add_subcommand(
      "validate", "Check a pipeline file; nothing it names is touched.");
  validate->add_option("file", options.validate_file, "The pipeline file")
      ->required();

  CLI::App* connectors = cli.add_subcommand(
      "connectors", "List a worker's connectors, or show one in full.");
  connectors->add_option("name", options.connector, "One connector");
  connectors->add_option("--output", options.connectors_format, "table or json")
      ->check(CLI::IsMember({"table", "json"}))
      ->capture_default_str();
  AddWorkerTarget(*connectors, options);

  CLI::App* watch = cli.add_subcommand(
      "watch", "Print a worker's events, one JSON object a line.");
  watch->add_option("connectors", options.watch_connectors,
                    "Only these connectors");
  watch->add_option("--kind", options.watch_kinds,
                    "Only these kinds, for example health, completion "
                    "(repeatable)");
  watch->add_option("--events", options.watch_events_max,
                    "End after so many events");
  AddWorkerTarget(*watch, options);
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

void AddOutput(CLI::App& command, std::string& format) {
  command.add_option("--output", format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
}

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
    AddOutput(*command, hand.format);
    command->add_flag("--insecure", hand.insecure,
                      "Plaintext to workers on other hosts");
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
  drain->add_flag("--insecure", options.drain.insecure,
                  "Plaintext to another host");
  drain
      ->add_option("--deadline", options.drain.deadline,
                   "What is left then is dropped, and comes again")
      ->capture_default_str();
  AddOutput(*drain, options.drain.format);
}

void AddConformance(CLI::App& cli, CommandLine& options) {
  CLI::App* const conformance = cli.add_subcommand(
      "conformance",
      "Check whether a server keeps the promises of the protocol, one by one.");
  ConformanceOptions& suite = options.conformance;
  conformance
      ->add_option("--target", suite.target,
                   "The server: host:port or unix:/path")
      ->capture_default_str();
  conformance->add_flag("--insecure", suite.insecure,
                        "Plaintext to another host");
  conformance->add_option(
      "--directory", suite.directory,
      "Where the server finds its input and may write; both sides must see it "
      "under this name (default: a new one below $TMPDIR, removed in the end)");
  conformance->add_option("--only", suite.only,
                          "Only checks with this in their name, such as 6/");
  conformance->add_flag("--list", suite.list, "Only list them");
  AddOutput(*conformance, suite.format);
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

void AddCommands(CLI::App& cli, CommandLine& line) {
  cli.footer(kFooter);
  cli.require_subcommand(1);
  AddRun(cli, line);
  AddVerify(cli, line);
  AddInspection(cli, line);
  AddHand(cli, line);
  AddConformance(cli, line);
  AddCompletion(cli, line);
}

}  // namespace penstock::client
