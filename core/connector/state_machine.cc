#include "core/connector/state_machine.h"

#include "core/base/error.h"

#include <absl/status/status.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <absl/strings/string_view.h>

#include <array>
#include <string>
#include <vector>

namespace penstock::core {
namespace {

constexpr std::array kVerbs = {ReaderVerb::kReplay, ReaderVerb::kExtend,
                               ReaderVerb::kPause, ReaderVerb::kQueue,
                               ReaderVerb::kDisconnect};

// The table itself. Disconnect stands in every row.
bool IsAllowed(ConnectorState state, ReaderVerb verb) {
  switch (verb) {
    case ReaderVerb::kReplay:
      return state == ConnectorState::kOpened ||
             state == ConnectorState::kReplaying ||
             state == ConnectorState::kReplayed;
    case ReaderVerb::kExtend:
      return state == ConnectorState::kOpened ||
             state == ConnectorState::kReplayed ||
             state == ConnectorState::kPaused;
    case ReaderVerb::kPause:
      return state == ConnectorState::kRunning;
    case ReaderVerb::kQueue:
      return state == ConnectorState::kRunning ||
             state == ConnectorState::kPaused;
    case ReaderVerb::kDisconnect:
      return true;
  }
  return false;
}

std::string AllowedText(ConnectorState state, bool has_reader) {
  return absl::StrJoin(AllowedVerbs(state, has_reader), ", ",
                       [](std::string* out, ReaderVerb verb) {
                         absl::StrAppend(out, VerbName(verb));
                       });
}

}  // namespace

absl::string_view StateName(ConnectorState state) {
  switch (state) {
    case ConnectorState::kOpened:
      return "OPENED";
    case ConnectorState::kReplaying:
      return "REPLAYING";
    case ConnectorState::kReplayed:
      return "REPLAYED";
    case ConnectorState::kRunning:
      return "RUNNING";
    case ConnectorState::kPaused:
      return "PAUSED";
    case ConnectorState::kFailed:
      return "FAILED";
    case ConnectorState::kClosed:
      return "CLOSED";
  }
  return "UNKNOWN";
}

absl::string_view VerbName(ReaderVerb verb) {
  switch (verb) {
    case ReaderVerb::kReplay:
      return "Replay";
    case ReaderVerb::kExtend:
      return "Extend";
    case ReaderVerb::kPause:
      return "Pause";
    case ReaderVerb::kQueue:
      return "Queue";
    case ReaderVerb::kDisconnect:
      return "Disconnect";
  }
  return "unknown verb";
}

absl::Status CheckTransition(ConnectorState state, ReaderVerb verb,
                             bool has_reader) {
  const bool is_reader_verb = verb != ReaderVerb::kDisconnect;
  if (IsAllowed(state, verb) && (has_reader || !is_reader_verb)) {
    return absl::OkStatus();
  }
  const std::string allowed = AllowedText(state, has_reader);
  return MakeError(
      Reason::ILLEGAL_TRANSITION,
      absl::StrCat(VerbName(verb), " is not allowed in state ",
                   StateName(state),
                   has_reader ? "" : " of a connector without a source",
                   "; allowed: ", allowed),
      {{"state", std::string(StateName(state))}, {"allowed", allowed}});
}

std::vector<ReaderVerb> AllowedVerbs(ConnectorState state, bool has_reader) {
  std::vector<ReaderVerb> allowed;
  for (const ReaderVerb verb : kVerbs) {
    const bool is_reader_verb = verb != ReaderVerb::kDisconnect;
    if (is_reader_verb && !has_reader) continue;
    if (IsAllowed(state, verb)) allowed.push_back(verb);
  }
  return allowed;
}

}  // namespace penstock::core
