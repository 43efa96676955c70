// What must hold of rows that the target refuses, of lines that cannot be
// parsed, and of their letters.
#pragma once

#include "core/record/step.h"
#include "tests/simulation/checkers.h"
#include "tests/simulation/plan.h"
#include "tests/support/fake_database.h"
#include "tests/support/fake_filesystem.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace penstock::simulation {

// Refuses what IsRefused says.
core::FakeDatabase::Judge MakeJudge(const Plan& plan);

// INV-11: each refused row, and each line that is no record, has a letter that
// is durable before it is passed over in the target, and nothing else has one.
//
// Threads: confined to the test's thread. `plan`, `checkers` outlive it.
class LetterChecker {
 public:
  LetterChecker(const Plan& plan, const std::string& directory,
                Checkers& checkers);

  // After a commit of `shard` up to the steps below `steps`: every refused row
  // that stands before the last visible one, and of shard 0, whose they are,
  // every line that is no record of those steps, has a letter that a power loss
  // would leave.
  void CheckDurable(core::ShardIndex shard, core::Step steps,
                    const core::FakeFileSystem& disk) const;
  // At least once: after a completion or a checkpoint behind `lines` lines of
  // the input, each of them that needs a letter has one that a power loss would
  // leave.
  void CheckPassed(uint64_t lines, const core::FakeFileSystem& disk);
  // At the end: what needs a letter and ids are as many. Returns: how many.
  uint64_t CheckComplete(const core::FakeFileSystem& disk) const;

 private:
  // The letter's data, as JSON text, of what needs one; how often.
  using Needed = std::map<std::string, size_t>;
  // The ids of the letters, by the row (as JSON text) that they hold.
  using Letters = std::map<std::string, std::set<std::string>>;
  void CheckNeeded(const Needed& needed, const std::string& when,
                   const core::FakeFileSystem& disk) const;
  Letters Read(const core::FakeFileSystem& disk, bool durable) const;

  const Plan& plan_;
  // Of the letters.
  const std::string directory_;
  Checkers& checkers_;
  // Of each shard: the records that belong to it, refused ones included, in
  // order. Empty where the specification is edited.
  std::vector<std::vector<std::string>> records_;
  // Of CheckPassed: what is durable stays.
  uint64_t passed_ = 0;
};

}  // namespace penstock::simulation
