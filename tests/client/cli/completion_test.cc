#include "client/cli/completion.h"

#include "client/cli/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <CLI/CLI.hpp>

namespace penstock::client {
namespace {

using ::testing::HasSubstr;

class CompletionTest : public ::testing::Test {
 protected:
  CompletionTest() { AddCommands(cli_, options_); }

  CommandLine options_;
  CLI::App cli_;
};

TEST_F(CompletionTest, EveryCommandIsCompleted) {
  const std::string script = CompletionScript(cli_);
  for (const CLI::App* command :
       cli_.get_subcommands([](const CLI::App*) { return true; })) {
    EXPECT_THAT(script, HasSubstr(command->get_name() + ") [[ $word == -* ]]"));
  }
}

TEST_F(CompletionTest, WhatIsUnknownIsSaidBeforeWhatIsMissing) {
  const auto said = [this](std::vector<std::string> arguments) {
    try {
      cli_.parse(std::move(arguments));
    } catch (const CLI::ParseError& error) {
      return UsageError(&cli_, error);
    }
    return std::string("understood");
  };
  EXPECT_THAT(said({"--fromat", "doctor"}),
              HasSubstr("--fromat: not expected here"));
  EXPECT_THAT(said({"vaildate"}), HasSubstr("did you mean `validate`?"));
  EXPECT_THAT(said({"--outputt", "run"}),
              HasSubstr("--outputt: not expected here; did you mean "
                        "`--output`?"));
  EXPECT_THAT(said({"run"}), HasSubstr("file is required"));
}

TEST_F(CompletionTest, ValuesThatAreOneOfAFewAreCompleted) {
  EXPECT_THAT(CompletionScript(cli_),
              HasSubstr("describe:--output) words='table json schema' ;;"));
}

TEST_F(CompletionTest, EveryCommandSaysWhatItIsForAndHasHelp) {
  for (const CLI::App* command :
       cli_.get_subcommands([](const CLI::App*) { return true; })) {
    EXPECT_GE(command->get_description().size(), 15U) << command->get_name();
    for (const CLI::Option* option : command->get_options()) {
      EXPECT_FALSE(option->get_description().empty())
          << command->get_name() << " " << option->get_name();
    }
  }
}

TEST_F(CompletionTest, CommandsThatReportSpeakJson) {
  for (const char* name : {"top", "errors", "checkpoints", "doctor", "describe",
                           "validate", "connectors"}) {
    EXPECT_NE(cli_.get_subcommand(name)->get_option_no_throw("--output"),
              nullptr)
        << name;
  }
}

}  // namespace
}  // namespace penstock::client
