#include "server/dispatch/pipeline_fences.h"

#include "core/base/error.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/manual_executor.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace penstock::server {
namespace {

using core::Fence;
using core::HasReason;
using core::Reason;
using testing::ElementsAre;
using testing::IsEmpty;

using Pass = PipelineFences::Pass;
using Admitted = std::optional<absl::StatusOr<Pass>>;

Fence FenceOf(uint64_t epoch, std::string nonce = "n",
              std::string pipeline = "shop") {
  return {.pipeline = std::move(pipeline),
          .controller_id = "c",
          .epoch = epoch,
          .nonce = std::move(nonce)};
}

class PipelineFencesTest : public testing::Test {
 protected:
  void Start(absl::Duration grace = absl::Hours(24)) {
    auto store = MakeFileFenceStore(files_, "/state");
    auto records = store->Load();
    ASSERT_OK(records);
    fences_ = std::make_shared<PipelineFences>(
        PipelineFences::Options{.pipelines_max = 3, .grace = grace},
        std::move(store), *std::move(records), executor_,
        [this](const std::string& pipeline) {
          takeovers_.push_back(pipeline);
        });
  }
  // Begins; the answer may come later.
  std::shared_ptr<Admitted> Begin(const Fence& fence) {
    auto admitted = std::make_shared<Admitted>();
    fences_->Enter(fence, [admitted](absl::StatusOr<Pass> pass) {
      admitted->emplace(std::move(pass));
    });
    return admitted;
  }
  absl::Status Enter(const Fence& fence) {
    const auto admitted = Begin(fence);
    executor_.RunUntilIdle();
    EXPECT_TRUE(admitted->has_value());
    return (*admitted)->status();
  }

