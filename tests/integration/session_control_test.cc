// A controller's Session with a real worker, over a wire that breaks.
#include "client/session_control.h"
#include "client/client.h"
#include "core/base/log.h"
#include "core/base/mutex.h"
#include "core/base/notification.h"
#include "core/contract/command.h"
#include "core/contract/consumer.h"
#include "core/contract/endpoint.h"
#include "core/contract/reader.h"
#include "core/contract/resume.h"
#include "core/record/step_hash.h"
#include "tests/integration/caller.h"
#include "tests/integration/fake_edge_worker.h"
#include "tests/integration/real_worker.h"
#include "tests/integration/socket_proxy.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace penstock {
namespace {

using core::HasReason;
using core::Reason;

// The most that either end takes for one whole.
constexpr size_t kReplayBytes = size_t{64} << 20;
constexpr absl::Duration kHeartbeat = absl::Milliseconds(200);

std::unique_ptr<client::Client> Connect(const std::string& target,
                                        bool use_session = true) {
  auto client = client::Client::Connect(
      target, {.use_session = use_session, .heartbeat = kHeartbeat});
  EXPECT_OK(client.status());
  return *std::move(client);
}

class SessionControlTest : public ::testing::Test {
 protected:
  SessionControlTest()
      : path_(worker_.Write("in", Lines("line ", 1000))),
        proxy_(worker_.target()),
        client_(Connect(proxy_.target())),
        caller_(client_->control(), "p", 1) {}

  RealWorker worker_;
  const std::string path_;
  SocketProxy proxy_;
  std::unique_ptr<client::Client> client_;
  Caller caller_;
};

TEST_F(SessionControlTest, CarriesAWholeLifeOverOneStream) {
  const std::string sink = worker_.directory().Path("out");
  ASSERT_OK(caller_.Open(LinesSpec("orders", path_, sink)).status());
  ASSERT_OK(caller_.Extend());
  ASSERT_OK_AND_ASSIGN(const core::QueueReply first, caller_.Queue(0, 0));
  ASSERT_NE(first.result, nullptr);
  ASSERT_OK(caller_.Release(1));
  ASSERT_OK_AND_ASSIGN(const auto prepared, caller_.Prepare(1));
  EXPECT_TRUE(prepared.ready);
  ASSERT_OK(caller_.Commit(1));
  ASSERT_OK_AND_ASSIGN(const core::ConnectorStatus status, caller_.Get());
  EXPECT_EQ(status.checkpointed_steps, 1U);
  ASSERT_OK(caller_.Pause());
  ASSERT_OK(caller_.Disconnect().status());
  ASSERT_OK(caller_.Delete().status());
  EXPECT_EQ(client_->session()->streams_begun(), 1U);
}

TEST_F(SessionControlTest, BreaksAndIsMadeAgain) {
  ASSERT_OK(caller_.Open(LinesSpec("orders", path_, "")).status());
  ASSERT_OK(caller_.Extend());
  proxy_.CutAfter(0);
  EXPECT_THAT(caller_.Queue(0, 0).status(), HasReason(Reason::UNAVAILABLE));
  absl::StatusOr<core::QueueReply> again = caller_.Queue(0, 0);
  while (core::HasReason(again.status(), Reason::UNAVAILABLE)) {
    again = caller_.Queue(0, 0);
  }
  ASSERT_OK(again.status());
  EXPECT_NE(again->result, nullptr);
  EXPECT_GE(client_->session()->streams_begun(), 2U);
}

// What a controller says when it comes back.
TEST_F(SessionControlTest, ComparesWhatIsDesired) {
  ASSERT_OK(caller_.Open(LinesSpec("orders", path_, "")).status());
  ASSERT_OK_AND_ASSIGN(const core::ConnectorStatus orders, caller_.Get());
  Caller carts(client_->control(), "p", 1);
  ASSERT_OK(carts.Open(LinesSpec("carts", path_, "")).status());
  Caller users(client_->control(), "p", 1);
  ASSERT_OK(users.Open(LinesSpec("users", path_, "")).status());
  core::ReconcileRequest request;
  request.fence = caller_.fence;
  request.connectors = {{.connector = "carts", .spec_bytes = "another"},
                        {.connector = "orders",
                         .spec_bytes = orders.spec_bytes,
                         .journaled_steps = 0}};
  // More than one message holds.
  for (int i = 0; i < 1000; ++i) {
    request.connectors.push_back({.connector = absl::StrCat("z", i)});
  }
  Pending<std::vector<core::ReconciledConnector>> pending;
  client_->control().Reconcile(request, pending.Callback());
  ASSERT_OK_AND_ASSIGN(const auto found, pending.Get());
  std::map<std::string, core::Reconciliation> outcomes;
  for (const auto& one : found) outcomes[one.connector] = one.outcome;
  EXPECT_EQ(outcomes.size(), 1003U);
  EXPECT_EQ(outcomes["orders"], core::Reconciliation::kReused);
  EXPECT_EQ(outcomes["carts"], core::Reconciliation::kChanged);
  EXPECT_EQ(outcomes["users"], core::Reconciliation::kDropped);
  EXPECT_EQ(outcomes["z999"], core::Reconciliation::kMissing);
  // The stream goes on, and what is dropped goes.
  ASSERT_OK(caller_.Extend());
  absl::StatusOr<core::ConnectorStatus> gone = users.Get();
  while (gone.ok()) gone = users.Get();
  EXPECT_THAT(gone.status(), HasReason(Reason::NO_SUCH_CONNECTOR));
  EXPECT_EQ(client_->session()->streams_begun(), 2U);
}

TEST_F(SessionControlTest, AnotherEpochTakesAnotherStream) {
  ASSERT_OK(caller_.Open(LinesSpec("orders", path_, "")).status());
  caller_.fence.epoch = 2;
  ASSERT_OK(caller_.Extend());
  caller_.fence.epoch = 1;
  EXPECT_THAT(caller_.Pause(), HasReason(Reason::STALE_EPOCH));
}

// Tells when something is logged.
class LogWatch final : public core::LogSink {
 public:
  explicit LogWatch(std::string text) : text_(std::move(text)) {}
  void Send(const core::LogEntry& entry) override {
    if (absl::StrContains(entry.message, text_) && !seen_.exchange(true)) {
      came_.Notify();
    }
  }
  void Wait() { came_.WaitForNotification(); }

