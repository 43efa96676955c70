// A crash at every operation, with several views of what survives, leaves
// every confirmed step, and of others all or nothing.
#include "core/base/error.h"
#include "core/base/random.h"
#include "core/sinks/file/layout.h"
#include "tests/core/sinks/file/sink_process.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <ostream>
#include <utility>

namespace penstock::core {
namespace {

using HaltEffect = FakeFileSystem::HaltEffect;
using Unsynced = FakeFileSystem::Unsynced;

constexpr Step kSteps = 3;

// What the crash leaves of what was not synced.
enum class Survives {
  kAll,       // the process dies, the machine lives
  kNothing,   // power is lost
  kPrefixes,  // a random prefix of each file and of the changes of names
  kNulBytes,  // names and lengths, but NUL bytes for content
};

struct CrashCase {
  const char* name;
  Survives survives;
  HaltEffect effect;
  FileSinkConfig config;
  uint64_t seed;
};
std::ostream& operator<<(std::ostream& out, const CrashCase& crash) {
  return out << crash.name << " seed " << crash.seed;
}

// Leaves every name and length, with NUL bytes for what was not synced.
void CrashToNulBytes(FakeFileSystem& files) {
  std::map<std::string, std::string> left;
  for (const std::string& path : files.Files()) {
    std::string bytes = *files.Contents(path);
    // One that was renamed was synced under its old name.
    const bool is_renamed = absl::StrContains(path, "/files/data-");
    const std::string durable =
        files.DurableContents(path).value_or(is_renamed ? bytes : "");
    // Of a truncation that was not synced, the shorter file is left.
    const size_t kept = std::min(durable.size(), bytes.size());
    std::fill(bytes.begin() + static_cast<ptrdiff_t>(kept), bytes.end(), '\0');
    left[path] = std::move(bytes);
  }
  files.Crash();
  for (const std::string& path : files.Files()) {
    if (!left.contains(path)) {
      EXPECT_OK(files.Remove(path));
    }
  }
  for (const auto& [path, bytes] : left) files.Put(path, bytes);
}

void Crash(FakeFileSystem& files, const CrashCase& crash, uint64_t seed) {
  switch (crash.survives) {
    case Survives::kAll:
      files.KillProcess();
      return;
    case Survives::kNothing:
      files.Crash();
      return;
    case Survives::kPrefixes: {
      Random random(seed);
      files.Crash(Unsynced::kRandomPrefix, &random);
      return;
    }
    case Survives::kNulBytes:
      CrashToNulBytes(files);
      return;
  }
}

// What the controller knows over all processes.
struct Known {
  uint64_t open_number = 0;
  // Whether an open was confirmed.
  bool opened = false;
  std::vector<Step> confirmed = std::vector<Step>(kShards, 0);
};

class FileSinkCrashTest : public testing::TestWithParam<CrashCase> {
 protected:
  // One process, up to the end or to the halt at operation `halt_at` (0: none).
  // Returns: whether it came to its end.
  bool RunProcess(FakeFileSystem& files, uint64_t halt_at, Known& known) {
    if (halt_at > 0) files.HaltAt(halt_at, GetParam().effect);
    SinkProcess process(files, {.open_number = ++known.open_number,
                                .first_open = !known.opened,
                                .steps = kSteps,
                                .config = GetParam().config});
    process.Run();
    EXPECT_OK(process.Close());
    if (!files.halted()) {
      EXPECT_OK(process.opened());
      EXPECT_OK(process.status());
    }
    if (process.opened().ok()) {
      known.opened = true;
      for (ShardIndex shard = 0; shard < kShards; ++shard) {
        // An open finds what was confirmed, at most one batch more.
        EXPECT_GE((*process.opened())[shard], known.confirmed[shard]);
        EXPECT_LE((*process.opened())[shard], known.confirmed[shard] + 1);
        known.confirmed[shard] = process.confirmed()[shard];
      }
    }
    return !files.halted();
  }

