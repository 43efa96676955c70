#include "client/controller/sqlite_store.h"

#include "client/controller/sqlite_database.h"
#include "core/base/error.h"
#include "core/base/filesystem.h"
#include "core/base/notification.h"
#include "core/base/thread_pool_executor.h"
#include "tests/client/controller/faulty_vfs.h"
#include "tests/contract/store_calls.h"
#include "tests/support/manual_executor.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace penstock::client {
namespace {

using core::HasReason;
using core::IsOk;
using core::IsOkAndHolds;
using core::Reason;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

SqliteStoreOptions Create(std::string incarnation = "") {
  SqliteStoreOptions options;
  options.create_if_missing = true;
  options.incarnation = std::move(incarnation);
  options.busy_timeout = absl::ZeroDuration();
  return options;
}

StoreTransaction JournalOf(core::Step step) {
  StoreTransaction transaction;
  transaction.journal.push_back({"c", FullResult(step)});
  return transaction;
}

class SqliteStoreTest : public testing::Test {
 protected:
  std::unique_ptr<StateStore> Make(const SqliteStoreOptions& options) {
    auto store = MakeSqliteStore(path_, options, executor_);
    EXPECT_THAT(store, IsOk());
    return store.ok() ? *std::move(store) : nullptr;
  }
  // A store whose handle leads and holds connector "c".
  std::unique_ptr<StateStore> MakeWithC(const SqliteStoreOptions& options) {
    auto store = Make(options);
    epoch_ = Lead(executor_, *store)->epoch;
    EXPECT_OK(Commit(executor_, *store, epoch_, AddConnectorC()));
    return store;
  }
  std::vector<core::StepResult> ReadJournal() {
    const auto store = Make({});
    return Lead(executor_, *store)->connectors.at("c").journal;
  }