 private:
  const std::string text_;
  std::atomic<bool> seen_{false};
  core::Notification came_;
};

// Nothing is closed: only that nothing is heard tells.
TEST_F(SessionControlTest, ABlackHoleIsNoticedByBothEnds) {
  const std::string sink = worker_.directory().Path("out");
  ASSERT_OK(caller_.Open(LinesSpec("orders", path_, sink)).status());
  ASSERT_OK(caller_.Extend());
  ASSERT_OK(caller_.Queue(0, 0).status());
  // Waits for a release that does not come.
  Pending<core::PrepareCheckpointReply> waiting;
  client_->control().PrepareCheckpoint(
      caller_.Header(), {.steps = 1, .deadline = absl::Minutes(10)},
      waiting.Callback());
  // It is there: what came behind it was answered.
  ASSERT_OK(caller_.Get().status());
  const auto worker_end =
      std::make_shared<LogWatch>("nothing was heard of the controller");
  const core::ScopedLogSink log(worker_end);
  proxy_.SetBlackHole(true);
  // The controller's end; with a deadline of ten minutes it is no timeout.
  EXPECT_THAT(waiting.Get().status(), HasReason(Reason::UNAVAILABLE));
  // The worker's end; the connector goes on, and answers the next controller.
  worker_end->Wait();
  Caller direct(worker_.control(), "p", 1);
  direct.ref = caller_.ref;
  EXPECT_EQ(direct.State(), core::ConnectorState::kRunning);
  proxy_.SetBlackHole(false);
  absl::StatusOr<core::ConnectorStatus> status = caller_.Get();
  while (!status.ok()) status = caller_.Get();
  EXPECT_EQ(status->instance, caller_.ref.instance);
}

// --- replay data of 64 MiB, and no message above 4 MiB -----------------------

core::StepResult LongStep() {
  // MessagePack's bin 32.
  std::string data("\xc6\x03\xff\xff\xfb", 5);
  data.resize(kReplayBytes, 'z');
  core::StepResult result;
  result.resume = core::Resume(
      core::Resume::Replay{.seek = "null",
                           .replay = std::move(data),
                           .hash = core::StepHasher().Finish().value});
  result.hash = core::StepHasher().Finish();
  return result;
}

// Its only step is replayed by data of that length. Remembers how often it was
// made, or replayed whole.
class LongReader final : public core::InputReader {
 public:
  LongReader(core::InputConsumer& consumer, std::atomic<int>& whole)
      : consumer_(consumer), whole_(whole) {}

