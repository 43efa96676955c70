// Structured logging.
//
//   LOG(INFO) << "listening on " << address;
//   LOG(WARNING).With("connector", name).With("step", step) << "retrying";
//
// An event below the level in force evaluates none of its operands. FATAL is
// always written and then aborts. Log or return an error, never both. Secrets
// are never logged (INV-10).
#pragma once

#include <absl/strings/string_view.h>
#include <absl/time/time.h>

#include <memory>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace penstock::core {

enum class LogSeverity { kInfo = 0, kWarning = 1, kError = 2, kFatal = 3 };

// "info", "warning", "error", "fatal". Lifetime: static storage.
absl::string_view LogSeverityName(LogSeverity severity);
// Inverse of LogSeverityName, for flags; nullopt for any other text.
std::optional<LogSeverity> ParseLogSeverity(absl::string_view name);

struct LogField {
  std::string key;
  std::string value;
  // True for numbers and booleans, which JSON shows without quotes.
  bool bare = false;
};

// One event. Lifetime: the views hold only during LogSink::Send.
struct LogEntry {
  LogSeverity severity = LogSeverity::kInfo;
  absl::Time time;
  const char* file = "";
  int line = 0;
  absl::string_view message;
  std::span<const LogField> fields;
};

// Where log events go.
// Owner:     shared by the process-wide setting and by the sends under way.
// Threads:   thread-safe; implementations must be.
class LogSink {
 public:
  virtual ~LogSink() = default;
  // Blocks: as long as the place it writes to does; takes no lock of ours.
  // Must not log.
  virtual void Send(const LogEntry& entry) = 0;
};

// "I 2024-01-02T03:04:05.678901Z file.cc:12] message key=value" and newline.
std::string FormatText(const LogEntry& entry);
// One JSON object without newline: time, severity, message, source, then the
// fields under their own keys; a key that would clash gets the prefix "field_".
// Bytes that are not UTF-8 are replaced by U+FFFD.
std::string FormatJson(const LogEntry& entry);

// Write one line per event to a file descriptor, which outlives the sink.
// A line is one write(2), so lines of several threads do not mix.
std::shared_ptr<LogSink> MakeTextLogSink(int file_descriptor);
std::shared_ptr<LogSink> MakeJsonLogSink(int file_descriptor);

// Replaces the process-wide sink (at start: text to standard error).
// Threads: thread-safe. Sends under way finish on the sink they began on.
// Returns the sink replaced. Requires: `sink` is not null.
std::shared_ptr<LogSink> SetLogSink(std::shared_ptr<LogSink> sink);

// Events below `severity` are dropped from now on. At start: kInfo.
void SetLogLevel(LogSeverity severity);
LogSeverity GetLogLevel();

// Installs a sink for a scope; for tests.
// Threads: confined to the test's thread; scopes nest.
class ScopedLogSink {
 public:
  explicit ScopedLogSink(std::shared_ptr<LogSink> sink);
  ScopedLogSink(const ScopedLogSink&) = delete;
  ScopedLogSink& operator=(const ScopedLogSink&) = delete;
  ~ScopedLogSink();

 private:
  std::shared_ptr<LogSink> previous_;
};

namespace internal {

bool LogEnabled(LogSeverity severity);

// Builds one event; the destructor sends it.
// Threads: confined to the statement that made it.
class LogMessage {
 public:
  LogMessage(LogSeverity severity, const char* file, int line)
      : severity_(severity), file_(file), line_(line) {}
  LogMessage(const LogMessage&) = delete;
  LogMessage& operator=(const LogMessage&) = delete;
  ~LogMessage();

  template <typename T>
  LogMessage& operator<<(const T& value) {
    text_ << value;
    return *this;
  }

  // Adds a field. `value` is anything that can be streamed.
  template <typename T>
  LogMessage& With(absl::string_view key, const T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      AddField(key, value ? "true" : "false", true);
    } else if constexpr (std::is_integral_v<T> && sizeof(T) > 1) {
      AddField(key, std::to_string(value), true);
    } else {
      std::ostringstream text;
      text << value;
      AddField(key, std::move(text).str(), false);
    }
    return *this;
  }

  LogMessage& self() { return *this; }

 protected:
  void Send();

 private:
  void AddField(absl::string_view key, std::string value, bool bare);

  const LogSeverity severity_;
  const char* const file_;
  const int line_;
  std::ostringstream text_;
  std::vector<LogField> fields_;
};

// As LogMessage, at kFatal; then aborts.
class FatalLogMessage : public LogMessage {
 public:
  FatalLogMessage(const char* file, int line)
      : LogMessage(LogSeverity::kFatal, file, line) {}
  [[noreturn]] ~FatalLogMessage();
};

// Turns the streaming expression into void: binds weaker than `<<`.
struct Voidify {
  void operator&&(const LogMessage&) const {}
};

}  // namespace internal
}  // namespace penstock::core

#define PENSTOCK_LOG_AT(severity)                                            \
  !::penstock::core::internal::LogEnabled(                                   \
      ::penstock::core::LogSeverity::severity)                               \
      ? static_cast<void>(0)                                                 \
      : ::penstock::core::internal::Voidify() &&                             \
            ::penstock::core::internal::LogMessage(                          \
                ::penstock::core::LogSeverity::severity, __FILE__, __LINE__) \
                .self()
#define PENSTOCK_LOG_INFO PENSTOCK_LOG_AT(kInfo)
#define PENSTOCK_LOG_WARNING PENSTOCK_LOG_AT(kWarning)
#define PENSTOCK_LOG_ERROR PENSTOCK_LOG_AT(kError)
#define PENSTOCK_LOG_FATAL \
  ::penstock::core::internal::FatalLogMessage(__FILE__, __LINE__).self()

#define LOG(severity) PENSTOCK_LOG_##severity