  core::TempDir directory_;
  const std::string path_ = directory_.Path("store.db");
  core::ManualExecutor executor_;
  uint64_t epoch_ = 0;
};

TEST_F(SqliteStoreTest, AMissingFileIsNoFirstRunUnlessItMayBe) {
  EXPECT_THAT(MakeSqliteStore(path_, {}, executor_),
              HasReason(Reason::NOT_FOUND));
  Make(Create());
  EXPECT_THAT(MakeSqliteStore(path_, {}, executor_), IsOk());
}

TEST_F(SqliteStoreTest, MakingLeavesNothingButTheStore) {
  Make(Create());
  const auto names = core::PosixFileSystem().List(directory_.path());
  EXPECT_THAT(names, IsOkAndHolds(ElementsAre("store.db")));
}

TEST_F(SqliteStoreTest, MakingInAMissingDirectoryFailsWithAReason) {
  EXPECT_THAT(
      MakeSqliteStore(directory_.Path("none/store.db"), Create(), executor_),
      HasReason(Reason::IO_ERROR));
}

TEST_F(SqliteStoreTest, TakesTheIncarnationGivenAndDrawsOneOtherwise) {
  auto given = Make(Create("incarnation-of-mine"));
  EXPECT_EQ(Lead(executor_, *given)->incarnation, "incarnation-of-mine");
  const std::string other = directory_.Path("other.db");
  auto first = *MakeSqliteStore(other, Create(), executor_);
  const std::string third = directory_.Path("third.db");
  auto second = *MakeSqliteStore(third, Create(), executor_);
  EXPECT_NE(Lead(executor_, *first)->incarnation,
            Lead(executor_, *second)->incarnation);
}

TEST_F(SqliteStoreTest, ASecondProcessTakesTheLeadForGood) {
  const auto old = MakeWithC(Create());
  const pid_t child = fork();
  if (child == 0) {
    // Another process, with an executor and a connection of its own.
    core::ManualExecutor executor;
    auto store = MakeSqliteStore(path_, {}, executor);
    if (!store.ok()) _exit(2);
    const auto led = Lead(executor, **store);
    if (!led.ok() || led->epoch != epoch_ + 1) _exit(3);
    if (!Commit(executor, **store, led->epoch, JournalOf(1)).ok()) _exit(4);
    _exit(0);  // As SIGKILL: nothing is closed.
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  ASSERT_EQ(WEXITSTATUS(status), 0);
  EXPECT_THAT(Commit(executor_, *old, epoch_, JournalOf(2)),
              HasReason(Reason::STALE_EPOCH));
  EXPECT_THAT(EpochOf(executor_, *old), IsOkAndHolds(epoch_ + 1));
  EXPECT_THAT(ReadJournal(), ElementsAre(FullResult(1)));
}

TEST_F(SqliteStoreTest, WhatWasAnsweredSurvivesAKilledProcess) {
  Make(Create());
  const pid_t child = fork();
  if (child == 0) {
    core::ManualExecutor executor;
    auto store = MakeSqliteStore(path_, {}, executor);
    if (!store.ok() || !Lead(executor, **store).ok()) _exit(2);
    if (!Commit(executor, **store, 1, AddConnectorC()).ok()) _exit(3);
    for (core::Step step = 0; step < 20; ++step) {
      if (!Commit(executor, **store, 1, JournalOf(step)).ok()) _exit(4);
    }
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  EXPECT_THAT(ReadJournal(), SizeIs(20));
}

TEST_F(SqliteStoreTest, CommitsThatWaitShareOneSync) {
  FaultyVfs vfs;
  SqliteStoreOptions options = Create();
  options.vfs = vfs.name();
  auto store = MakeWithC(options);
  const int before = vfs.syncs();
  int answered = 0;
  for (core::Step step = 0; step < 30; ++step) {
    store->Commit(epoch_, JournalOf(step), [&](absl::Status s) {
      EXPECT_THAT(s, IsOk());
      ++answered;
    });
  }
  executor_.RunUntilIdle();
  EXPECT_EQ(answered, 30);
  EXPECT_EQ(vfs.syncs(), before + 1);
  store = nullptr;
}

TEST_F(SqliteStoreTest, EachCommitIsSyncedBeforeItIsAnswered) {
  FaultyVfs vfs;
  SqliteStoreOptions options = Create();
  options.vfs = vfs.name();
  auto store = MakeWithC(options);
  for (core::Step step = 0; step < 5; ++step) {
    const int before = vfs.syncs();
    ASSERT_OK(Commit(executor_, *store, epoch_, JournalOf(step)));
    EXPECT_GE(vfs.syncs(), before + 1);
  }
  store = nullptr;
}

TEST_F(SqliteStoreTest, AFailedSyncIsResolvedByReading) {
  FaultyVfs vfs;
  SqliteStoreOptions options = Create();
  options.vfs = vfs.name();
  auto store = MakeWithC(options);
  vfs.FailSyncs(1);
  const absl::Status status = Commit(executor_, *store, epoch_, JournalOf(1));
  // Whatever it says must be true.
  if (status.ok()) {
    EXPECT_THAT(ReadJournal(), ElementsAre(FullResult(1)));
  } else {
    EXPECT_THAT(status, HasReason(Reason::IO_ERROR));
    EXPECT_THAT(ReadJournal(), IsEmpty());
  }
  store = nullptr;
}

TEST_F(SqliteStoreTest, AfterAFailedSyncTheHandleGoesOn) {
  FaultyVfs vfs;
  SqliteStoreOptions options = Create();
  options.vfs = vfs.name();
  auto store = MakeWithC(options);
  vfs.FailSyncs(1);
  (void)Commit(executor_, *store, epoch_, JournalOf(1));
  ASSERT_OK(Commit(executor_, *store, epoch_, JournalOf(1)))
      << "the same again, as the controller does";
  ASSERT_OK(Commit(executor_, *store, epoch_, JournalOf(2)));
  EXPECT_THAT(ReadJournal(), ElementsAre(FullResult(1), FullResult(2)));
  store = nullptr;
}

TEST_F(SqliteStoreTest, AFullDiskIsSaidAndLeavesTheStateAsItWas) {
  FaultyVfs vfs;
  SqliteStoreOptions options = Create();
  options.vfs = vfs.name();
  auto store = MakeWithC(options);
  vfs.FailWrites(1);
  EXPECT_THAT(Commit(executor_, *store, epoch_, JournalOf(1)),
              HasReason(Reason::STORAGE_FULL));
  ASSERT_OK(Commit(executor_, *store, epoch_, JournalOf(1)));
  EXPECT_THAT(ReadJournal(), ElementsAre(FullResult(1)));
  store = nullptr;
}

TEST_F(SqliteStoreTest, AnotherProcessesLockIsUnavailable) {
  auto store = MakeWithC(Create());
  auto other = *SqliteDatabase::Open(path_, {});
  ASSERT_OK(other->Execute("BEGIN IMMEDIATE"));
  EXPECT_THAT(Commit(executor_, *store, epoch_, JournalOf(1)),
              HasReason(Reason::UNAVAILABLE));
  ASSERT_OK(other->Execute("ROLLBACK"));
  ASSERT_OK(Commit(executor_, *store, epoch_, JournalOf(1)));
}

// Whoever comes after a controller that was stopped in the middle of a
// transaction is told whom to wake or to end.
TEST_F(SqliteStoreTest, AStoppedProcessThatKeepsTheLockIsNamed) {
  MakeWithC(Create());
  const pid_t child = fork();
  if (child == 0) {
    auto database = SqliteDatabase::Open(path_, {});
    if (!database.ok() || !(*database)->Execute("BEGIN IMMEDIATE").ok()) {
      _exit(2);
    }
    raise(SIGSTOP);
    if (!(*database)->Execute("COMMIT").ok()) _exit(3);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, WUNTRACED), child);
  ASSERT_TRUE(WIFSTOPPED(status));
  const auto next = Make(Create());
  const absl::Status locked = Lead(executor_, *next).status();
  EXPECT_THAT(locked, HasReason(Reason::UNAVAILABLE));
  EXPECT_THAT(std::string(locked.message()),
              AllOf(HasSubstr(absl::StrCat("process ", child, " (")),
                    HasSubstr("is stopped"),
                    HasSubstr(absl::StrCat("kill -CONT ", child))));
  ASSERT_EQ(kill(child, SIGCONT), 0);
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_THAT(Lead(executor_, *next), IsOk());
}

TEST_F(SqliteStoreTest, DestructionAnswersWhatHasNotBegun) {
  auto store = MakeWithC(Create());
  std::optional<absl::Status> committed;
  std::optional<absl::Status> led;
  std::optional<absl::Status> read;
  store->Commit(epoch_, JournalOf(1), [&](absl::Status s) { committed = s; });
  store->TakeLeadership([&](auto pipeline) { led = pipeline.status(); });
  store->ReadEpoch([&](auto epoch) { read = epoch.status(); });
  store = nullptr;
  ASSERT_TRUE(committed.has_value() && led.has_value() && read.has_value());
  EXPECT_THAT(*committed, HasReason(Reason::CANCELLED));
  EXPECT_THAT(*led, HasReason(Reason::CANCELLED));
  EXPECT_THAT(*read, HasReason(Reason::CANCELLED));
  executor_.RunUntilIdle();
  EXPECT_THAT(ReadJournal(), IsEmpty());
}

TEST_F(SqliteStoreTest, WorksOnAThreadOfItsOwn) {
  core::ThreadPoolExecutor executor("store", 1);
  auto store = *MakeSqliteStore(path_, Create(), executor);
  core::Notification done;
  std::vector<absl::Status> answers(40);
  size_t answered = 0;
  StateStore& used = *store;
  used.TakeLeadership([&](absl::StatusOr<StoredPipeline> pipeline) {
    ASSERT_OK(pipeline);
    const uint64_t epoch = pipeline->epoch;
    used.Commit(epoch, AddConnectorC(), [](absl::Status s) { EXPECT_OK(s); });
    for (core::Step step = 0; step < 40; ++step) {
      used.Commit(epoch, JournalOf(step), [&, step](absl::Status s) {
        answers[step] = std::move(s);
        if (++answered == answers.size()) done.Notify();
      });
    }
  });
  ASSERT_TRUE(done.WaitForNotificationWithTimeout(absl::Seconds(30)));
  for (const absl::Status& answer : answers) EXPECT_OK(answer);
}

}  // namespace
}  // namespace penstock::client
