// What must hold of rows that the target refuses, and of their letters.
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

// INV-11: each refused row has a letter that is durable before the row is
// passed over in the target, and no good row has one.
//
// Threads: confined to the test's thread. `plan`, `checkers` outlive it.
class LetterChecker {
 public:
  LetterChecker(const Plan& plan, Checkers& checkers);

  // After a commit of `shard`: every refused row that stands before the last
  // visible one has a letter that a power loss would leave.
  void CheckDurable(core::ShardIndex shard,
                    const core::FakeFileSystem& disk) const;
  // At the end: refused rows and ids are as many. Returns: how many.
  uint64_t CheckComplete(const core::FakeFileSystem& disk) const;

 private:
  // The ids of the letters, by the row (as JSON text) that they hold.
  using Letters = std::map<std::string, std::set<std::string>>;
  static Letters Read(const core::FakeFileSystem& disk, bool durable);

  const Plan& plan_;
  Checkers& checkers_;
  // Of each shard: the records that belong to it, refused ones included, in
  // order. Empty where the specification is edited.
  std::vector<std::vector<std::string>> records_;
};

}  // namespace penstock::simulation
