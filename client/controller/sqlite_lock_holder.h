// Who holds the write lock of a SQLite store, for an error that can be acted
// upon.
#pragma once

#include <absl/status/status.h>

#include <string>

namespace penstock::client {

// Adds to the error of a store that another process keeps locked (UNAVAILABLE)
// which process that is, whether it is stopped, and what to do. Others are
// returned as they are.
//
// It looks at /proc only. Opening a file of the store would be wrong: closing
// it again would drop every lock that this process has on it.
absl::Status NameLockHolder(const std::string& path,
                            const absl::Status& status);

}  // namespace penstock::client
