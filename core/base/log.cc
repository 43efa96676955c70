#include "core/base/log.h"

#include "core/base/check.h"
#include "core/base/clock.h"
#include "core/base/json_text.h"
#include "core/base/mutex.h"

#include <absl/strings/str_cat.h>

#include <unistd.h>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <set>
#include <utility>

namespace penstock::core {
namespace {

constexpr std::array<absl::string_view, 4> kSeverityNames = {"info", "warning",
                                                             "error", "fatal"};

// Blocks: as the descriptor does. A line that cannot be written is lost: there
// is nobody to tell.
void WriteLine(int file_descriptor, absl::string_view line) {
  while (!line.empty()) {
    const ssize_t written = ::write(file_descriptor, line.data(), line.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return;
    }
    line.remove_prefix(static_cast<size_t>(written));
  }
}

// Formats with `Format` and writes a line to a file descriptor.
// Threads: thread-safe: it holds nothing that changes.
template <std::string (*Format)(const LogEntry&)>
class DescriptorLogSink final : public LogSink {
 public:
  explicit DescriptorLogSink(int file_descriptor)
      : file_descriptor_(file_descriptor) {}
  void Send(const LogEntry& entry) override {
    std::string line = Format(entry);
    if (line.empty() || line.back() != '\n') line.push_back('\n');
    WriteLine(file_descriptor_, line);
  }

 private:
  const int file_descriptor_;
};

// The process-wide setting. Never destroyed, so that threads that outlive
// main, and destructors of static objects, may log.
class LogSettings {
 public:
  static LogSettings& Get() {
    static LogSettings& settings = *new LogSettings();
    return settings;
  }

  std::shared_ptr<LogSink> sink() ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(mu_);
    return sink_;
  }
  std::shared_ptr<LogSink> Exchange(std::shared_ptr<LogSink> sink)
      ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(mu_);
    return std::exchange(sink_, std::move(sink));
  }

 private:
  LogSettings() : sink_(MakeTextLogSink(STDERR_FILENO)) {}

  Mutex mu_;
  std::shared_ptr<LogSink> sink_ ABSL_GUARDED_BY(mu_);
};

std::atomic<int> g_level{static_cast<int>(LogSeverity::kInfo)};

absl::string_view BaseName(absl::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == absl::string_view::npos ? path : path.substr(slash + 1);
}

// An event is for people: what is longer is data that strayed into it.
constexpr size_t kMessageBytesMax = 8192;
constexpr size_t kFieldBytesMax = 2048;

// Cuts `text` at a character's end and says how much went.
void Cap(size_t bytes_max, std::string& text) {
  if (text.size() <= bytes_max) return;
  size_t end = bytes_max;
  const auto continues = [&](size_t at) {
    return (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
  };
  while (end > 0 && bytes_max - end < 4 && continues(end)) --end;
  const size_t cut = text.size() - end;
  text.resize(end);
  absl::StrAppend(&text, "... (", cut, " bytes more)");
}

// Text lines stay one line: control characters are escaped.
void AppendOneLine(absl::string_view text, std::string& to) {
  for (const char c : text) {
    if (c == '\n') {
      to.append("\\n");
    } else if (static_cast<unsigned char>(c) < 0x20 && c != '\t') {
      to.push_back('?');
    } else {
      to.push_back(c);
    }
  }
}

}  // namespace

absl::string_view LogSeverityName(LogSeverity severity) {
  return kSeverityNames[static_cast<size_t>(severity)];
}

std::optional<LogSeverity> ParseLogSeverity(absl::string_view name) {
  for (size_t i = 0; i < kSeverityNames.size(); ++i) {
    if (kSeverityNames[i] == name) return static_cast<LogSeverity>(i);
  }
  return std::nullopt;
}

std::string FormatText(const LogEntry& entry) {
  static constexpr absl::string_view kLetters = "IWEF";
  std::string line(1, kLetters[static_cast<size_t>(entry.severity)]);
  absl::StrAppend(
      &line, " ",
      absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", entry.time, absl::UTCTimeZone()),
      " ", BaseName(entry.file), ":", entry.line, "] ");
  AppendOneLine(entry.message, line);
  for (const LogField& field : entry.fields) {
    absl::StrAppend(&line, " ", field.key, "=");
    const bool plain = field.bare || (!field.value.empty() &&
                                      field.value.find_first_of(" =\"\n\t\r") ==
                                          std::string::npos);
    if (plain) {
      AppendOneLine(field.value, line);
    } else {
      AppendJsonString(field.value, line);
    }
  }
  line.push_back('\n');
  return line;
}

std::string FormatJson(const LogEntry& entry) {
  std::string line = "{\"time\":\"";
  absl::StrAppend(
      &line,
      absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", entry.time, absl::UTCTimeZone()),
      "\",\"severity\":\"", LogSeverityName(entry.severity), "\",\"message\":");
  AppendJsonString(entry.message, line);
  absl::StrAppend(&line, ",\"source\":");
  AppendJsonString(absl::StrCat(BaseName(entry.file), ":", entry.line), line);
  std::set<std::string> keys = {"time", "severity", "message", "source"};
  for (const LogField& field : entry.fields) {
    std::string key = field.key;
    while (!keys.insert(key).second) key.insert(0, "field_");
    line.push_back(',');
    AppendJsonString(key, line);
    line.push_back(':');
    if (field.bare) {
      line.append(field.value);
    } else {
      AppendJsonString(field.value, line);
    }
  }
  line.push_back('}');
  return line;
}

std::shared_ptr<LogSink> MakeTextLogSink(int file_descriptor) {
  return std::make_shared<DescriptorLogSink<FormatText>>(file_descriptor);
}

std::shared_ptr<LogSink> MakeJsonLogSink(int file_descriptor) {
  return std::make_shared<DescriptorLogSink<FormatJson>>(file_descriptor);
}

std::shared_ptr<LogSink> SetLogSink(std::shared_ptr<LogSink> sink) {
  CHECK(sink != nullptr);
  return LogSettings::Get().Exchange(std::move(sink));
}

void SetLogLevel(LogSeverity severity) {
  g_level.store(static_cast<int>(severity), std::memory_order_relaxed);
}

LogSeverity GetLogLevel() {
  return static_cast<LogSeverity>(g_level.load(std::memory_order_relaxed));
}

ScopedLogSink::ScopedLogSink(std::shared_ptr<LogSink> sink)
    : previous_(SetLogSink(std::move(sink))) {}

ScopedLogSink::~ScopedLogSink() { SetLogSink(std::move(previous_)); }

namespace internal {

bool LogEnabled(LogSeverity severity) {
  return static_cast<int>(severity) >= g_level.load(std::memory_order_relaxed);
}

LogMessage::~LogMessage() { Send(); }

void LogMessage::Send() {
  std::string text = std::move(text_).str();
  Cap(kMessageBytesMax, text);
  LogEntry entry;
  entry.severity = severity_;
  entry.time = RealClock().Now();
  entry.file = file_;
  entry.line = line_;
  entry.message = text;
  entry.fields = fields_;
  LogSettings::Get().sink()->Send(entry);
}

void LogMessage::AddField(absl::string_view key, std::string value, bool bare) {
  if (!bare) Cap(kFieldBytesMax, value);
  fields_.push_back(LogField{std::string(key), std::move(value), bare});
}

FatalLogMessage::~FatalLogMessage() {
  Send();
  std::abort();
}

}  // namespace internal
}  // namespace penstock::core