  core::ManualExecutor executor_;
  core::FakeFileSystem files_;
  std::vector<std::string> takeovers_;
  std::shared_ptr<PipelineFences> fences_;
};

TEST_F(PipelineFencesTest, TheHolderOfTheEpochEntersInline) {
  Start();
  ASSERT_OK(Enter(FenceOf(5)));
  EXPECT_TRUE(Begin(FenceOf(5))->has_value());
}

TEST_F(PipelineFencesTest, ALowerEpochIsStale) {
  Start();
  ASSERT_OK(Enter(FenceOf(5)));
  EXPECT_THAT(Enter(FenceOf(4)), HasReason(Reason::STALE_EPOCH));
}

TEST_F(PipelineFencesTest, TheSameEpochWithAnotherNonceIsTaken) {
  Start();
  ASSERT_OK(Enter(FenceOf(5, "a")));
  EXPECT_THAT(Enter(FenceOf(5, "b")), HasReason(Reason::EPOCH_TAKEN));
}

TEST_F(PipelineFencesTest, AHigherEpochTakesOver) {
  Start();
  ASSERT_OK(Enter(FenceOf(5)));
  EXPECT_THAT(takeovers_, IsEmpty());
  ASSERT_OK(Enter(FenceOf(6)));
  EXPECT_THAT(takeovers_, ElementsAre("shop"));
  EXPECT_THAT(Enter(FenceOf(5)), HasReason(Reason::STALE_EPOCH));
  EXPECT_FALSE(fences_->IsCurrent(FenceOf(5)));
}

TEST_F(PipelineFencesTest, ATakeoverSurvivesACrash) {
  Start();
  ASSERT_OK(Enter(FenceOf(6)));
  files_.Crash();
  Start();
  EXPECT_THAT(Enter(FenceOf(5)), HasReason(Reason::STALE_EPOCH));
}

TEST_F(PipelineFencesTest, AFailedSaveLeavesTheOldEpochInCommand) {
  Start();
  ASSERT_OK(Enter(FenceOf(5)));
  files_.FailNext(core::FileOperation::kRename, "fence",
                  absl::InternalError("no"), 10);
  EXPECT_FALSE(Enter(FenceOf(6)).ok());
  EXPECT_OK(Enter(FenceOf(5)));
  EXPECT_THAT(takeovers_, IsEmpty());
}

TEST_F(PipelineFencesTest, ATakeoverWaitsForCommandsBeingHandedOver) {
  Start();
  ASSERT_OK(Enter(FenceOf(5)));
  auto old = Begin(FenceOf(5));
  ASSERT_TRUE(old->has_value());
  const auto taker = Begin(FenceOf(6));
  executor_.RunUntilIdle();
  EXPECT_FALSE(taker->has_value());
  EXPECT_THAT(takeovers_, IsEmpty());
  old->reset();  // The pass ends with the hand-over.
  executor_.RunUntilIdle();
  ASSERT_TRUE(taker->has_value());
  EXPECT_OK((*taker)->status());
  EXPECT_THAT(takeovers_, ElementsAre("shop"));
}

TEST_F(PipelineFencesTest, TwoCommandsOfOneNewEpochBothEnter) {
  Start();
  const auto first = Begin(FenceOf(6));
  const auto second = Begin(FenceOf(6));
  executor_.RunUntilIdle();
  ASSERT_TRUE(first->has_value());
  ASSERT_TRUE(second->has_value());
  EXPECT_OK((*first)->status());
  EXPECT_OK((*second)->status());
}

// Otherwise an old command that is still handed over acts after a new one.
TEST_F(PipelineFencesTest, NoCommandOfTheNewEpochPassesItsTakeover) {
  Start();
  ASSERT_OK(Enter(FenceOf(5)));
  auto old = Begin(FenceOf(5));
  const auto taker = Begin(FenceOf(6));
  executor_.RunUntilIdle();
  const auto second = Begin(FenceOf(6));
  executor_.RunUntilIdle();
  EXPECT_FALSE(second->has_value());
  old->reset();
  executor_.RunUntilIdle();
  ASSERT_TRUE(taker->has_value());
  ASSERT_TRUE(second->has_value());
  EXPECT_OK((*second)->status());
}

TEST_F(PipelineFencesTest, WhoWaitedForATakeoverIsJudgedAfterIt) {
  Start();
  ASSERT_OK(Enter(FenceOf(5)));
  auto old = Begin(FenceOf(5));
  const auto taker = Begin(FenceOf(6));
  executor_.RunUntilIdle();
  const auto second = Begin(FenceOf(6));
  const auto higher = Begin(FenceOf(7));
  executor_.RunUntilIdle();
  old->reset();
  executor_.RunUntilIdle();
  taker->reset();
  executor_.RunUntilIdle();
  second->reset();
  executor_.RunUntilIdle();
  ASSERT_TRUE(higher->has_value());
  EXPECT_OK((*higher)->status());
  EXPECT_TRUE(fences_->IsCurrent(FenceOf(7)));
}

TEST_F(PipelineFencesTest, CloseAnswersWhoWaits) {
  Start();
  ASSERT_OK(Enter(FenceOf(5)));
  const auto old = Begin(FenceOf(5));
  const auto taker = Begin(FenceOf(6));
  executor_.RunUntilIdle();
  const auto second = Begin(FenceOf(6));
  const auto third = Begin(FenceOf(7));
  fences_->Close();
  ASSERT_TRUE(second->has_value());
  ASSERT_TRUE(third->has_value());
  EXPECT_THAT((*second)->status(), HasReason(Reason::SHUTTING_DOWN));
  EXPECT_THAT((*third)->status(), HasReason(Reason::SHUTTING_DOWN));
  EXPECT_THAT(Enter(FenceOf(6)), HasReason(Reason::SHUTTING_DOWN));
}

TEST_F(PipelineFencesTest, OfTwoTakersTheHigherOneStays) {
  Start();
  ASSERT_OK(Enter(FenceOf(5)));
  const auto higher = Begin(FenceOf(7));
  const auto lower = Begin(FenceOf(6));
  executor_.RunUntilIdle();
  EXPECT_OK((*higher)->status());
  EXPECT_THAT((*lower)->status(), HasReason(Reason::STALE_EPOCH));
}

TEST_F(PipelineFencesTest, PipelinesDoNotTouchEachOther) {
  Start();
  ASSERT_OK(Enter(FenceOf(9)));
  EXPECT_OK(Enter(FenceOf(1, "n", "mail")));
  EXPECT_OK(Enter(FenceOf(9)));
}

TEST_F(PipelineFencesTest, AFenceWithoutEpochOrNameIsRefused) {
  Start();
  EXPECT_THAT(Enter(FenceOf(0)), HasReason(Reason::INVALID_REQUEST));
  Fence nameless = FenceOf(1);
  nameless.pipeline.clear();
  EXPECT_THAT(Enter(nameless), HasReason(Reason::INVALID_REQUEST));
}

TEST_F(PipelineFencesTest, TooManyPipelinesAreRefusedWithoutForgettingAny) {
  Start();
  for (const char* name : {"a", "b", "c"}) {
    ASSERT_OK(Enter(FenceOf(1, "n", name)));
  }
  EXPECT_THAT(Enter(FenceOf(1)), HasReason(Reason::MEMORY_REFUSED));
}

TEST_F(PipelineFencesTest, APipelineWithoutConnectorsIsForgottenAfterItsGrace) {
  Start(absl::Minutes(10));
  ASSERT_OK(Enter(FenceOf(5)));
  fences_->SetInUse("shop", true);
  fences_->SetInUse("shop", false);
  executor_.Advance(absl::Minutes(11));
  ASSERT_OK(Enter(FenceOf(1, "n", "mail")));
  EXPECT_FALSE(fences_->records().contains("shop"));
}

TEST_F(PipelineFencesTest, APipelineThatNeverHadAConnectorIsForgotten) {
  Start(absl::Minutes(10));
  ASSERT_OK(Enter(FenceOf(5)));
  executor_.Advance(absl::Minutes(11));
  ASSERT_OK(Enter(FenceOf(1, "n", "mail")));
  EXPECT_FALSE(fences_->records().contains("shop"));
}

TEST_F(PipelineFencesTest, ForgottenPipelinesMakeRoom) {
  Start(absl::Minutes(10));
  for (const char* name : {"a", "b", "c"}) {
    ASSERT_OK(Enter(FenceOf(1, "n", name)));
  }
  fences_->SetInUse("a", true);
  executor_.Advance(absl::Minutes(11));
  EXPECT_OK(Enter(FenceOf(1)));
  EXPECT_TRUE(fences_->records().contains("a"));
  EXPECT_FALSE(fences_->records().contains("b"));
}

TEST_F(PipelineFencesTest, ATakeoverLeavesAPipelineInUse) {
  Start(absl::Minutes(10));
  ASSERT_OK(Enter(FenceOf(5)));
  fences_->SetInUse("shop", true);
  ASSERT_OK(Enter(FenceOf(6)));
  EXPECT_EQ(fences_->records()["shop"].idle_since_s, 0);
}

TEST_F(PipelineFencesTest, APipelineInUseIsNeverForgotten) {
  Start(absl::Minutes(10));
  ASSERT_OK(Enter(FenceOf(5)));
  fences_->SetInUse("shop", true);
  executor_.Advance(absl::Hours(100));
  ASSERT_OK(Enter(FenceOf(1, "n", "mail")));
  EXPECT_TRUE(fences_->records().contains("shop"));
}

}  // namespace
}  // namespace penstock::server
