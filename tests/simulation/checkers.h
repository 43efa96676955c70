// What must hold after every event.
#pragma once

#include "client/controller/state_store.h"
#include "core/connector/requests.h"
#include "tests/simulation/plan.h"
#include "tests/support/fake_database.h"
#include "tests/support/fake_state_store.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace penstock::simulation {

// Of one connector. Threads: confined to the test's thread.
class Checkers {
 public:
  // All but `connector` outlive it; the first violation of any connector is
  // kept in `violation`.
  Checkers(const Plan& plan, const client::FakeStoreDisk& store,
           std::string connector, std::string& violation);

  // INV-2: one number, one content.
  void OnResult(const core::ConnectorRef& ref, const core::StepResult& result);
  // INV-1, 3, 4, 7: a transaction of one shard became visible.
  void OnCommit(core::ShardIndex shard,
                const core::FakeDatabase::Transaction& transaction);
  // Whether CheckStore has something new to look at.
  bool StoreMoved() const { return store_.commits != commits_seen_; }
  // INV-1, 2: after a transaction of the store. `progress`: of the target.
  void CheckStore(const std::vector<core::Step>& progress);
  // INV-1, 8: a connector of a living worker. Its counters never go back.
  void CheckStatus(const core::ConnectorStatus& status);
  // INV-1: what it calls completed is visible, as far as OnCommit, CheckVisible
  // and, at least once, OnResult were told.
  void CheckCompleted(const core::ConnectorStatus& status);
  // The file sink's committed lines, in order: whole and no further than what
  // was journaled.
  void CheckVisible(core::ShardIndex shard,
                    const std::vector<std::string>& lines);
  // At the end: everything is there, in exactly-once once.
  void CheckComplete(core::ShardIndex shard,
                     const std::vector<std::string>& lines);
  // At the end: the specification is that of the last controller.
  void CheckSpec(const std::string& spec_bytes);

  // Lines of a shard that became visible.
  size_t visible(core::ShardIndex shard) const { return visible_[shard]; }
  // Lines of the input, good and bad, in the journaled steps below `steps`.
  uint64_t RecordsBelow(core::Step steps) const;
  // At least once: how many lines of the input were called completed or
  // checkpointed, and were looked for.
  uint64_t passed_records() const { return passed_records_; }
  // At least once: lines that came again.
  uint64_t doubled() const;

  void Violate(const std::string& what);
  const std::string& violation() const { return violation_; }
  uint64_t specs_at_once() const { return specs_at_once_; }
  uint64_t specs_clean() const { return specs_clean_; }

 private:
  // From input record `from` on, records go where `spec` says.
  void Expect(const core::ConnectorSpec& spec, uint64_t from);
  // INV-3: a specification changes where no step is left that would come out
  // differently.
  void CheckSpecChange(const client::StoredConnector& stored);
  // Count of steps that the controller may let be seen: journaled or
  // checkpointed (exclusive).
  core::Step Journaled() const;
  // Records of the input below the end of the last journaled step.
  uint64_t JournaledRecords() const;
  // Of the input, below the position of the checkpoint.
  uint64_t CheckpointedRecords() const;
  // Of the input, below the end of the last step below `steps` that this life
  // of the connector made.
  uint64_t RecordsMade(const std::string& instance, core::Step steps) const;
  // At least once: each of the first `records` lines of the input is where it
  // belongs.
  void CheckPassed(uint64_t records, const std::string& when);
  // At least once: `shard` has each of its first `lines` expected lines, as
  // often as they are expected.
  void CheckHas(size_t shard, size_t lines, const std::string& when);
  void CheckAgainstStore(const core::ConnectorStatus& status);
  void CheckMonotone(const core::ConnectorStatus& status);

  // Null: the store knows nothing of it.
  const client::StoredConnector* Stored() const;

  const Plan& plan_;
  const client::FakeStoreDisk& store_;
  const std::string connector_;
  std::string& violation_;
  // What the store holds: index into Plan::specs.
  size_t spec_ = 0;
  uint64_t specs_at_once_ = 0;
  uint64_t specs_clean_ = 0;
  // The records that each shard must hold at the end, in order, each with its
  // newline.
  std::vector<std::vector<std::string>> expected_;
  // Where each expected line stands in the input, 0-based.
  std::vector<std::vector<uint64_t>> positions_;
  // Lines of each shard that became visible; at least once: how often each.
  std::vector<size_t> visible_;
  std::vector<std::map<std::string, size_t>> seen_;
  std::vector<core::Writer> writers_;
  std::map<core::Step, core::StepResult> results_;
  // Lines of the input below the end of each step, by instance.
  std::map<std::string, std::map<core::Step, uint64_t>> made_;
  uint64_t passed_records_ = 0;
  // Every row there ever was.
  std::map<core::Step, core::StepResult> journal_;
  // Of each instance, in the order of CheckMonotone.
  std::map<std::string, std::vector<uint64_t>> counters_;
  uint64_t epoch_ = 0;
  core::Step base_steps_ = 0;
  uint64_t commits_seen_ = 0;
};

}  // namespace penstock::simulation
