// Messages that have to wait for what their parser needs.
#include "core/contract/message_gate.h"
#include "core/format/ndjson/ndjson_format.h"
#include "tests/core/sources/kafka/kafka_fixture.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/match.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

namespace penstock::core {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Holds back messages with "wait" in them until it is opened.
class FakeGate final : public MessageGate {
 public:
  absl::Status Start(const Environment& /*environment*/) override {
    return started_;
  }
  void SetWake(absl::AnyInvocable<void()> wake) override {
    wake_ = std::move(wake);
  }
  bool IsReady(absl::string_view message) override {
    return is_open_ || !absl::StrContains(message, "wait");
  }
  ConnectorHealth Health() const override {
    if (is_open_) return {};
    return {.condition = Condition::kDegraded, .reason = "the gate is shut"};
  }

  void Open() {
    is_open_ = true;
    wake_();
  }
  void Shut() { is_open_ = false; }
  void SetStarted(absl::Status status) { started_ = std::move(status); }

 private:
  absl::Status started_ = absl::OkStatus();
  bool is_open_ = false;
  absl::AnyInvocable<void()> wake_;
};

class HoldingParser final : public GatedParser {
 public:
  // `alive` counts those that there are.
  HoldingParser(MessageGate& gate, int& alive)
      : gate_(gate), alive_(alive), parser_(*MakeNdjsonParser(NdjsonConfig{})) {
    ++alive_;
  }
  ~HoldingParser() override { --alive_; }

  ParseResult Parse(const Fragment& fragment) override {
    return parser_->Parse(fragment);
  }
  std::unique_ptr<Splitter> MakeSplitter() const override {
    return parser_->MakeSplitter();
  }
  std::unique_ptr<Parser> Fork() const override {
    return std::make_unique<HoldingParser>(gate_, alive_);
  }
  void SetPosition(uint64_t record_number, uint64_t line) override {
    parser_->SetPosition(record_number, line);
  }
  MessageGate* gate() override { return &gate_; }

 private:
  MessageGate& gate_;
  int& alive_;
  const std::unique_ptr<Parser> parser_;
};

class KafkaGateTest : public KafkaFixture {
 protected:
  KafkaGateTest() {
    make_parser_ = [this] {
      return std::make_unique<HoldingParser>(gate_, alive_);
    };
  }
  ~KafkaGateTest() override { Close(); }

  void Write(const std::string& value) {
    topics_.Write("t", 0, Message{.value = value});
  }

  // The last that was said.
  ConnectorHealth Health() const {
    const auto all = consumer_->transcript().health;
    return all.empty() ? ConnectorHealth() : all.back();
  }

  FakeGate gate_;
  int alive_ = 0;
};

TEST_F(KafkaGateTest, WhatWaitsHoldsBackWhatIsBehindIt) {
  Write("1");
  Write("\"wait\"");
  Write("2");
  ASSERT_OK(Open());
  Extend();
  EXPECT_THAT(ValuesOf(Queue()), ElementsAre("1"));
  // Also when time passes: nothing is lost, nothing overtakes.
  Pass(absl::Seconds(5));
  EXPECT_THAT(ValuesOf(Queue(1)), IsEmpty());
  EXPECT_EQ(Health().reason, "the gate is shut; the message is t/0 offset 1");
  gate_.Open();
  executor_.RunUntilIdle();
  EXPECT_THAT(ValuesOf(Queue(2)), ElementsAre("\"wait\"", "2"));
  EXPECT_EQ(Health().condition, Condition::kOk);
}

TEST_F(KafkaGateTest, AReplayWaitsToo) {
  Write("\"wait\"");
  Write("2");
  ASSERT_OK(Open());
  Extend();
  gate_.Open();
  executor_.RunUntilIdle();
  const RecordedStep step = Queue();
  EXPECT_THAT(ValuesOf(step), ElementsAre("\"wait\"", "2"));
  gate_.Shut();
  ASSERT_OK(Open(position_));
  EXPECT_THAT(Replay(step).records, IsEmpty());
  const size_t before = consumer_->transcript().steps.size();
  gate_.Open();
  executor_.RunUntilIdle();
  ASSERT_EQ(consumer_->transcript().steps.size(), before + 1);
  EXPECT_EQ(consumer_->transcript().steps.back().records, step.records);
}

// A gate may run a thread, which cannot be what ends the reader.
TEST_F(KafkaGateTest, TheParserGoesWithTheReaderWhoeverStillHoldsIt) {
  Write("\"wait\"");
  ASSERT_OK(Open());
  Extend();
  ASSERT_EQ(alive_, 1);
  // The task that this posts holds it.
  gate_.Open();
  Close();
  EXPECT_EQ(alive_, 0);
  executor_.RunUntilIdle();
}

TEST_F(KafkaGateTest, OneThatCannotBeStartedFailsTheOpen) {
  gate_.SetStarted(MakeError(Reason::PATH_NOT_ALLOWED, "not there"));
  EXPECT_THAT(Open(), HasReason(Reason::PATH_NOT_ALLOWED));
}

}  // namespace
}  // namespace penstock::core
