// A LogSink that only remembers, for use with ScopedLogSink.
#pragma once

#include "core/base/log.h"
#include "core/base/mutex.h"

#include <string>
#include <utility>
#include <vector>

namespace penstock::core {

// Threads: thread-safe.
class RecordingLogSink final : public LogSink {
 public:
  struct Record {
    LogSeverity severity;
    std::string message;
    std::vector<LogField> fields;
  };

  void Send(const LogEntry& entry) override ABSL_LOCKS_EXCLUDED(mu_);
  std::vector<Record> records() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  mutable Mutex mu_;
  std::vector<Record> records_ ABSL_GUARDED_BY(mu_);
};

}  // namespace penstock::core
