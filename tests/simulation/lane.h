// One connector of a world: what stands of it outside of every process, and
// what must hold of it. See tests/simulation/README.md.
#pragma once

#include "client/controller/state_store.h"
#include "core/connector/requests.h"
#include "core/contract/output_target.h"
#include "tests/simulation/checkers.h"
#include "tests/simulation/letter_checker.h"
#include "tests/simulation/plan.h"
#include "tests/support/fake_database.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/fake_state_store.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace penstock::simulation {

// Owner: the world. Threads: confined to the test's thread.
class Lane {
 public:
  // All but `index` outlive it. Puts the input onto `data_disk`.
  Lane(const Plan& plan, uint32_t index, core::FakeFileSystem& data_disk,
       core::FakeDatabase& database, const client::FakeStoreDisk& store,
       std::string& violation);

  const std::string& name() const { return name_; }
  const std::string& table() const { return table_; }
  const std::string& input() const { return input_; }
  Checkers& checkers() { return checkers_; }

  // What the target holds of each shard; empty: never opened.
  std::vector<core::Step> Progress();
  // What is visible of each shard.
  std::vector<std::vector<std::string>> Lines();
  // Of the steps to replay, those that some shard does not hold and that have
  // records.
  std::vector<const core::StepResult*> StepsToReplay();

  // A transaction of the transactional target.
  void OnCommit(core::ShardIndex shard,
                const core::FakeDatabase::Transaction& commit);
  // After an event: what the store says, then what each life that is awake says
  // of itself, then the rest.
  void CheckStore();
  void CheckStatus(const core::ConnectorStatus& status);
  void CheckAfterEvent();
  // Once in a moment, of the file sink.
  void CheckVisible();
  void CheckVisible(const core::ConnectorStatus& status);
  // At the end. Returns: different dead letters.
  uint64_t CheckComplete();

 private:
  bool has_letters() const {
    return plan_.specs.front().dead_letter != nullptr;
  }

  const Plan& plan_;
  const std::string name_;
  const std::string table_;
  const std::string input_;
  core::FakeFileSystem& data_disk_;
  core::FakeDatabase& database_;
  const client::FakeStoreDisk& store_;
  Checkers checkers_;
  LetterChecker letters_;
  // The table's, after the last event.
  std::optional<core::Writer> writer_;
};

}  // namespace penstock::simulation
