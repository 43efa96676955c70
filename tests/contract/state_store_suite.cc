// The tests of the contract suite for state stores; see state_store_suite.h.
#include "tests/contract/state_store_suite.h"

#include "core/base/error.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>

#include <utility>
#include <vector>

namespace penstock::client {

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StateStoreContractTest);

using core::HasReason;
using core::IsOk;
using core::Reason;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

void StateStoreContractTest::StartWithC() {
  const auto pipeline = Lead(executor_, *store_);
  ASSERT_OK(pipeline);
  epoch_ = pipeline->epoch;
  ASSERT_OK(CommitNow(AddConnectorC()));
}

StoredConnector StateStoreContractTest::ReadBack() {
  const std::unique_ptr<StateStore> store = driver_->Make(executor_);
  const auto pipeline = Lead(executor_, *store);
  EXPECT_OK(pipeline);
  if (!pipeline.ok() || pipeline->connectors.count("c") == 0) return {};
  return pipeline->connectors.at("c");
}

namespace {

StoreTransaction JournalOf(std::vector<core::StepResult> results) {
  StoreTransaction transaction;
  for (core::StepResult& result : results) {
    transaction.journal.push_back({"c", std::move(result)});
  }
  return transaction;
}

StoreTransaction CheckpointAt(core::Step steps,
                              std::string spec = "spec of c") {
  StoreTransaction transaction;
  transaction.checkpoints.push_back(
      {"c", steps, absl::StrCat("{\"at\":", steps, "}"), std::move(spec)});
  return transaction;
}

StoreTransaction OpenedAt(std::string position) {
  StoreTransaction transaction;
  transaction.opened.push_back({"c", std::move(position)});
  return transaction;
}

// --- Leadership --------------------------------------------------------------

TEST_P(StateStoreContractTest, ANewStateIsEmptyAndHasAnIncarnation) {
  const auto pipeline = Lead(executor_, *store_);
  ASSERT_OK(pipeline);
  EXPECT_FALSE(pipeline->incarnation.empty());
  EXPECT_EQ(pipeline->epoch, 1u);
  EXPECT_THAT(pipeline->connectors, IsEmpty());
}

TEST_P(StateStoreContractTest, EachLeaderTakesTheNextEpochOfOneIncarnation) {
  const auto first = Lead(executor_, *store_);
  const auto second_store = driver_->Make(executor_);
  const auto second = Lead(executor_, *second_store);
  const auto third = Lead(executor_, *second_store);
  ASSERT_OK(first);
  ASSERT_OK(second);
  ASSERT_OK(third);
  EXPECT_EQ(first->incarnation, third->incarnation);
  EXPECT_EQ(second->epoch, 2u);
  EXPECT_EQ(third->epoch, 3u);
  EXPECT_THAT(EpochOf(executor_, *store_), core::IsOkAndHolds(3u));
}

TEST_P(StateStoreContractTest, AnOldLeaderCommitsNothing) {
  StartWithC();
  const auto newer = driver_->Make(executor_);
  ASSERT_OK(Lead(executor_, *newer));
  EXPECT_THAT(CommitNow(JournalOf({FullResult(0)})),
              HasReason(Reason::STALE_EPOCH));
  EXPECT_THAT(CommitNow(OpenedAt("{}")), HasReason(Reason::STALE_EPOCH));
  const StoredConnector stored = ReadBack();
  EXPECT_THAT(stored.journal, IsEmpty());
  EXPECT_FALSE(stored.opened);
}

TEST_P(StateStoreContractTest, AnEpochThatWasNotTakenCommitsNothing) {
  StartWithC();
  EXPECT_THAT(Commit(executor_, *store_, epoch_ + 1, OpenedAt("{}")),
              HasReason(Reason::STALE_EPOCH));
  EXPECT_THAT(Commit(executor_, *store_, epoch_ - 1, OpenedAt("{}")),
              HasReason(Reason::STALE_EPOCH));
  EXPECT_FALSE(ReadBack().opened);
}

TEST_P(StateStoreContractTest, ANewLeaderFindsWhatTheOldOneCommitted) {
  StartWithC();
  ASSERT_OK(CommitNow(OpenedAt("{\"z\":1,\"a\":2}")));
  ASSERT_OK(CommitNow(JournalOf({FullResult(0), FullResult(3)})));
  const StoredConnector stored = ReadBack();
  EXPECT_EQ(stored.spec_bytes, "spec of c");
  EXPECT_TRUE(stored.opened);
  EXPECT_EQ(stored.position, "{\"z\":1,\"a\":2}");
  EXPECT_EQ(stored.reserved_steps, 1000u);
  EXPECT_THAT(stored.journal, ElementsAre(FullResult(0), FullResult(3)));
}

// --- Rows --------------------------------------------------------------------

TEST_P(StateStoreContractTest, EveryFieldOfAResultComesBackByteForByte) {
  StartWithC();
  core::StepResult barrier;
  barrier.step = 1;
  core::StepResult seek;
  seek.step = 2;
  seek.resume = core::Resume(core::Resume::Seek{.seek = ""});
  core::StepResult no_data;
  no_data.step = 3;
  no_data.resume = core::Resume(core::Resume::Replay{
      .seek = std::string("\0\n", 2), .replay = "", .hash = 0});
  no_data.transaction_label = "";
  ASSERT_OK(CommitNow(JournalOf({FullResult(0), barrier, seek, no_data})));
  EXPECT_THAT(ReadBack().journal,
              ElementsAre(FullResult(0), barrier, seek, no_data));
}

TEST_P(StateStoreContractTest, NumbersUseAll64Bits) {
  StartWithC();
  constexpr core::Step kHigh = 0xfffffffffffffff0;
  StoreTransaction transaction;
  transaction.reserve_steps.push_back({"c", 0xffffffffffffffff});
  transaction.reserve_writers.push_back({"c", 0xfffffffffffffffe});
  ASSERT_OK(CommitNow(std::move(transaction)));
  ASSERT_OK(CommitNow(
      JournalOf({FullResult(5), FullResult(uint64_t{1} << 63),
                 FullResult(kHigh), FullResult((uint64_t{1} << 63) - 1)})));
  ASSERT_OK(CommitNow(CheckpointAt(uint64_t{1} << 63)));
  const StoredConnector stored = ReadBack();
  EXPECT_EQ(stored.open_number, 0xfffffffffffffffe);
  EXPECT_EQ(stored.reserved_steps, 0xffffffffffffffff);
  EXPECT_EQ(stored.base_steps, uint64_t{1} << 63);
  EXPECT_THAT(stored.journal,
              ElementsAre(FullResult(uint64_t{1} << 63), FullResult(kHigh)));
}

TEST_P(StateStoreContractTest, ARowIsNeverReplaced) {
  StartWithC();
  ASSERT_OK(CommitNow(JournalOf({FullResult(4)})));
  core::StepResult other = FullResult(4);
  other.amount.records += 1;
  EXPECT_THAT(CommitNow(JournalOf({FullResult(5), other})),
              HasReason(Reason::ALREADY_EXISTS));
  EXPECT_THAT(ReadBack().journal, ElementsAre(FullResult(4)))
      << "nothing of a refused transaction remains";
}

TEST_P(StateStoreContractTest, ATransactionMayBeCommittedAgain) {
  StartWithC();
  StoreTransaction transaction = AddConnectorC();
  transaction.reserve_writers.push_back({"c", 3});
  transaction.opened.push_back({"c", "{}"});
  transaction.journal.push_back({"c", FullResult(2)});
  transaction.checkpoints.push_back({"c", 2, "{\"at\":2}", "spec of c"});
  transaction.user_paused.push_back({"c", true});
  transaction.replace_specs.push_back({"c", "spec of c"});
  ASSERT_OK(CommitNow(transaction));
  ASSERT_OK(CommitNow(transaction));
  const StoredConnector stored = ReadBack();
  EXPECT_THAT(stored.journal, ElementsAre(FullResult(2)));
  EXPECT_EQ(stored.open_number, 3u);
  EXPECT_EQ(stored.position, "{\"at\":2}");
  EXPECT_TRUE(stored.user_paused);
}

TEST_P(StateStoreContractTest, OnlyReservedStepsAtOrAboveTheBaseAreJournaled) {
  StartWithC();
  ASSERT_OK(CommitNow(CheckpointAt(10)));
  EXPECT_THAT(CommitNow(JournalOf({FullResult(9)})),
              HasReason(Reason::INVALID_REQUEST));
  EXPECT_THAT(CommitNow(JournalOf({FullResult(1000)})),
              HasReason(Reason::INVALID_REQUEST));
  ASSERT_OK(CommitNow(JournalOf({FullResult(10), FullResult(999)})));
}

TEST_P(StateStoreContractTest, WhatIsNotThereIsNamed) {
  StartWithC();
  StoreTransaction transaction;
  transaction.user_paused.push_back({"d", true});
  EXPECT_THAT(CommitNow(transaction), HasReason(Reason::NO_SUCH_CONNECTOR));
  StoreTransaction journal;
  journal.journal.push_back({"d", FullResult(1)});
  EXPECT_THAT(CommitNow(journal), HasReason(Reason::NO_SUCH_CONNECTOR));
}

TEST_P(StateStoreContractTest, ReservationsOnlyRise) {
  StartWithC();
  StoreTransaction transaction;
  transaction.reserve_steps.push_back({"c", 500});
  transaction.reserve_writers.push_back({"c", 8});
  ASSERT_OK(CommitNow(transaction));
  transaction.reserve_writers[0].open_number = 7;
  ASSERT_OK(CommitNow(transaction));
  const StoredConnector stored = ReadBack();
  EXPECT_EQ(stored.reserved_steps, 1000u);
  EXPECT_EQ(stored.open_number, 8u);
}

TEST_P(StateStoreContractTest, AConnectorStartsWithWhatItsBaseReserves) {
  StartWithC();
  StoreTransaction transaction;
  transaction.add_connectors.push_back({"d", "spec of d", 40});
  transaction.journal.push_back({"d", FullResult(40)});
  EXPECT_THAT(CommitNow(transaction), HasReason(Reason::INVALID_REQUEST));
  transaction.journal.clear();
  ASSERT_OK(CommitNow(transaction));
  transaction.checkpoints.push_back({"d", 40, "p", "spec of d"});
  ASSERT_OK(CommitNow(transaction));
}

TEST_P(StateStoreContractTest, ASpecMayChangeUntilItWasOpened) {
  StartWithC();
  StoreTransaction transaction;
  transaction.add_connectors.push_back({"c", "new spec", 0});
  ASSERT_OK(CommitNow(transaction));
  ASSERT_OK(CommitNow(OpenedAt("{}")));
  ASSERT_OK(CommitNow(transaction)) << "the same again";
  transaction.add_connectors[0].spec_bytes = "newer spec";
  EXPECT_THAT(CommitNow(transaction), HasReason(Reason::ALREADY_EXISTS));
  EXPECT_EQ(ReadBack().spec_bytes, "new spec");
}

// --- Checkpoints -------------------------------------------------------------

TEST_P(StateStoreContractTest, ACheckpointTrimsItsOwnRowsOnly) {
  StartWithC();
  StoreTransaction other;
  other.add_connectors.push_back({"d", "spec of d", 0});
  other.reserve_steps.push_back({"d", 10});
  other.journal.push_back({"d", FullResult(1)});
  ASSERT_OK(CommitNow(std::move(other)));
  ASSERT_OK(
      CommitNow(JournalOf({FullResult(1), FullResult(2), FullResult(7)})));
  ASSERT_OK(CommitNow(CheckpointAt(3)));
  const auto store = driver_->Make(executor_);
  const auto pipeline = Lead(executor_, *store);
  ASSERT_OK(pipeline);
  EXPECT_THAT(pipeline->connectors.at("c").journal, ElementsAre(FullResult(7)));
  EXPECT_EQ(pipeline->connectors.at("c").base_steps, 3u);
  EXPECT_EQ(pipeline->connectors.at("c").position, "{\"at\":3}");
  EXPECT_THAT(pipeline->connectors.at("d").journal, SizeIs(1));
}

TEST_P(StateStoreContractTest, ACheckpointNeverGoesBackNorAboveReservations) {
  StartWithC();
  ASSERT_OK(CommitNow(CheckpointAt(5)));
  EXPECT_THAT(CommitNow(CheckpointAt(4)), HasReason(Reason::INVALID_REQUEST));
  EXPECT_THAT(CommitNow(CheckpointAt(1001)),
              HasReason(Reason::INVALID_REQUEST));
  ASSERT_OK(CommitNow(CheckpointAt(1000)));
}

TEST_P(StateStoreContractTest, ASpecChangesOnlyWhereNothingIsLeftToReplay) {
  StartWithC();
  ASSERT_OK(CommitNow(JournalOf({FullResult(1), FullResult(2)})));
  EXPECT_THAT(CommitNow(CheckpointAt(2, "new spec")),
              HasReason(Reason::INVALID_REQUEST));
  ASSERT_OK(CommitNow(CheckpointAt(3, "new spec")));
  EXPECT_EQ(ReadBack().spec_bytes, "new spec");
}

TEST_P(StateStoreContractTest, ASpecIsReplacedUnderTheJournalIfThatIsMeant) {
  StartWithC();
  ASSERT_OK(CommitNow(JournalOf({FullResult(1), FullResult(2)})));
  StoreTransaction transaction;
  transaction.replace_specs.push_back({"c", "new spec"});
  ASSERT_OK(CommitNow(transaction));
  transaction.replace_specs[0].connector = "d";
  EXPECT_THAT(CommitNow(transaction), HasReason(Reason::NO_SUCH_CONNECTOR));
  const StoredConnector stored = ReadBack();
  EXPECT_EQ(stored.spec_bytes, "new spec");
  EXPECT_THAT(stored.journal, ElementsAre(FullResult(1), FullResult(2)));
}

// --- Order and independence --------------------------------------------------

TEST_P(StateStoreContractTest, CallsThatOverlapCommitInTheirOrder) {
  StartWithC();
  std::vector<int> answered;
  StoreTransaction first = OpenedAt("first");
  StoreTransaction second = OpenedAt("second");
  store_->Commit(epoch_, JournalOf({FullResult(1)}), [&](absl::Status s) {
    EXPECT_THAT(s, IsOk());
    answered.push_back(0);
  });
  store_->Commit(epoch_, first, [&](absl::Status s) {
    EXPECT_THAT(s, IsOk());
    answered.push_back(1);
  });
  store_->Commit(epoch_, second, [&](absl::Status s) {
    EXPECT_THAT(s, IsOk());
    answered.push_back(2);
  });
  executor_.RunUntilIdle();
  EXPECT_THAT(answered, ElementsAre(0, 1, 2));
  const StoredConnector stored = ReadBack();
  EXPECT_EQ(stored.position, "second");
  EXPECT_THAT(stored.journal, SizeIs(1));
}

TEST_P(StateStoreContractTest, ARefusedCallTouchesNoOther) {
  StartWithC();
  ASSERT_OK(CommitNow(JournalOf({FullResult(1)})));
  core::StepResult other = FullResult(1);
  other.end_of_input = false;
  std::vector<absl::Status> answers;
  const auto record = [&](absl::Status s) { answers.push_back(std::move(s)); };
  store_->Commit(epoch_, JournalOf({FullResult(2)}), record);
  store_->Commit(epoch_, JournalOf({FullResult(3), other}), record);
  store_->Commit(epoch_, JournalOf({FullResult(4)}), record);
  store_->Commit(epoch_ - 1, JournalOf({FullResult(5)}), record);
  executor_.RunUntilIdle();
  ASSERT_THAT(answers, SizeIs(4));
  EXPECT_THAT(answers[0], IsOk());
  EXPECT_THAT(answers[1], HasReason(Reason::ALREADY_EXISTS));
  EXPECT_THAT(answers[2], IsOk());
  EXPECT_THAT(answers[3], HasReason(Reason::STALE_EPOCH));
  EXPECT_THAT(ReadBack().journal,
              ElementsAre(FullResult(1), FullResult(2), FullResult(4)));
}

TEST_P(StateStoreContractTest, LeadershipIsTakenBetweenCommits) {
  StartWithC();
  std::vector<absl::Status> answers;
  const auto record = [&](absl::Status s) { answers.push_back(std::move(s)); };
  store_->Commit(epoch_, JournalOf({FullResult(1)}), record);
  std::optional<absl::StatusOr<StoredPipeline>> led;
  store_->TakeLeadership(
      [&](absl::StatusOr<StoredPipeline> pipeline) { led = pipeline; });
  store_->Commit(epoch_, JournalOf({FullResult(2)}), record);
  executor_.RunUntilIdle();
  ASSERT_OK(*led);
  EXPECT_EQ((*led)->epoch, epoch_ + 1);
  EXPECT_THAT((*led)->connectors.at("c").journal, SizeIs(1));
  ASSERT_THAT(answers, SizeIs(2));
  EXPECT_THAT(answers[0], IsOk());
  EXPECT_THAT(answers[1], HasReason(Reason::STALE_EPOCH));
}

}  // namespace
}  // namespace penstock::client
