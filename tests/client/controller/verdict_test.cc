#include "client/controller/verdict.h"

#include "core/base/error.h"

#include <gtest/gtest.h>

namespace penstock::client {
namespace {

using core::MakeError;
using core::Reason;

Verdict Of(Reason reason) { return Judge(MakeError(reason, "test")); }

TEST(VerdictTest, SilenceIsAskedAgain) {
  EXPECT_EQ(Of(Reason::UNAVAILABLE), Verdict::kAskAgain);
  EXPECT_EQ(Of(Reason::DEADLINE), Verdict::kAskAgain);
  EXPECT_EQ(Of(Reason::SHUTTING_DOWN), Verdict::kAskAgain);
}

TEST(VerdictTest, LackOfRoomIsAskedLater) {
  EXPECT_EQ(Of(Reason::BUDGET_EXCEEDED), Verdict::kAskLater);
  EXPECT_EQ(Of(Reason::RETAINED_FULL), Verdict::kAskLater);
  EXPECT_EQ(Of(Reason::STEPS_OUTSTANDING), Verdict::kAskLater);
}

TEST(VerdictTest, AnotherControllerIsLookedUpInTheStore) {
  EXPECT_EQ(Of(Reason::STALE_EPOCH), Verdict::kAskStore);
  EXPECT_EQ(Of(Reason::EPOCH_TAKEN), Verdict::kAskStore);
  EXPECT_EQ(Of(Reason::SUPERSEDED), Verdict::kAskStore);
}

TEST(VerdictTest, ErrorsWithoutAReasonAreJudgedByTheirCode) {
  EXPECT_EQ(Judge(absl::UnavailableError("x")), Verdict::kAskAgain);
  EXPECT_EQ(Judge(absl::ResourceExhaustedError("x")), Verdict::kAskLater);
  EXPECT_EQ(Judge(absl::UnknownError("x")), Verdict::kReopen);
  EXPECT_EQ(Judge(absl::UnimplementedError("x")), Verdict::kEnd);
  EXPECT_EQ(Judge(absl::PermissionDeniedError("x")), Verdict::kEnd);
}

TEST(VerdictTest, ARefusedRowIsNotMetAgainByReopening) {
  EXPECT_EQ(Of(Reason::ROW_REFUSED), Verdict::kEnd);
  EXPECT_EQ(Of(Reason::TOO_MANY_BAD_ROWS), Verdict::kEnd);
}

TEST(VerdictTest, DataLossNeverReopens) {
  for (Reason reason : core::AllReasons()) {
    if (core::CodeOf(reason) != absl::StatusCode::kDataLoss) continue;
    EXPECT_EQ(Of(reason), Verdict::kEnd) << core::ReasonName(reason);
  }
}

TEST(VerdictTest, AVanishedInstanceIsNotTheConnectorsFault) {
  const auto fault = [](Reason reason) {
    return IsConnectorsFault(MakeError(reason, "test"));
  };
  EXPECT_FALSE(fault(Reason::INSTANCE_MISMATCH));
  EXPECT_FALSE(fault(Reason::NO_SUCH_CONNECTOR));
  EXPECT_FALSE(fault(Reason::WRITER_FENCED));
  EXPECT_FALSE(fault(Reason::UNAVAILABLE));
  EXPECT_FALSE(fault(Reason::STORAGE_FULL));
  EXPECT_TRUE(fault(Reason::CONNECTOR_FAILED));
  EXPECT_TRUE(fault(Reason::INTERNAL));
  EXPECT_TRUE(IsConnectorsFault(absl::UnknownError("x")));
}

}  // namespace
}  // namespace penstock::client
