// How a worker process ends though its threads do not.
#pragma once

#include <absl/time/time.h>

namespace penstock::server {

// From the end of the drain, or its deadline, to that of the process. Needed
// are half: released steps have two seconds, calls of clients one, the admin
// port takes two to close.
inline constexpr absl::Duration kEndMax = absl::Seconds(10);

// From now on SIGTERM and SIGINT end the process at once, with kInterrupted.
void EndOnSignals();

// Ends the process after `delay` with kCallHangs, whatever its threads do: one
// that is inside a call of the operating system, or of a library, can neither
// be interrupted nor be waited for (INV-5). As a crash, it loses nothing. An
// earlier end stays. `as_json`: how that is logged.
void EndAtTheLatestAfter(absl::Duration delay, bool as_json);

}  // namespace penstock::server
