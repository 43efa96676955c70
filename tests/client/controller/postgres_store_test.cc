#include "client/controller/postgres_store.h"

#include "core/base/error.h"
#include "core/base/mutex.h"
#include "core/base/thread.h"
#include "tests/client/controller/postgres_store_fixture.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace penstock::client {
namespace {

using core::HasReason;
using core::IsOk;
using core::IsOkAndHolds;
using core::Reason;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

TEST_F(PostgresStoreTest, NothingIsMadeUnlessItMayBe) {
  PostgresStoreOptions options = Options();
  options.create_if_missing = false;
  EXPECT_THAT(MakePostgresStore(options, executor_),
              HasReason(Reason::NOT_FOUND));
  Make(Options());
  EXPECT_THAT(MakePostgresStore(options, executor_), IsOk());
  options.place.pipeline = "another";
  EXPECT_THAT(MakePostgresStore(options, executor_),
              HasReason(Reason::NOT_FOUND));
}

TEST_F(PostgresStoreTest, TakesTheIncarnationGivenAndDrawsOneOtherwise) {
  PostgresStoreOptions options = Options();
  options.incarnation = "incarnation-of-mine";
  const auto given = Make(options);
  EXPECT_EQ(Lead(executor_, *given)->incarnation, "incarnation-of-mine");
  options.incarnation = "";
  options.place.pipeline = "another";
  const auto drawn = Make(options);
  EXPECT_THAT(Lead(executor_, *drawn)->incarnation, SizeIs(32));
}

TEST_F(PostgresStoreTest, PipelinesOfOneDatabaseDoNotTouchEachOther) {
  const auto shop = Make(Options());
  StartWithC(*shop);
  ASSERT_OK(CommitTo(*shop, JournalOf(1)));
  PostgresStoreOptions options = Options();
  options.place.pipeline = "another";
  const auto another = Make(options);
  const auto led = Lead(executor_, *another);
  ASSERT_OK(led);
  EXPECT_EQ(led->epoch, 1u);
  EXPECT_THAT(led->connectors, IsEmpty());
  ASSERT_OK(Commit(executor_, *another, 1, AddConnectorC()));
  ASSERT_OK(Commit(executor_, *another, 1, JournalOf(7)));
  ASSERT_OK(CommitTo(*shop, JournalOf(2)));
  EXPECT_THAT(ReadJournal(), ElementsAre(FullResult(1), FullResult(2)));
}

// As the version before left it.
TEST_F(PostgresStoreTest, TablesOfTheVersionBeforeAreUpgraded) {
  {
    const auto store = Make(Options());
    StartWithC(*store);
    StoreTransaction transaction = JournalOf(1);
    transaction.journal[0].result.skipped_records = 0;
    ASSERT_OK(CommitTo(*store, std::move(transaction)));
  }
  Sql("ALTER TABLE penstock_state.journal DROP COLUMN skipped_records;"
      "UPDATE penstock_state.version SET version = 1");
  const auto store = Make(Options());
  EXPECT_EQ(Scalar("SELECT version FROM penstock_state.version"), "2");
  const auto led = Lead(executor_, *store);
  ASSERT_OK(led);
  ASSERT_THAT(led->connectors.at("c").journal, SizeIs(1));
  ASSERT_OK(Commit(executor_, *store, led->epoch, JournalOf(2)));
  core::StepResult old = FullResult(1);
  old.skipped_records = 0;
  EXPECT_THAT(ReadJournal(), ElementsAre(old, FullResult(2)));
}

// More than one answer has, each row as it was.
TEST_F(PostgresStoreTest, JournalOfManyBytesIsReadInParts) {
  const auto store = Make(Options());
  StartWithC(*store);
  std::vector<core::StepResult> results;
  for (core::Step step = 1; step <= 5; ++step) {
    core::StepResult result = FullResult(step);
    result.resume = core::Resume(core::Resume::Replay{
        .seek = "{}",
        .replay = std::string(size_t{step} << 21, static_cast<char>(step))});
    StoreTransaction transaction;
    transaction.journal.push_back({"c", result});
    ASSERT_OK(CommitTo(*store, std::move(transaction)));
    results.push_back(std::move(result));
  }
  EXPECT_THAT(ReadJournal(), testing::ElementsAreArray(results));
  // A page of less than 16 MiB and one more row, then the rest.
  core::PostgresProxy proxy(core::PostgresServer::Shared().directory());
  const auto next = Make(OptionsThrough(proxy));
  proxy.SetScript(nullptr);
  auto led = Lead(executor_, *next);
  ASSERT_OK(led);
  const uint64_t many = proxy.statements();
  StoreTransaction trim;
  trim.checkpoints.push_back({"c", 4, "{}", "spec of c"});
  ASSERT_OK(Commit(executor_, *next, led->epoch, std::move(trim)));
  proxy.SetScript(nullptr);
  ASSERT_OK(Lead(executor_, *next));
  EXPECT_EQ(many, proxy.statements() + 1);
}

// Sessions that have ended have told what they did.
TEST_F(PostgresStoreTest, JournalIsTrimmedByItsIndex) {
  const auto scans = [this] {
    while (Scalar("SELECT count(*) FROM pg_stat_activity"
                  " WHERE application_name LIKE 'penstock %'") != "0") {
      Sql("SELECT pg_sleep(0.01)");
    }
    return Scalar(
        "SELECT seq_scan FROM pg_stat_user_tables"
        " WHERE schemaname = 'penstock_state' AND relname = 'journal'");
  };
  {
    const auto store = Make(Options());
    StartWithC(*store);
    for (core::Step step = 1; step <= 20; ++step) {
      ASSERT_OK(CommitTo(*store, JournalOf(step)));
    }
  }
  // Now the server knows that so few rows are read in one go fastest.
  Sql("ANALYZE penstock_state.journal");
  const std::string before = scans();
  {
    const auto store = Make(Options());
    const auto led = Lead(executor_, *store);
    ASSERT_OK(led);
    StoreTransaction trim;
    trim.checkpoints.push_back({"c", 10, "{}", "spec of c"});
    ASSERT_OK(Commit(executor_, *store, led->epoch, std::move(trim)));
  }
  EXPECT_EQ(scans(), before);
  EXPECT_THAT(ReadJournal(), SizeIs(11));
}

TEST_F(PostgresStoreTest, ManyControllersThatStartAtOnceMakeOneState) {
  std::vector<std::unique_ptr<core::Thread>> threads;
  core::Mutex mu;
  std::vector<absl::Status> opened;
  for (int i = 0; i < 4; ++i) {
    threads.push_back(std::make_unique<core::Thread>(
        absl::StrCat("controller-", i), [&](const std::stop_token&) {
          const auto store = MakePostgresStore(Options(), executor_);
          core::MutexLock lock(mu);
          opened.push_back(store.status());
        }));
  }
  threads.clear();
  EXPECT_THAT(opened, testing::Each(IsOk()));
  EXPECT_THAT(opened, SizeIs(4));
  EXPECT_EQ(Scalar("SELECT count(*) FROM penstock_state.pipelines"), "1");
}

TEST_F(PostgresStoreTest, JournalOfManyPagesComesBackInOrder) {
  const auto store = Make(Options());
  StartWithC(*store);
  StoreTransaction transaction;
  for (core::Step step = 0; step < 600; ++step) {
    transaction.journal.push_back({"c", FullResult(step)});
  }
  ASSERT_OK(CommitTo(*store, std::move(transaction)));
  const auto journal = ReadJournal();
  ASSERT_THAT(journal, SizeIs(600));
  for (core::Step step = 0; step < 600; ++step) {
    ASSERT_EQ(journal[step], FullResult(step));
  }
}

TEST_F(PostgresStoreTest, CommitsThatWaitShareOneTransaction) {
  const auto store = Make(Options());
  StartWithC(*store);
  const std::string count =
      "SELECT commits FROM penstock_state.pipelines WHERE pipeline = 'shop'";
  const int before = std::stoi(Scalar(count));
  int answered = 0;
  for (core::Step step = 0; step < 30; ++step) {
    store->Commit(epoch_, JournalOf(step), [&](absl::Status s) {
      EXPECT_THAT(s, IsOk());
      ++answered;
    });
  }
  executor_.RunUntilIdle();
  EXPECT_EQ(answered, 30);
  EXPECT_EQ(std::stoi(Scalar(count)), before + 1);
}

TEST_F(PostgresStoreTest, DestructionAnswersWhatHasNotBegun) {
  auto store = Make(Options());
  StartWithC(*store);
  std::optional<absl::Status> committed;
  store->Commit(epoch_, JournalOf(1), [&](absl::Status s) { committed = s; });
  store = nullptr;
  ASSERT_TRUE(committed.has_value());
  EXPECT_THAT(*committed, HasReason(Reason::CANCELLED));
  executor_.RunUntilIdle();
  EXPECT_THAT(ReadJournal(), IsEmpty());
}

// An administrator made the schema; the role may make nothing else.
TEST_F(PostgresStoreTest, RoleWithoutRightsIsToldWhatIsMissing) {
  Sql("DROP ROLE IF EXISTS keeper");
  Sql("CREATE ROLE keeper LOGIN PASSWORD 'hidden-word'");
  PostgresStoreOptions options = Options();
  options.place.conninfo = *core::Conninfo::Parse(
      absl::StrCat(conninfo_, " user=keeper password=hidden-word"));
  const auto refused = MakePostgresStore(options, executor_);
  EXPECT_THAT(refused, HasReason(Reason::PERMISSION_DENIED));
  const std::string message(refused.status().message());
  EXPECT_THAT(message, HasSubstr("CREATE SCHEMA penstock_state AUTHORIZATION"));
  EXPECT_THAT(message, Not(HasSubstr("hidden-word")));
  Sql("CREATE SCHEMA penstock_state AUTHORIZATION keeper");
  EXPECT_THAT(MakePostgresStore(options, executor_), IsOk());
  Sql("DROP OWNED BY keeper");
  Sql("DROP ROLE keeper");
}

TEST_F(PostgresStoreTest, MissingDatabaseIsNamedAndNoDamage) {
  PostgresStoreOptions options = Options();
  options.place.conninfo =
      *core::Conninfo::Parse(absl::StrCat(conninfo_, " dbname=nowhere"));
  const auto missing = MakePostgresStore(options, executor_);
  EXPECT_THAT(missing, HasReason(Reason::NOT_FOUND));
  EXPECT_THAT(std::string(missing.status().message()), HasSubstr("nowhere"));
}

TEST_F(PostgresStoreTest, ServerThatIsAwayIsUnavailable) {
  PostgresStoreOptions options = Options();
  options.place.conninfo =
      *core::Conninfo::Parse("host=/nowhere user=postgres dbname=state");
  EXPECT_THAT(MakePostgresStore(options, executor_),
              HasReason(Reason::UNAVAILABLE));
}

TEST_F(PostgresStoreTest, EpochIsTakenOnlyByTheHolderOfTheLease) {
  PostgresStoreOptions options = Options();
  options.lease_holder = "me";
  const auto store = Make(options);
  EXPECT_THAT(Lead(executor_, *store), HasReason(Reason::STALE_EPOCH));
  EXPECT_THAT(EpochOf(executor_, *store), IsOkAndHolds(0u));
  Sql("UPDATE penstock_state.leases SET holder = 'me'");
  EXPECT_THAT(Lead(executor_, *store), IsOk());
  EXPECT_THAT(EpochOf(executor_, *store), IsOkAndHolds(1u));
}

}  // namespace
}  // namespace penstock::client