  void CheckAfterCrash(FakeFileSystem& files, const Known& known) {
    const auto committed = ReadCommitted(files, kDirectory);
    if (!known.opened && !committed.ok()) {
      EXPECT_TRUE(HasReason(committed.status(), Reason::PROGRESS_LOST) ||
                  HasReason(committed.status(), Reason::NOT_FOUND))
          << committed.status();
      return;
    }
    ASSERT_OK(committed);
    ExpectConsistent(*committed);
    for (ShardIndex shard = 0; shard < kShards; ++shard) {
      EXPECT_GE(committed->progress[shard], known.confirmed[shard]);
      EXPECT_LE(committed->progress[shard], known.confirmed[shard] + 1);
    }
    // Whole files hold nothing else, though they may lack the last rows.
    const std::vector<std::string> whole = ReadWholeFiles(files);
    for (ShardIndex shard = 0; shard < kShards; ++shard) {
      EXPECT_THAT(committed->contents[shard],
                  testing::StartsWith(whole[shard]));
    }
  }

  void CheckAtTheEnd(FakeFileSystem& files) {
    ASSERT_OK_AND_ASSIGN(const Committed committed,
                         ReadCommitted(files, kDirectory));
    EXPECT_TRUE(committed.settled);
    ExpectConsistent(committed);
    EXPECT_THAT(committed.progress, testing::Each(kSteps));
    if (GetParam().config.visibility == FileVisibility::kRename) {
      EXPECT_EQ(ReadWholeFiles(files), committed.contents);
    }
  }
};

TEST_P(FileSinkCrashTest, AtAnyOperationKeepsWhatWasConfirmed) {
  bool ended = false;
  uint64_t at = 0;
  while (!ended && !HasFailure()) {
    SCOPED_TRACE(absl::StrCat("crash at operation ", ++at));
    FakeFileSystem files;
    Known known;
    ended = RunProcess(files, at, known);
    Crash(files, GetParam(), GetParam().seed * 1000 + at);
    CheckAfterCrash(files, known);
    RunProcess(files, 0, known);
    CheckAtTheEnd(files);
  }
  EXPECT_GE(at, 25);
}

using FileSinkTwoCrashesTest = FileSinkCrashTest;

TEST_P(FileSinkTwoCrashesTest, AtAnyTwoOperationsKeepWhatWasConfirmed) {
  bool first_ended = false;
  for (uint64_t first = 1; !first_ended; ++first) {
    bool second_ended = false;
    for (uint64_t second = 1; !second_ended; ++second) {
      SCOPED_TRACE(absl::StrCat("crashes at operations ", first, ", ", second));
      FakeFileSystem files;
      Known known;
      first_ended = RunProcess(files, first, known);
      Crash(files, GetParam(), first * 1000 + second);
      second_ended = RunProcess(files, second, known);
      Crash(files, GetParam(), first * 1000 + second + 1);
      CheckAfterCrash(files, known);
      RunProcess(files, 0, known);
      CheckAtTheEnd(files);
      if (HasFailure()) return;
    }
  }
}

FileSinkConfig Plain() { return {}; }
// So little that parts follow each other.
FileSinkConfig Parts() { return InParts(60); }

std::string NameOf(const testing::TestParamInfo<CrashCase>& test) {
  return test.param.name;
}

INSTANTIATE_TEST_SUITE_P(
    All, FileSinkCrashTest,
    testing::Values(CrashCase{"Killed", Survives::kAll, HaltEffect::kBefore,
                              Plain(), 0},
                    CrashCase{"KilledAfter", Survives::kAll, HaltEffect::kAfter,
                              Plain(), 0},
                    CrashCase{"KilledInParts", Survives::kAll,
                              HaltEffect::kAfter, Parts(), 0},
                    CrashCase{"PowerLost", Survives::kNothing,
                              HaltEffect::kBefore, Plain(), 0},
                    CrashCase{"PowerLostAfter", Survives::kNothing,
                              HaltEffect::kAfter, Plain(), 0},
                    CrashCase{"PowerLostInParts", Survives::kNothing,
                              HaltEffect::kAfter, Parts(), 0},
                    CrashCase{"Prefixes1", Survives::kPrefixes,
                              HaltEffect::kBefore, Plain(), 1},
                    CrashCase{"Prefixes2", Survives::kPrefixes,
                              HaltEffect::kAfter, Plain(), 2},
                    CrashCase{"Prefixes3", Survives::kPrefixes,
                              HaltEffect::kAfter, Plain(), 3},
                    CrashCase{"PrefixesInParts1", Survives::kPrefixes,
                              HaltEffect::kAfter, Parts(), 4},
                    CrashCase{"PrefixesInParts2", Survives::kPrefixes,
                              HaltEffect::kBefore, Parts(), 5},
                    CrashCase{"NulBytes", Survives::kNulBytes,
                              HaltEffect::kAfter, Plain(), 0},
                    CrashCase{"NulBytesInParts", Survives::kNulBytes,
                              HaltEffect::kAfter, Parts(), 0}),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    Rolling, FileSinkCrashTest,
    testing::Values(CrashCase{"Killed", Survives::kAll, HaltEffect::kBefore,
                              Rolling(), 0},
                    CrashCase{"KilledAfter", Survives::kAll, HaltEffect::kAfter,
                              Rolling(), 0},
                    CrashCase{"PowerLost", Survives::kNothing,
                              HaltEffect::kAfter, Rolling(), 0},
                    CrashCase{"Prefixes1", Survives::kPrefixes,
                              HaltEffect::kAfter, Rolling(), 6},
                    CrashCase{"Prefixes2", Survives::kPrefixes,
                              HaltEffect::kBefore, Rolling(), 7},
                    CrashCase{"NulBytes", Survives::kNulBytes,
                              HaltEffect::kAfter, Rolling(), 0}),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    Renaming, FileSinkCrashTest,
    testing::Values(
        CrashCase{"Killed", Survives::kAll, HaltEffect::kBefore,
                  Renaming(Compression::kNone), 0},
        CrashCase{"KilledAfter", Survives::kAll, HaltEffect::kAfter,
                  Renaming(Compression::kGzip), 0},
        CrashCase{"PowerLost", Survives::kNothing, HaltEffect::kBefore,
                  Renaming(Compression::kZstd), 0},
        CrashCase{"PowerLostAfter", Survives::kNothing, HaltEffect::kAfter,
                  Renaming(Compression::kNone), 0},
        CrashCase{"Prefixes1", Survives::kPrefixes, HaltEffect::kAfter,
                  Renaming(Compression::kZstd), 8},
        CrashCase{"Prefixes2", Survives::kPrefixes, HaltEffect::kBefore,
                  Renaming(Compression::kGzip), 9},
        CrashCase{"Prefixes3", Survives::kPrefixes, HaltEffect::kAfter,
                  Renaming(Compression::kNone), 10},
        CrashCase{"NulBytes", Survives::kNulBytes, HaltEffect::kAfter,
                  Renaming(Compression::kGzip), 0}),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    All, FileSinkTwoCrashesTest,
    testing::Values(
        CrashCase{"Killed", Survives::kAll, HaltEffect::kAfter, Plain(), 0},
        CrashCase{"PowerLost", Survives::kNothing, HaltEffect::kAfter, Plain(),
                  0},
        CrashCase{"PowerLostInParts", Survives::kNothing, HaltEffect::kAfter,
                  Parts(), 0},
        CrashCase{"Prefixes", Survives::kPrefixes, HaltEffect::kAfter, Plain(),
                  1},
        CrashCase{"PrefixesInParts", Survives::kPrefixes, HaltEffect::kBefore,
                  Parts(), 2},
        CrashCase{"NulBytesInParts", Survives::kNulBytes, HaltEffect::kAfter,
                  Parts(), 0},
        CrashCase{"KilledRenaming", Survives::kAll, HaltEffect::kAfter,
                  Renaming(Compression::kNone), 0},
        CrashCase{"PrefixesRenaming", Survives::kPrefixes, HaltEffect::kAfter,
                  Renaming(Compression::kNone), 3},
        CrashCase{"PowerLostRolling", Survives::kNothing, HaltEffect::kAfter,
                  Rolling(), 0}),
    NameOf);

}  // namespace
}  // namespace penstock::core