  void Request(core::InputReaderCommand command) override {
    if (const auto* replay = std::get_if<core::ReplayCommand>(&command)) {
      if (replay->data.size() == kReplayBytes &&
          replay->data.front() == '\xc6' && replay->data.back() == 'z') {
        ++whole_;
      }
      consumer_.Replayed({}, core::StepHasher().Finish().value);
    } else if (std::holds_alternative<core::ExtendCommand>(command)) {
      consumer_.EndOfInput();
    } else if (std::holds_alternative<core::QueueCommand>(command)) {
      ++whole_;
      consumer_.Extended({}, LongStep().resume, {});
    } else if (std::holds_alternative<core::DisconnectCommand>(command)) {
      closed_.store(true);
    }
  }
  bool IsClosed() const override { return closed_.load(); }

 private:
  core::InputConsumer& consumer_;
  std::atomic<int>& whole_;
  std::atomic<bool> closed_{false};
};

class LongEndpoint final : public core::IntegratedInputEndpoint {
 public:
  explicit LongEndpoint(std::atomic<int>& whole) : whole_(whole) {}
  std::optional<core::FtModel> FaultTolerance() const override {
    return core::FtModel::kExactlyOnce;
  }
  absl::StatusOr<core::OpenedInput> Open(
      core::InputConsumer& consumer, const core::Schema& /*schema*/,
      std::optional<std::string> /*resume_info*/) override {
    core::OpenedInput opened;
    opened.position = "null";
    opened.reader = std::make_unique<LongReader>(consumer, whole_);
    return opened;
  }

 private:
  std::atomic<int>& whole_;
};

class LongReplayTest : public ::testing::TestWithParam<bool> {
 protected:
  LongReplayTest()
      : worker_([this] { return std::make_unique<LongEndpoint>(whole_); }),
        proxy_(worker_.client().target()),
        client_(Connect(proxy_.target(), GetParam())),
        caller_(client_->control(), "shop", 1) {
    caller_.open.journaled_steps = 1;
  }

  std::atomic<int> whole_{0};
  FakeEdgeWorker worker_;
  SocketProxy proxy_;
  std::unique_ptr<client::Client> client_;
  Caller caller_;
};

INSTANTIATE_TEST_SUITE_P(Ways, LongReplayTest, ::testing::Bool(),
                         [](const auto& param) {
                           return param.param ? "OverASession" : "ByACall";
                         });

TEST_P(LongReplayTest, SurvivesACutInTheMiddle) {
  ASSERT_OK(caller_.Open(LinesSpec("orders", "any", "", 1)).status());
  const core::StepResult step = LongStep();
  proxy_.CutAfter(kReplayBytes / 2);
  EXPECT_THAT(caller_.Replay(step, 0).status(), HasReason(Reason::UNAVAILABLE));
  EXPECT_EQ(proxy_.cuts(), 1);
  absl::StatusOr<core::ReplayReply> again = caller_.Replay(step, 0);
  while (core::HasReason(again.status(), Reason::UNAVAILABLE)) {
    again = caller_.Replay(step, 0);
  }
  ASSERT_OK(again.status());
  EXPECT_EQ(whole_, 1);
}

// What was made is retained: it is asked for again, and not made again.
TEST_P(LongReplayTest, ComesDownThoughItIsCutInTheMiddle) {
  caller_.open.journaled_steps = 0;
  core::ConnectorSpec spec = LinesSpec("orders", "any", "", 1);
  spec.limits.retained_bytes_max = 8 * kReplayBytes;
  spec.limits.memory_max = 16 * kReplayBytes;
  ASSERT_OK(caller_.Open(spec).status());
  ASSERT_OK(caller_.Extend());
  proxy_.CutAfter(kReplayBytes / 2);
  EXPECT_THAT(caller_.Queue(0, 0).status(), HasReason(Reason::UNAVAILABLE));
  EXPECT_EQ(proxy_.cuts(), 1);
  absl::StatusOr<core::QueueReply> again = caller_.Queue(0, 0);
  while (core::HasReason(again.status(), Reason::UNAVAILABLE)) {
    again = caller_.Queue(0, 0);
  }
  ASSERT_OK(again.status());
  ASSERT_NE(again->result, nullptr);
  EXPECT_TRUE(again->result->resume == LongStep().resume);
  EXPECT_EQ(whole_, 1);
}

}  // namespace
}  // namespace penstock
