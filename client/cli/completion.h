// Shell completion for `penstock`, made of its own subcommands and options.
#pragma once

#include <string>

namespace CLI {
class App;
}  // namespace CLI

namespace penstock::client {

// A script for bash (`source <(penstock completion bash)`); zsh takes it behind
// `bashcompinit`. It completes subcommands, their options, values that are one
// of a few, and file names.
std::string CompletionScript(const CLI::App& cli);

}  // namespace penstock::client
