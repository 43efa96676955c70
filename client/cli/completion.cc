#include "client/cli/completion.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>
#include <absl/strings/strip.h>
#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace penstock::client {
namespace {

constexpr char kHead[] =
    "# penstock: completion for bash; zsh: autoload -U +X bashcompinit\n"
    "_penstock() {\n"
    "  local word=${COMP_WORDS[COMP_CWORD]} "
    "before=${COMP_WORDS[COMP_CWORD-1]}\n"
    "  local words=\n"
    "  case ${COMP_WORDS[1]}:$before in\n";
constexpr char kMiddle[] =
    "  esac\n"
    "  if [ \"$COMP_CWORD\" -gt 1 ]; then\n"
    "    case ${COMP_WORDS[1]} in\n";
constexpr char kTail[] =
    "  fi\n"
    "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
    "}\n"
    "complete -o default -F _penstock penstock\n";

// `{a,b}` of a check, as words; empty if it is none.
std::vector<std::string> ChoicesOf(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const size_t begin = type.find('{');
  const size_t end = type.rfind('}');
  if (begin == std::string::npos || end == std::string::npos) return {};
  return absl::StrSplit(type.substr(begin + 1, end - begin - 1), ',');
}

}  // namespace

std::string CompletionScript(const CLI::App& cli) {
  std::string script = kHead;
  std::vector<std::string> names;
  std::string options_of;
  const auto any = [](const CLI::App*) { return true; };
  for (const CLI::App* command : cli.get_subcommands(any)) {
    names.push_back(command->get_name());
    std::vector<std::string> options;
    for (const CLI::Option* option : command->get_options()) {
      if (!option->nonpositional()) continue;
      const std::string name = absl::StrCat("--", option->get_lnames().front());
      options.push_back(name);
      const std::vector<std::string> choices = ChoicesOf(*option);
      if (choices.empty()) continue;
      absl::StrAppend(&script, "    ", command->get_name(), ":", name,
                      ") words='", absl::StrJoin(choices, " "), "' ;;\n");
    }
    absl::StrAppend(&options_of, "      ", command->get_name(),
                    ") [[ $word == -* ]] && words='",
                    absl::StrJoin(options, " "), "' ;;\n");
  }
  absl::StrAppend(&script, kMiddle, options_of, "    esac\n  else\n    words='",
                  absl::StrJoin(names, " "), "'\n", kTail);
  return script;
}

}  // namespace penstock::client
