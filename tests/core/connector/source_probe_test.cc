#include "core/connector/source_probe.h"

#include "core/base/error.h"
#include "tests/support/fake_source.h"
#include "tests/support/manual_executor.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

namespace penstock::core {
namespace {

using ::testing::ElementsAre;

class SourceProbeTest : public ::testing::Test {
 protected:
  // Looks, and runs what can run without time passing.
  std::shared_ptr<SourceProbe> Look() {
    SourceProbeOptions options;
    options.source = source_.MakeEndpoint();
    options.level = FtModel::kExactlyOnce;
    options.patience = absl::Seconds(5);
    auto probe = SourceProbe::Make(std::move(options), executor_,
                                   [this](absl::StatusOr<SourceSight> sight) {
                                     ++answers_;
                                     sight_ = std::move(sight);
                                   });
    probe->Start();
    executor_.RunUntilIdle();
    return probe;
  }

  ManualExecutor executor_;
  FakeSource source_;
  int answers_ = 0;
  absl::StatusOr<SourceSight> sight_ = absl::UnknownError("no answer");
};

TEST_F(SourceProbeTest, TheFirstBufferIsEnough) {
  source_.AppendNumbered("r", 25);
  Look();
  ASSERT_OK(sight_.status());
  EXPECT_EQ(sight_->records, 10);
  EXPECT_GT(sight_->bytes, 0);
  EXPECT_EQ(answers_, 1);
}

TEST_F(SourceProbeTest, NothingIsQueuedAndTheReaderIsGone) {
  source_.AppendNumbered("r", 25);
  Look();
  EXPECT_THAT(source_.commands(), ElementsAre("Extend", "Disconnect"));
  EXPECT_FALSE(source_.has_reader());
}

TEST_F(SourceProbeTest, TheEndOfInputIsToldAtOnce) {
  source_.End();
  Look();
  ASSERT_OK(sight_.status());
  EXPECT_TRUE(sight_->end_of_input);
  EXPECT_EQ(sight_->records, 0);
}

TEST_F(SourceProbeTest, PatienceEndsWithoutAFailure) {
  Look();
  EXPECT_EQ(answers_, 0);
  executor_.Advance(absl::Seconds(5));
  ASSERT_OK(sight_.status());
  EXPECT_EQ(sight_->records, 0);
  EXPECT_FALSE(sight_->end_of_input);
}

TEST_F(SourceProbeTest, TroubleThatDidNotPassIsToldWhenTimeIsOver) {
  Look();
  source_.ReportError(/*fatal=*/false,
                      MakeError(Reason::UNAVAILABLE, "nobody answers"), "net");
  executor_.RunUntilIdle();
  EXPECT_EQ(answers_, 0);
  executor_.Advance(absl::Seconds(5));
  EXPECT_THAT(sight_.status(), HasReason("UNAVAILABLE"));
}

TEST_F(SourceProbeTest, AFatalErrorIsToldAtOnce) {
  Look();
  source_.ReportError(/*fatal=*/true,
                      MakeError(Reason::UNAUTHENTICATED, "who are you"), "net");
  executor_.RunUntilIdle();
  EXPECT_THAT(sight_.status(), HasReason("UNAUTHENTICATED"));
}

TEST_F(SourceProbeTest, OnlyBadRecordsAreAFailure) {
  source_.Append(0, {"!bad"});
  source_.End();
  Look();
  EXPECT_THAT(sight_.status(), HasReason("MALFORMED_FRAME"));
}

TEST_F(SourceProbeTest, ACallerThatGoesEndsIt) {
  const auto probe = Look();
  probe->Cancel();
  executor_.RunUntilIdle();
  EXPECT_THAT(sight_.status(), HasReason("CANCELLED"));
  EXPECT_EQ(answers_, 1);
  EXPECT_EQ(executor_.timer_count(), 0);
}

TEST_F(SourceProbeTest, OneThatIsCancelledBeforeItStartsIsAnsweredToo) {
  SourceProbeOptions options;
  options.source = source_.MakeEndpoint();
  auto probe = SourceProbe::Make(std::move(options), executor_,
                                 [this](absl::StatusOr<SourceSight> sight) {
                                   ++answers_;
                                   sight_ = std::move(sight);
                                 });
  probe->Cancel();
  probe->Start();
  executor_.RunUntilIdle();
  EXPECT_THAT(sight_.status(), HasReason("CANCELLED"));
  EXPECT_EQ(answers_, 1);
}

}  // namespace
}  // namespace penstock::core
