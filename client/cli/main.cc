// penstock: the command for people.
#include "client/cli/command_line.h"
#include "client/cli/completion.h"
#include "client/cli/conformance_command.h"
#include "client/cli/exit_code.h"
#include "client/cli/log_level_command.h"
#include "core/base/version.h"

#include <CLI/CLI.hpp>

#include <csignal>
#include <iostream>

namespace {

using penstock::client::CliExit;
using penstock::client::CommandLine;

CliExit RunChosen(const CLI::App& cli, const CommandLine& options) {
  if (cli.got_subcommand("run")) {
    return penstock::client::RunPipeline(options.run);
  }
  if (cli.got_subcommand("verify")) {
    return penstock::client::RunVerify(options.verify);
  }
  if (cli.got_subcommand("infer")) {
    return penstock::client::RunInfer(options.infer);
  }
  if (cli.got_subcommand("validate")) {
    return penstock::client::RunValidate(options.validate);
  }
  if (cli.got_subcommand("describe")) {
    return penstock::client::RunDescribe(options.describe);
  }
  if (cli.got_subcommand("doctor")) {
    return penstock::client::RunDoctor(options.doctor);
  }
  if (cli.got_subcommand("errors")) {
    return penstock::client::RunErrors(options.report);
  }
  if (cli.got_subcommand("checkpoints")) {
    return penstock::client::RunCheckpoints(options.report);
  }
  if (const auto verb = penstock::client::HandVerbOf(cli)) {
    return penstock::client::RunHand(*verb, options.hand);
  }
  if (cli.got_subcommand("conformance")) {
    return penstock::client::RunConformanceSuite(options.conformance);
  }
  if (cli.got_subcommand("completion")) {
    std::cout << penstock::client::CompletionScript(cli);
    return CliExit::kOk;
  }
  if (cli.got_subcommand("log-level")) {
    return penstock::client::RunLogLevel(options.worker, options.log_level);
  }
  if (cli.got_subcommand("drain")) {
    return penstock::client::RunDrain(options.drain);
  }
  // Has nothing to clean up: a signal ends it amid a look, too.
  if (cli.got_subcommand("top")) {
    return penstock::client::RunTop(options.report);
  }
  // Taken by the commands' own loops; gRPC's threads never see them.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  if (cli.got_subcommand("connectors")) {
    return penstock::client::RunConnectors(options.worker, options.connector,
                                           options.connectors_format);
  }
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return penstock::client::RunWatch(options.worker, options.watch_connectors,
                                    options.watch_kinds,
                                    options.watch_events_max);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App cli("penstock drives pipelines of connectors.");
  cli.set_version_flag("--version", penstock::core::kVersion);
  CommandLine options;
  penstock::client::AddCommands(cli, options);
  try {
    cli.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = cli.exit(error);
    return code == 0 ? 0 : static_cast<int>(CliExit::kUsage);
  }
  return static_cast<int>(RunChosen(cli, options));
}
