// What an error of a worker means for the controller: one list.
#pragma once

#include <absl/status/status.h>

namespace penstock::client {

enum class Verdict {
  // It says nothing about what the worker did: ask the same again.
  kAskAgain,
  // Not now, nothing was done: ask after the retry delay.
  kAskLater,
  // This life of the connector is over: delete, reopen, replay.
  kReopen,
  // Somebody else leads, or says so: look into the store.
  kAskStore,
  // A person must decide.
  kEnd,
};

// Requires: not OK.
Verdict Judge(const absl::Status& status);

// Of an error that a person must see to (kEnd), met while a connector was being
// opened: whether it may be mended outside of the pipeline, so that the same
// open goes well later.
bool MayBeMendedOutside(const absl::Status& status);

// Of the reasons to reopen: whether the connector itself is in trouble, rather
// than having vanished with its worker or to another writer, or waiting for
// room on a disk, however long that takes.
bool IsConnectorsFault(const absl::Status& status);

}  // namespace penstock::client
