// That the checks see a lie, where no seed is sure to tell one.
#include "tests/simulation/checkers.h"

#include "tests/simulation/plan.h"
#include "tests/support/fake_database.h"
#include "tests/support/fake_state_store.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace penstock::simulation {
namespace {

using testing::HasSubstr;

// Ten records below exactly-once, in one shard.
class AtLeastOnceCheckersTest : public testing::Test {
 protected:
  static Plan PlanOf() {
    Plan plan = QuietPlan(1, /*file_sink=*/false, /*separate_committer=*/false);
    plan.records.resize(10);
    plan.specs.front().level = core::FtModel::kAtLeastOnce;
    plan.specs.front().shards = 1;
    return plan;
  }

  // Step `step` of `instance` ends behind so many records.
  void Make(const std::string& instance, core::Step step, uint64_t records) {
    core::StepResult result;
    result.step = step;
    result.resume = core::Resume(
        core::Resume::Seek{absl::StrCat("{\"records\":", records, "}")});
    checkers_.OnResult({.connector = kConnector, .instance = instance}, result);
  }
  void Write(size_t first, size_t end) {
    core::FakeDatabase::Transaction transaction;
    for (size_t i = first; i < end; ++i) {
      transaction.frames.push_back(plan_.records[i] + "\n");
    }
    checkers_.OnCommit(0, transaction);
  }
  void Complete(const std::string& instance, core::Step steps) {
    core::ConnectorStatus status;
    status.instance = instance;
    status.completed_steps = steps;
    checkers_.CheckCompleted(status);
  }

  const Plan plan_ = PlanOf();
  const client::FakeStoreDisk store_;
  std::string violation_;
  Checkers checkers_{plan_, store_, kConnector, violation_};
};

TEST_F(AtLeastOnceCheckersTest, WhatIsCompletedAndThereIsFine) {
  Make("a", 0, 4);
  Make("a", 1, 7);
  Write(0, 4);
  Complete("a", 1);
  Write(4, 7);
  Complete("a", 2);
  EXPECT_EQ(violation_, "");
  EXPECT_EQ(checkers_.passed_records(), 7u);
}

TEST_F(AtLeastOnceCheckersTest, WhatIsCompletedAndNotThereIsALie) {
  Make("a", 0, 4);
  Make("a", 1, 7);
  Write(0, 6);
  Complete("a", 1);
  EXPECT_EQ(violation_, "");
  Complete("a", 2);
  EXPECT_THAT(violation_, HasSubstr("INV-1: completed"));
}

TEST_F(AtLeastOnceCheckersTest, StepsOfAnEarlierLifeAreNotThisOnes) {
  // It went further and died; the next life begins at the checkpoint, with
  // numbers above every one ever given out.
  Make("a", 0, 4);
  Make("a", 1, 9);
  Write(0, 4);
  Make("b", 64, 5);
  Complete("b", 64);
  EXPECT_EQ(violation_, "");
  Complete("b", 65);
  EXPECT_THAT(violation_, HasSubstr("INV-1: completed"));
}

}  // namespace
}  // namespace penstock::simulation
