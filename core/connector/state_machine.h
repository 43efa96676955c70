// The life of a connector: `protocol.md`'s transition table, in one place.
#pragma once

#include <absl/status/status.h>
#include <absl/strings/string_view.h>

#include <string>
#include <vector>

namespace penstock::core {

enum class ConnectorState {
  kOpened,
  kReplaying,
  kReplayed,
  kRunning,
  kPaused,
  kFailed,
  kClosed,
};

enum class ReaderVerb { kReplay, kExtend, kPause, kQueue, kDisconnect };

absl::string_view StateName(ConnectorState state);
absl::string_view VerbName(ReaderVerb verb);

// Whether the verb may be given in `state`.
//
//               Replay       Extend     Pause    Queue    Disconnect
//   OPENED      REPLAYING    RUNNING    -        -        CLOSED
//   REPLAYING   waits        -          -        -        CLOSED
//   REPLAYED    REPLAYING    RUNNING    -        -        CLOSED
//   RUNNING     -            -          PAUSED   yes      CLOSED
//   PAUSED      -            RUNNING    -        yes      CLOSED
//   FAILED      -            -          -        -        CLOSED
//   CLOSED      -            -          -        -        again
//
// Errors: ILLEGAL_TRANSITION naming the state and the verbs it allows
// (metadata "state", "allowed"). `has_reader` false: an output-only connector,
// where reader verbs other than Disconnect are illegal.
absl::Status CheckTransition(ConnectorState state, ReaderVerb verb,
                             bool has_reader = true);
std::vector<ReaderVerb> AllowedVerbs(ConnectorState state,
                                     bool has_reader = true);

}  // namespace penstock::core
