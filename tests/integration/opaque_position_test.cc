// Positions travel as bytes: nothing on the way reads or rewrites them.
#include "core/base/mutex.h"
#include "core/contract/command.h"
#include "core/contract/consumer.h"
#include "core/contract/endpoint.h"
#include "core/contract/reader.h"
#include "core/contract/resume.h"
#include "core/record/step_hash.h"
#include "tests/integration/caller.h"
#include "tests/integration/fake_edge_worker.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace penstock {
namespace {

// 2^63-1 is no double; the order of members, the spaces and the escapes are
// such as no serialiser makes; a member occurs twice.
constexpr char kOddPosition[] =
    "{ \"zeta\":9223372036854775807,\"a\" : [ 9223372036854775807 , 1e2 ],"
    "\"Alpha\":\"\\u0041\\/\", \"zeta\":-0.0 }";
constexpr char kOddReplay[] =
    "\x93\xa1z\xcf\x7f\xff\xff\xff\xff\xff\xff\xff\x00";

// What reached the source, in the order in which it came.
struct Seen {
  core::Mutex mu;
  std::vector<std::string> positions ABSL_GUARDED_BY(mu);

  void Add(std::string position) {
    core::MutexLock lock(mu);
    positions.push_back(std::move(position));
  }
  std::vector<std::string> All() {
    core::MutexLock lock(mu);
    return positions;
  }
};

std::string OddReplayData() {
  return std::string(kOddReplay, sizeof kOddReplay - 1);
}

// Has no records, one odd position, and is at its end at once.
class OddReader final : public core::InputReader {
 public:
  OddReader(core::InputConsumer& consumer, Seen& seen)
      : consumer_(consumer), seen_(seen) {}

  void Request(core::InputReaderCommand command) override {
    if (const auto* replay = std::get_if<core::ReplayCommand>(&command)) {
      seen_.Add(replay->metadata);
      seen_.Add(replay->data);
      consumer_.Replayed({}, core::StepHasher().Finish().value);
    } else if (std::holds_alternative<core::SkipCommand>(command)) {
      seen_.Add(std::get<core::SkipCommand>(command).metadata);
      consumer_.Skipped();
    } else if (std::holds_alternative<core::ExtendCommand>(command)) {
      if (!ended_.exchange(true)) consumer_.EndOfInput();
    } else if (std::holds_alternative<core::QueueCommand>(command)) {
      consumer_.Extended({},
                         core::Resume(core::Resume::Replay{
                             .seek = kOddPosition,
                             .replay = OddReplayData(),
                             .hash = core::StepHasher().Finish().value}),
                         {});
    } else if (std::holds_alternative<core::DisconnectCommand>(command)) {
      closed_.store(true);
    }
  }
  bool IsClosed() const override { return closed_.load(); }

 private:
  core::InputConsumer& consumer_;
  Seen& seen_;
  std::atomic<bool> ended_{false};
  std::atomic<bool> closed_{false};
};

class OddEndpoint final : public core::IntegratedInputEndpoint {
 public:
  explicit OddEndpoint(Seen& seen) : seen_(seen) {}
  std::optional<core::FtModel> FaultTolerance() const override {
    return core::FtModel::kExactlyOnce;
  }
  absl::StatusOr<core::OpenedInput> Open(
      core::InputConsumer& consumer, const core::Schema& /*schema*/,
      std::optional<std::string> resume_info) override {
    if (resume_info.has_value()) seen_.Add(*resume_info);
    core::OpenedInput opened;
    opened.position = kOddPosition;
    opened.reader = std::make_unique<OddReader>(consumer, seen_);
    return opened;
  }

 private:
  Seen& seen_;
};

class OpaquePositionTest : public ::testing::Test {
 protected:
  OpaquePositionTest()
      : worker_([this] { return std::make_unique<OddEndpoint>(seen_); }),
        caller_(worker_.control(), "shop", 1) {}

  absl::StatusOr<core::OpenReply> Open() {
    return caller_.Open(LinesSpec("orders", "any", "", 1));
  }

  // Declared before the worker, whose source writes it.
  Seen seen_;
  FakeEdgeWorker worker_;
  Caller caller_;
};

TEST_F(OpaquePositionTest, OpenAnswersItByteForByte) {
  ASSERT_OK_AND_ASSIGN(const core::OpenReply opened, Open());
  EXPECT_EQ(opened.position, kOddPosition);
}

TEST_F(OpaquePositionTest, OpenHandsItToTheSourceByteForByte) {
  caller_.open.position = kOddPosition;
  ASSERT_OK(Open());
  EXPECT_THAT(seen_.All(), ::testing::ElementsAre(kOddPosition));
}

TEST_F(OpaquePositionTest, LongOneTravelsInFragmentsByteForByte) {
  const std::string position =
      "{\"pad\":\"" + std::string(3'000'000, 'x') + "\"}";
  caller_.open.position = position;
  ASSERT_OK(Open());
  EXPECT_THAT(seen_.All(), ::testing::ElementsAre(position));
}

TEST_F(OpaquePositionTest, StepCarriesItThereAndBackByteForByte) {
  ASSERT_OK(Open());
  ASSERT_OK(caller_.Extend());
  ASSERT_OK_AND_ASSIGN(const core::QueueReply reply, caller_.Queue(0, 0));
  ASSERT_NE(reply.result, nullptr);
  const auto* resume =
      std::get_if<core::Resume::Replay>(&reply.result->resume.kind());
  ASSERT_NE(resume, nullptr);
  EXPECT_EQ(resume->seek, kOddPosition);
  EXPECT_EQ(resume->replay, OddReplayData());

  ASSERT_OK(caller_.Delete());
  caller_.open.first_open = false;
  caller_.open.journaled_steps = 1;
  ASSERT_OK(Open());
  ASSERT_OK(caller_.Replay(*reply.result, 0));
  EXPECT_THAT(seen_.All(),
              ::testing::ElementsAre(kOddPosition, OddReplayData()));
}

TEST_F(OpaquePositionTest, LargestStepNumberHoldsInEveryMessage) {
  // 2^63-1: the last step whose count fits a signed integer is one below.
  constexpr core::Step kLast = (uint64_t{1} << 63) - 2;
  caller_.open.base_steps = kLast;
  caller_.open.journaled_steps = kLast;
  ASSERT_OK_AND_ASSIGN(const core::OpenReply opened, Open());
  EXPECT_EQ(opened.base_steps, kLast);
  ASSERT_OK(caller_.Extend());
  ASSERT_OK_AND_ASSIGN(const core::QueueReply reply,
                       caller_.Queue(kLast, kLast));
  ASSERT_NE(reply.result, nullptr);
  EXPECT_EQ(reply.result->step, kLast);
  ASSERT_OK(caller_.Release(kLast + 1));
  ASSERT_OK_AND_ASSIGN(const core::ConnectorStatus status, caller_.Get());
  EXPECT_EQ(status.made_steps, kLast + 1);
  EXPECT_EQ(status.released_steps, kLast + 1);
}

}  // namespace
}  // namespace penstock
