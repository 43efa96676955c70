#include "core/base/log.h"

#include "core/base/thread.h"
#include "tests/support/recording_log_sink.h"

#include <absl/strings/str_split.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

namespace penstock::core {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class LogTest : public ::testing::Test {
 protected:
  ~LogTest() override { SetLogLevel(LogSeverity::kInfo); }

  const std::shared_ptr<RecordingLogSink> sink_ =
      std::make_shared<RecordingLogSink>();
  const ScopedLogSink scope_{sink_};
};

TEST_F(LogTest, SendsSeverityMessageAndFieldsInOrder) {
  LOG(WARNING).With("connector", "a").With("step", 7).With("late", true)
      << "retry " << 3;
  ASSERT_THAT(sink_->records(), SizeIs(1));
  const RecordingLogSink::Record record = sink_->records()[0];
  EXPECT_EQ(record.severity, LogSeverity::kWarning);
  EXPECT_EQ(record.message, "retry 3");
  ASSERT_THAT(record.fields, SizeIs(3));
  EXPECT_EQ(record.fields[0].key, "connector");
  EXPECT_EQ(record.fields[0].value, "a");
  EXPECT_FALSE(record.fields[0].bare);
  EXPECT_EQ(record.fields[1].value, "7");
  EXPECT_TRUE(record.fields[1].bare);
  EXPECT_EQ(record.fields[2].value, "true");
}

TEST_F(LogTest, WhatIsLongIsCutAtACharacterAndSaysHowMuchWent) {
  // The end of what is kept lies in the middle of a character.
  const std::string text =
      "x" + std::string(10'000, 'a').replace(8190, 1, "\u00e9");
  LOG(INFO).With("payload", std::string(5'000, 'p')) << text;
  ASSERT_THAT(sink_->records(), SizeIs(1));
  const RecordingLogSink::Record record = sink_->records()[0];
  EXPECT_EQ(record.message,
            "x" + std::string(8'190, 'a') + "... (1811 bytes more)");
  ASSERT_THAT(record.fields, SizeIs(1));
  EXPECT_EQ(record.fields[0].value,
            std::string(2'048, 'p') + "... (2952 bytes more)");
}

TEST_F(LogTest, BelowTheLevelNothingIsEvaluatedOrSent) {
  SetLogLevel(LogSeverity::kError);
  int fields = 0;
  int texts = 0;
  LOG(WARNING).With("n", ++fields) << ++texts;
  EXPECT_EQ(fields + texts, 0);
  EXPECT_THAT(sink_->records(), SizeIs(0));
  LOG(ERROR) << "sent";
  EXPECT_THAT(sink_->records(), SizeIs(1));
}

TEST_F(LogTest, LevelCanBeRaisedAndLowered) {
  SetLogLevel(LogSeverity::kFatal);
  EXPECT_EQ(GetLogLevel(), LogSeverity::kFatal);
  LOG(ERROR) << "dropped";
  SetLogLevel(LogSeverity::kInfo);
  LOG(INFO) << "sent";
  ASSERT_THAT(sink_->records(), SizeIs(1));
  EXPECT_EQ(sink_->records()[0].severity, LogSeverity::kInfo);
}

TEST_F(LogTest, ScopesNestAndRestore) {
  const auto inner = std::make_shared<RecordingLogSink>();
  {
    const ScopedLogSink scope(inner);
    LOG(INFO) << "inner";
  }
  LOG(INFO) << "outer";
  EXPECT_THAT(inner->records(), SizeIs(1));
  EXPECT_THAT(sink_->records(), SizeIs(1));
}

TEST_F(LogTest, SinkMayBeReplacedWhileThreadsLog) {
  {
    std::vector<std::unique_ptr<Thread>> threads;
    for (int t = 0; t < 2; ++t) {
      threads.push_back(
          std::make_unique<Thread>("log", [](const std::stop_token&) {
            for (int i = 0; i < 500; ++i) LOG(INFO).With("i", i) << "line";
          }));
    }
    for (int i = 0; i < 200; ++i) SetLogSink(SetLogSink(sink_));
  }
  EXPECT_THAT(sink_->records(), SizeIs(1000));
}

TEST(LogSeverityTest, NamesParseBack) {
  for (const LogSeverity s : {LogSeverity::kInfo, LogSeverity::kWarning,
                              LogSeverity::kError, LogSeverity::kFatal}) {
    EXPECT_EQ(ParseLogSeverity(LogSeverityName(s)), s);
  }
  EXPECT_EQ(ParseLogSeverity("INFO"), std::nullopt);
}

TEST(LogDeathTest, FatalIsWrittenWhateverTheLevelAndAborts) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        SetLogLevel(LogSeverity::kFatal);
        LOG(FATAL).With("shard", 3) << "no way";
      },
      "F .*log_test.cc:.*no way shard=3");
}

LogEntry MakeEntry(absl::string_view message,
                   const std::vector<LogField>& fields) {
  LogEntry entry;
  entry.severity = LogSeverity::kError;
  entry.time = absl::FromUnixMicros(1704164645678901);
  entry.file = "core/x/file.cc";
  entry.line = 12;
  entry.message = message;
  entry.fields = fields;
  return entry;
}

TEST(FormatTextTest, IsOneLineWithQuotedFieldsWhereNeeded) {
  const std::vector<LogField> fields = {
      {"n", "7", true}, {"path", "/a", false}, {"why", "a b", false}};
  EXPECT_EQ(FormatText(MakeEntry("two\nlines", fields)),
            "E 2024-01-02T03:04:05.678901Z file.cc:12] two\\nlines n=7 "
            "path=/a why=\"a b\"\n");
}

TEST(FormatJsonTest, KeepsNumbersBareAndEscapesText) {
  const std::vector<LogField> fields = {{"n", "7", true},
                                        {"who", "a\"b", false}};
  EXPECT_EQ(FormatJson(MakeEntry("m\n", fields)),
            "{\"time\":\"2024-01-02T03:04:05.678901Z\",\"severity\":\"error\","
            "\"message\":\"m\\n\",\"source\":\"file.cc:12\",\"n\":7,"
            "\"who\":\"a\\\"b\"}");
}

TEST(FormatJsonTest, KeysStayUnique) {
  const std::vector<LogField> fields = {
      {"time", "1", true}, {"k", "2", true}, {"k", "3", true}};
  EXPECT_THAT(FormatJson(MakeEntry("m", fields)),
              HasSubstr("\"field_time\":1,\"k\":2,\"field_k\":3"));
}

// Reads what a sink wrote to a pipe.
std::string Written(std::shared_ptr<LogSink> (*make)(int)) {
  int ends[2];
  if (::pipe(ends) != 0) return "no pipe";
  make(ends[1])->Send(MakeEntry("m", {}));
  ::close(ends[1]);
  std::string text(4096, '\0');
  const ssize_t got = ::read(ends[0], text.data(), text.size());
  ::close(ends[0]);
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return text;
}

TEST(DescriptorSinkTest, WritesOneLinePerEvent) {
  const LogEntry entry = MakeEntry("m", {});
  EXPECT_EQ(Written(MakeTextLogSink), FormatText(entry));
  EXPECT_EQ(Written(MakeJsonLogSink), FormatJson(entry) + "\n");
}

}  // namespace
}  // namespace penstock::core
