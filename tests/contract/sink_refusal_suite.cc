// The part of the suite about rows that a target refuses (INV-11).
#include "core/base/error.h"
#include "core/contract/sink_error.h"
#include "tests/contract/sink_suite.h"
#include "tests/support/status_matchers.h"

#include <absl/status/status.h>
#include <gmock/gmock.h>

namespace penstock::core {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

}  // namespace

TEST_P(SinkContractTest, SaysWhetherItTellsRowsApart) {
  EXPECT_EQ(driver_->Make()->TellsRowsApart(), capabilities_.tells_rows_apart);
}

TEST_P(SinkContractTest, WithoutProbesItSaysSo) {
  PENSTOCK_SKIP_UNLESS(!capabilities_.tells_rows_apart && ExactlyOnce());
  SinkRun run(*driver_, FirstOpen());
  ASSERT_OK(run.opened());
  EXPECT_THAT(run.Probe(0, {0, 1}, {"a"}), HasReason(Reason::UNSUPPORTED));
}

TEST_P(SinkContractTest, RefusedRowRollsTheWholeBatchBack) {
  PENSTOCK_SKIP_UNLESS(capabilities_.tells_rows_apart && KeepsExactlyOnce());
  SinkRun run(*driver_, FirstOpen());
  ASSERT_OK(run.opened());
  const absl::Status refused =
      run.WriteAndCommit(0, {0, 1}, {"a", driver_->RefusedRow(), "b"});
  ASSERT_THAT(refused, Not(IsOk()));
  EXPECT_EQ(KindOfSinkError(refused), SinkErrorKind::kBadRow) << refused;
  EXPECT_THAT(driver_->ReadBack(0), IsEmpty());
  ASSERT_OK(run.WriteAndCommit(0, {0, 1}, {"a", "b"}));
  EXPECT_THAT(driver_->ReadBack(0), ElementsAre("a", "b"));
}

TEST_P(SinkContractTest, ProbeOfGoodRowsLeavesNothing) {
  PENSTOCK_SKIP_UNLESS(capabilities_.tells_rows_apart && KeepsExactlyOnce());
  {
    SinkRun run(*driver_, FirstOpen());
    ASSERT_OK(run.opened());
    ASSERT_OK(run.WriteAndCommit(0, {0, 1}, {"a"}));
    EXPECT_OK(run.Probe(0, {1, 2}, {"b", "c"}));
    EXPECT_THAT(driver_->ReadBack(0), ElementsAre("a"));
  }
  SinkRun next(*driver_, Reopen(2));
  EXPECT_THAT(next.opened(), IsOkAndHolds(ElementsAre(1, 0)));
  ASSERT_OK(next.WriteAndCommit(0, {1, 2}, {"b"}));
  EXPECT_THAT(driver_->ReadBack(0), ElementsAre("a", "b"));
}

TEST_P(SinkContractTest, ProbeOfARefusedRowSaysSoAndLeavesNothing) {
  PENSTOCK_SKIP_UNLESS(capabilities_.tells_rows_apart && KeepsExactlyOnce());
  SinkRun run(*driver_, FirstOpen());
  ASSERT_OK(run.opened());
  const absl::Status refused =
      run.Probe(0, {0, 1}, {"a", driver_->RefusedRow()});
  ASSERT_THAT(refused, Not(IsOk()));
  EXPECT_EQ(KindOfSinkError(refused), SinkErrorKind::kBadRow) << refused;
  // If it names a row, then this one.
  EXPECT_EQ(RefusedRow(refused).value_or(1), 1u);
  ASSERT_OK(run.WriteAndCommit(0, {0, 1}, {"a"}));
  EXPECT_THAT(driver_->ReadBack(0), ElementsAre("a"));
}

TEST_P(SinkContractTest, BatchThatWasProbedCannotBeCommitted) {
  PENSTOCK_SKIP_UNLESS(capabilities_.tells_rows_apart && KeepsExactlyOnce());
  SinkRun run(*driver_, FirstOpen());
  ASSERT_OK(run.opened());
  ASSERT_OK(run.Probe(0, {0, 1}, {"a"}));
  EXPECT_THAT(run.End(0), Not(IsOk()));
  EXPECT_THAT(driver_->ReadBack(0), IsEmpty());
}

// Else the rows of a commit whose answer was lost would be taken for bad.
TEST_P(SinkContractTest, ProbeOfABatchCommittedBeforeIsOk) {
  PENSTOCK_SKIP_UNLESS(capabilities_.tells_rows_apart && KeepsExactlyOnce());
  SinkRun run(*driver_, FirstOpen());
  ASSERT_OK(run.opened());
  ASSERT_OK(run.WriteAndCommit(0, {0, 1}, {"a"}));
  EXPECT_OK(run.Probe(0, {0, 1}, {"a", driver_->RefusedRow()}));
  EXPECT_THAT(driver_->ReadBack(0), ElementsAre("a"));
}

}  // namespace penstock::core
