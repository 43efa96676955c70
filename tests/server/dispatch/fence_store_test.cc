#include "server/dispatch/fence_store.h"

#include "core/base/error.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

namespace penstock::server {
namespace {

using core::FakeFileSystem;
using core::HasReason;
using core::Reason;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

using Records = std::map<std::string, FenceRecord>;

const FenceRecord kFirst{7, "nonce-a", "controller-a", 0};
const FenceRecord kSecond{8, "nonce-b", "controller-b", 1'700'000'000};

class FenceStoreTest : public testing::Test {
 protected:
  std::unique_ptr<FenceStore> NewStore() {
    return MakeFileFenceStore(files_, "/state");
  }
  // Two saves, so that there is a previous generation.
  void SaveTwice() {
    auto store = NewStore();
    ASSERT_OK(store->Load());
    ASSERT_OK(store->Save({{"shop", kFirst}}));
    ASSERT_OK(store->Save({{"shop", kSecond}}));
  }

  FakeFileSystem files_;
};

TEST_F(FenceStoreTest, AnEmptyDirectoryIsAFirstRun) {
  ASSERT_OK_AND_ASSIGN(const Records records, NewStore()->Load());
  EXPECT_THAT(records, IsEmpty());
}

TEST_F(FenceStoreTest, ReadsBackWhatWasSaved) {
  auto store = NewStore();
  ASSERT_OK(store->Load());
  ASSERT_OK(store->Save({{"shop", kFirst}, {"mail", kSecond}}));
  files_.Crash();
  ASSERT_OK_AND_ASSIGN(const Records records, NewStore()->Load());
  EXPECT_THAT(records, UnorderedElementsAre(Pair("shop", kFirst),
                                            Pair("mail", kSecond)));
}

TEST_F(FenceStoreTest, AfterACrashAtAnyOperationOldOrNewRecordsAreThere) {
  for (const auto effect : {FakeFileSystem::HaltEffect::kBefore,
                            FakeFileSystem::HaltEffect::kAfter}) {
    for (uint64_t n = 1; n < 20; ++n) {
      FakeFileSystem files;
      auto store = MakeFileFenceStore(files, "/state");
      ASSERT_OK(store->Load());
      ASSERT_OK(store->Save({{"shop", kFirst}}));
      files.HaltAt(n, effect);
      const bool saved = store->Save({{"shop", kSecond}}).ok();
      files.Crash();
      const auto records = MakeFileFenceStore(files, "/state")->Load();
      ASSERT_OK(records) << "operation " << n;
      ASSERT_TRUE(records->contains("shop")) << "operation " << n;
      const FenceRecord& found = records->at("shop");
      EXPECT_TRUE(found == kSecond || (!saved && found == kFirst))
          << "operation " << n << " epoch " << found.epoch;
    }
  }
}

TEST_F(FenceStoreTest, ACrashInTheFirstRunIsAFirstRunAgain) {
  for (uint64_t n = 1; n < 20; ++n) {
    FakeFileSystem files;
    files.HaltAt(n);
    (void)MakeFileFenceStore(files, "/state")->Load();
    files.Crash();
    const auto records = MakeFileFenceStore(files, "/state")->Load();
    ASSERT_OK(records) << "operation " << n;
    EXPECT_THAT(*records, IsEmpty());
  }
}

TEST_F(FenceStoreTest, AMissingFenceBesideTheIdentityIsDamage) {
  SaveTwice();
  ASSERT_OK(files_.Remove("/state/fence"));
  ASSERT_OK(files_.Remove("/state/fence.previous"));
  EXPECT_THAT(NewStore()->Load(), HasReason(Reason::STATE_DAMAGED));
}

TEST_F(FenceStoreTest, AMissingIdentityBesideAFenceIsDamage) {
  SaveTwice();
  ASSERT_OK(files_.Remove("/state/identity"));
  EXPECT_THAT(NewStore()->Load(), HasReason(Reason::STATE_DAMAGED));
}

// How a file is damaged: by name, so that a failure says which.
struct Damage {
  std::string name;
  std::string (*apply)(std::string);
};

class FenceDamageTest : public testing::TestWithParam<Damage> {};

TEST_P(FenceDamageTest, TheCurrentGenerationFallsBackToThePrevious) {
  FakeFileSystem files;
  auto store = MakeFileFenceStore(files, "/state");
  ASSERT_OK(store->Load());
  ASSERT_OK(store->Save({{"shop", kFirst}}));
  ASSERT_OK(store->Save({{"shop", kSecond}}));
  files.Put("/state/fence", GetParam().apply(*files.Contents("/state/fence")));
  ASSERT_OK_AND_ASSIGN(const Records records,
                       MakeFileFenceStore(files, "/state")->Load());
  EXPECT_THAT(records, UnorderedElementsAre(Pair("shop", kFirst)));
}

TEST_P(FenceDamageTest, BothGenerationsAreAClearStop) {
  FakeFileSystem files;
  auto store = MakeFileFenceStore(files, "/state");
  ASSERT_OK(store->Load());
  ASSERT_OK(store->Save({{"shop", kFirst}}));
  ASSERT_OK(store->Save({{"shop", kSecond}}));
  for (const char* path : {"/state/fence", "/state/fence.previous"}) {
    files.Put(path, GetParam().apply(*files.Contents(path)));
  }
  EXPECT_THAT(MakeFileFenceStore(files, "/state")->Load(),
              HasReason(Reason::STATE_DAMAGED));
}

TEST_P(FenceDamageTest, ADamagedGenerationNeverReplacesAGoodOne) {
  FakeFileSystem files;
  auto store = MakeFileFenceStore(files, "/state");
  ASSERT_OK(store->Load());
  ASSERT_OK(store->Save({{"shop", kFirst}}));
  ASSERT_OK(store->Save({{"shop", kSecond}}));
  files.Put("/state/fence", GetParam().apply(*files.Contents("/state/fence")));
  auto next = MakeFileFenceStore(files, "/state");
  ASSERT_OK(next->Load());
  files.HaltAt(4);  // Somewhere in the save.
  (void)next->Save({{"shop", kSecond}});
  files.Crash();
  ASSERT_OK(MakeFileFenceStore(files, "/state")->Load());
}

// As the field case of that number has it: with a previous generation the empty
// and the zeroed one are passed over, without it a cut one stops the worker,
// and nothing at all is a first run.
TEST_F(FenceStoreTest, B051AStateFileThatIsEmptyZeroedCutOrNotThere) {
  SaveTwice();
  const std::string whole = *files_.Contents("/state/fence");
  for (const std::string& damaged :
       {std::string(), std::string(whole.size(), '\0')}) {
    files_.Put("/state/fence", damaged);
    ASSERT_OK_AND_ASSIGN(const Records records, NewStore()->Load());
    EXPECT_THAT(records, UnorderedElementsAre(Pair("shop", kFirst)));
  }
  files_.Put("/state/fence", whole.substr(0, whole.size() / 2));
  ASSERT_OK(files_.Remove("/state/fence.previous"));
  EXPECT_THAT(NewStore()->Load(), HasReason(Reason::STATE_DAMAGED));
  FakeFileSystem nothing;
  ASSERT_OK_AND_ASSIGN(const Records first_run,
                       MakeFileFenceStore(nothing, "/state")->Load());
  EXPECT_THAT(first_run, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, FenceDamageTest,
    testing::Values(
        Damage{"Empty", [](std::string) { return std::string(); }},
        Damage{"Nul",
               [](std::string s) { return std::string(s.size(), '\0'); }},
        Damage{"Truncated",
               [](std::string s) { return s.substr(0, s.size() / 2); }},
        Damage{"FlippedByte",
               [](std::string s) {
                 s[s.size() / 2] = static_cast<char>(s[s.size() / 2] ^ 1);
                 return s;
               }}),
    [](const auto& kind) { return kind.param.name; });

}  // namespace
}  // namespace penstock::server
