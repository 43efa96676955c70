#include "tests/support/recording_log_sink.h"

namespace penstock::core {

void RecordingLogSink::Send(const LogEntry& entry) {
  Record record;
  record.severity = entry.severity;
  record.message = std::string(entry.message);
  record.fields.assign(entry.fields.begin(), entry.fields.end());
  MutexLock lock(mu_);
  records_.push_back(std::move(record));
}

std::vector<RecordingLogSink::Record> RecordingLogSink::records() const {
  MutexLock lock(mu_);
  return records_;
}

}  // namespace penstock::core
