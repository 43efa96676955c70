#include "server/admin/event_log.h"

#include "core/base/log.h"
#include "tests/support/fake_clock.h"
#include "tests/support/recording_log_sink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace penstock::server {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

// Remembers what came to it.
class RecordingObserver final : public DispatchObserver {
 public:
  std::vector<std::string> calls;

  void OnOpened(const std::string& connector) override {
    calls.push_back("opened " + connector);
  }
  void OnRemoved(const std::string& connector,
                 const std::string& instance) override {
    calls.push_back("removed " + connector + " " + instance);
  }
  void OnChanged(const std::string& connector) override {
    calls.push_back("changed " + connector);
  }
  void OnState(const std::string& connector, const std::string& /*instance*/,
               const std::string& /*pipeline*/,
               core::ConnectorState /*previous*/,
               core::ConnectorState /*state*/) override {
    calls.push_back("state " + connector);
  }
  void OnError(const std::string& connector,
               const core::ErrorEntry& error) override {
    calls.push_back("error " + connector + " " + error.text);
  }
  void OnParseErrors(const std::string& connector,
                     const std::vector<core::ParseError>& /*all*/) override {
    calls.push_back("parse " + connector);
  }
  void OnTransaction(const std::string& connector, bool /*started*/,
                     std::optional<std::string> /*label*/) override {
    calls.push_back("transaction " + connector);
  }
};

class EventLogTest : public testing::Test {
 protected:
  core::ErrorEntry Error(std::string tag, bool fatal = false) {
    return {.tag = std::move(tag),
            .index = ++errors_,
            .fatal = fatal,
            .text = "no answer"};
  }
  std::string FieldOf(size_t record, const std::string& key) const {
    const core::RecordingLogSink::Record found = sink_->records()[record];
    for (const core::LogField& field : found.fields) {
      if (field.key == key) return field.value;
    }
    return "(none)";
  }

  const std::shared_ptr<core::RecordingLogSink> sink_ =
      std::make_shared<core::RecordingLogSink>();
  const core::ScopedLogSink scope_{sink_};
  core::FakeClock clock_;
  RecordingObserver next_;
  EventLog log_{next_, clock_};
  uint64_t errors_ = 0;
};

TEST_F(EventLogTest, EverythingIsPassedOn) {
  log_.OnOpened("a");
  log_.OnChanged("a");
  log_.OnState("a", "i", "p", core::ConnectorState::kRunning,
               core::ConnectorState::kPaused);
  log_.OnError("a", Error("sink"));
  log_.OnParseErrors("a", {});
  log_.OnTransaction("a", true, std::nullopt);
  log_.OnRemoved("a", "i");
  EXPECT_THAT(next_.calls, ElementsAre("opened a", "changed a", "state a",
                                       "error a no answer", "parse a",
                                       "transaction a", "removed a i"));
}

TEST_F(EventLogTest, ErrorHasItsConnectorTagAndNumber) {
  log_.OnError("orders", Error("sink"));
  ASSERT_THAT(sink_->records(), SizeIs(1));
  EXPECT_EQ(sink_->records()[0].severity, core::LogSeverity::kWarning);
  EXPECT_EQ(sink_->records()[0].message, "no answer");
  EXPECT_EQ(FieldOf(0, "connector"), "orders");
  EXPECT_EQ(FieldOf(0, "tag"), "sink");
  EXPECT_EQ(FieldOf(0, "count"), "1");
}

TEST_F(EventLogTest, ManyErrorsOfOneTagAreLimitedAndCounted) {
  for (int i = 0; i < 100; ++i) log_.OnError("a", Error("sink"));
  EXPECT_THAT(sink_->records(), SizeIs(EventLog::kEventsPerWindow));
  // Neither another tag nor another connector is held back by it.
  log_.OnError("a", Error("source"));
  log_.OnError("b", Error("sink"));
  EXPECT_THAT(sink_->records(), SizeIs(EventLog::kEventsPerWindow + 2));
  clock_.Advance(2 * EventLog::kWindow);
  log_.OnError("a", Error("sink"));
  ASSERT_THAT(sink_->records(), SizeIs(EventLog::kEventsPerWindow + 3));
  EXPECT_EQ(FieldOf(EventLog::kEventsPerWindow + 2, "suppressed"), "95");
  EXPECT_THAT(next_.calls, SizeIs(103));
}

TEST_F(EventLogTest, FatalErrorsAndFailuresAreNeverHeldBack) {
  for (int i = 0; i < 20; ++i) log_.OnError("a", Error("sink"));
  log_.OnError("a", Error("sink", /*fatal=*/true));
  log_.OnState("a", "i", "p", core::ConnectorState::kRunning,
               core::ConnectorState::kFailed);
  ASSERT_THAT(sink_->records(), SizeIs(EventLog::kEventsPerWindow + 2));
  for (size_t i : {0, 1}) {
    EXPECT_EQ(sink_->records()[EventLog::kEventsPerWindow + i].severity,
              core::LogSeverity::kError);
  }
}

TEST_F(EventLogTest, LimitsOfAConnectorGoWithIt) {
  for (int life = 0; life < 2; ++life) {
    for (int i = 0; i < 100; ++i) log_.OnError("a", Error("sink"));
    log_.OnRemoved("a", "i");
  }
  EXPECT_THAT(sink_->records(), SizeIs(2 * EventLog::kEventsPerWindow + 2));
}

}  // namespace
}  // namespace penstock::server
