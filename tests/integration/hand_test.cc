// A person at the gates, against a real worker and a real store.
#include "client/cli/hand.h"

#include "client/controller/sqlite_store.h"
#include "core/base/error.h"
#include "core/base/thread_pool_executor.h"
#include "proto/wire/spec.h"
#include "tests/integration/caller.h"
#include "tests/integration/real_worker.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

namespace penstock::client {
namespace {

using core::HasReason;
using core::Reason;
using testing::HasSubstr;

// A command that is killed once the worker answered: nothing of what it did is
// stored any more.
class DiesBeforeItStores final : public StateStore {
 public:
  explicit DiesBeforeItStores(StateStore& store) : store_(store) {}
  void TakeLeadership(Reply<StoredPipeline> reply) override {
    store_.TakeLeadership(std::move(reply));
  }
  void Commit(uint64_t epoch, StoreTransaction transaction,
              Done done) override {
    if (!transaction.opened.empty() || !transaction.journal.empty()) {
      return done(core::MakeError(Reason::IO_ERROR, "killed"));
    }
    store_.Commit(epoch, std::move(transaction), std::move(done));
  }
  void ReadEpoch(Reply<uint64_t> reply) override {
    store_.ReadEpoch(std::move(reply));
  }

 private:
  StateStore& store_;
};

class HandTest : public ::testing::Test {
 protected:
  HandTest() {
    options_.pipeline = "shop";
    options_.controller_id = "hand";
    options_.check_spec_change = [](const std::string&, const std::string&) {
      return TakesEffect::kAtCleanCheckpoint;
    };
    auto store = MakeSqliteStore(worker_.directory().Path("state.db"),
                                 {.create_if_missing = true}, executor_);
    EXPECT_OK(store);
    store_ = *std::move(store);
    Configure(/*shards=*/2);
  }

  void Configure(uint32_t shards) {
    const core::ConnectorSpec spec =
        LinesSpec("orders", worker_.Write("in", Lines("line ", 5000)),
                  worker_.directory().Path("out"), shards);
    options_.connectors = {{.name = "orders",
                            .spec_bytes = wire::SpecToBytes(spec),
                            .level = spec.level,
                            .worker = 0}};
  }
  // As a command of its own.
  Hand Take() {
    options_.nonce = absl::StrCat("nonce-of-hand-", ++hands_);
    auto hand = Hand::Take(worker_.control(), *store_, options_, "orders");
    EXPECT_OK(hand);
    return *std::move(hand);
  }
  core::QueueRequest Small() {
    core::QueueRequest request;
    request.wait = absl::Seconds(10);
    request.max_records = 100;
    return request;
  }

  RealWorker worker_;
  core::ThreadPoolExecutor executor_{"store", 1};
  std::unique_ptr<StateStore> store_;
  ControllerOptions options_;
  int hands_ = 0;
};

// The life goes on with what it was opened with, and so does the journal: under
// another number of shards its steps would go elsewhere when they are replayed.
TEST_F(HandTest, AnEditedFileChangesNothingUntilTheNextOpen) {
  ASSERT_OK(Take().Open(false));
  ASSERT_OK(Take().Extend());
  ASSERT_OK(Take().Queue(Small()));
  ASSERT_OK(Take().Release());
  ASSERT_OK(Take().Checkpoint(absl::Seconds(10)));
  Configure(/*shards=*/3);
  Hand hand = Take();
  EXPECT_TRUE(hand.is_edited());
  ASSERT_OK(hand.Queue(Small()));
  ASSERT_OK(Take().Release());
  // The journal is replayed with the specification that made it.
  auto reopened = Take().Open(true);
  ASSERT_OK(reopened);
  EXPECT_EQ(reopened->reply.shard_progress.size(), 2u);
  EXPECT_EQ(reopened->steps_to_replay, 1u);
  ASSERT_OK(Take().ReplayNext());
  ASSERT_OK(Take().Checkpoint(absl::Seconds(10)));
  reopened = Take().Open(true);
  ASSERT_OK(reopened);
  EXPECT_EQ(reopened->reply.shard_progress.size(), 3u);
  EXPECT_FALSE(Take().is_edited());
}

// Its target's progress would be taken for that of a first open.
TEST_F(HandTest, NothingIsDoneToALifeWhoseOpenWasNotStored) {
  DiesBeforeItStores dies(*store_);
  options_.nonce = "nonce-of-one-that-is-killed";
  auto killed = Hand::Take(worker_.control(), dies, options_, "orders");
  ASSERT_OK(killed);
  EXPECT_THAT(killed->Open(false).status(), HasReason(Reason::IO_ERROR));
  EXPECT_THAT(Take().Extend(), HasReason(Reason::ILLEGAL_TRANSITION));
  EXPECT_THAT(Take().Queue(Small()).status(),
              HasReason(Reason::ILLEGAL_TRANSITION));
  EXPECT_THAT(Take().Checkpoint(absl::ZeroDuration()).status(),
              HasReason(Reason::ILLEGAL_TRANSITION));
  const absl::Status again = Take().Open(false).status();
  EXPECT_THAT(again, HasReason(Reason::ALREADY_EXISTS));
  EXPECT_THAT(std::string(again.message()), HasSubstr("--reopen"));
  ASSERT_OK(Take().Open(true));
  EXPECT_OK(Take().Extend());
}

// A command that dies between the worker's answer and the journal.
TEST_F(HandTest, WhatAKilledCommandMadeTheNextOneJournals) {
  ASSERT_OK(Take().Open(false));
  ASSERT_OK(Take().Extend());
  ASSERT_OK(Take().Queue(Small()));
  DiesBeforeItStores dies(*store_);
  options_.nonce = "nonce-of-one-that-is-killed";
  auto killed = Hand::Take(worker_.control(), dies, options_, "orders");
  ASSERT_OK(killed);
  EXPECT_THAT(killed->Queue(Small()).status(), HasReason(Reason::IO_ERROR));
  auto released = Take().Release();
  ASSERT_OK(released);
  EXPECT_EQ(*released, 2u);
  auto reopened = Take().Open(true);
  ASSERT_OK(reopened);
  EXPECT_EQ(reopened->steps_to_replay, 2u);
  for (int step = 0; step < 2; ++step) ASSERT_OK(Take().ReplayNext());
  EXPECT_OK(Take().Extend());
}

}  // namespace
}  // namespace penstock::client
