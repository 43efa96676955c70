// A transactional store that outlives the processes which write to it.
#pragma once

#include "core/base/mutex.h"
#include "core/contract/output_target.h"
#include "core/record/schema.h"
#include "core/record/step.h"

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>
#include <absl/time/time.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace penstock::core {

// One table per connector. A table holds the fence (the highest writer), a
// progress count per shard and, per shard, the transactions in commit order.
// What was committed is never lost; what was not leaves no trace. FakeTarget is
// the sink that writes here.
//
// Owner:   the test; shared by the FakeTargets of all its processes.
// Threads: thread-safe. The hooks run on the calling thread, outside the lock.
// Bound:   none: it keeps everything, for a test to look at.
class FakeDatabase {
 public:
  // What a FakeTarget does here, for failures and hooks.
  enum class Operation {
    kOpen,
    kBatchStart,
    kPush,
    kBatchEnd,
    kBatchProbe,
    kCommit
  };
  // Instead of the answer OK. An answer that is `lost` fails although the
  // operation took effect.
  struct Fault {
    absl::Status status;
    bool lost = false;
  };
  struct Call {
    Operation operation = Operation::kOpen;
    const std::string& table;
    ShardIndex shard = 0;
    Writer writer;
  };
  using Hook = absl::AnyInvocable<std::optional<Fault>(const Call&)>;

  struct Message {
    std::optional<std::string> key;
    std::optional<std::string> value;
    std::vector<std::pair<std::string, std::optional<std::string>>> headers;
    friend bool operator==(const Message&, const Message&) = default;
  };
  struct Transaction {
    Writer writer;
    StepRange steps;
    // As its OutputBatch said.
    std::string id = {};
    std::vector<ChunkId> chunks = {};
    absl::Time deadline = absl::InfiniteFuture();
    std::vector<std::string> frames;
    std::vector<Message> messages;

    // Its lines, or the values of its messages.
    std::vector<std::string> Rows() const;
  };
  // What this database takes: looks at the rows that a shard has and at those
  // to be added. An error refuses the transaction.
  using Judge = absl::AnyInvocable<absl::Status(
      const std::vector<std::string>& present,
      const std::vector<std::string>& added) const>;
  using OnCommit = absl::AnyInvocable<void(
      const std::string& table, ShardIndex shard, const Transaction&)>;

  FakeDatabase() = default;
  FakeDatabase(const FakeDatabase&) = delete;
  FakeDatabase& operator=(const FakeDatabase&) = delete;

  // "pipeline/connector": how a connector's table is called everywhere here.
  static std::string TableName(absl::string_view pipeline,
                               absl::string_view connector);

  // --- What FakeTarget calls.
  // Takes the fence and returns the progress of each shard (empty below
  // exactly-once). Errors: as OutputTarget::Open.
  absl::StatusOr<std::vector<Step>> Open(const OutputOpen& open);
  // Adds `transaction`. In exactly-once: if its writer is the table's and the
  // shard's progress is steps.begin, which becomes steps.end. If the progress
  // is already steps.end, this writer has committed it before and lost the
  // answer (the fence lets in no other): OK, and nothing is added.
  // Errors: WRITER_FENCED; PROGRESS_AHEAD, PROGRESS_BEHIND if neither holds;
  // the judge's.
  absl::Status Commit(const std::string& table, ShardIndex shard,
                      std::optional<FtModel> level, Transaction transaction);
  // Answers as Commit would, and adds nothing.
  absl::Status Probe(const std::string& table, ShardIndex shard,
                     std::optional<FtModel> level,
                     const Transaction& transaction) const;
  // The fault, if any, that `call` is to meet.
  std::optional<Fault> Meet(const Call& call);

  // --- Failures.
  // The next `times` calls of `operation`, of any table and shard, meet it.
  void FailNext(Operation operation, absl::Status status, int times = 1);
  // The next one takes effect and is answered with UNAVAILABLE.
  void LoseNextAnswer(Operation operation);
  // Takes back what is left of the failures above.
  void HealAll();
  // Asked before each call, after the failures above. Null: none.
  void SetHook(Hook hook);
  // Null: every row is good.
  void SetJudge(Judge judge);
  // Told of each transaction, after it was added. Null: nobody.
  void SetOnCommit(OnCommit on_commit);
  // The target forgets a table's progress, and keeps its rows.
  void ForgetProgress(const std::string& table);
  // Claims the table for `writer`, as the open of another process would.
  void Fence(const std::string& table, Writer writer);

  // --- What is there.
  // Transactions of one shard in commit order; empty for an unknown one.
  std::vector<Transaction> Transactions(const std::string& table,
                                        ShardIndex shard) const;
  // All frames of one shard in commit order.
  std::string Contents(const std::string& table, ShardIndex shard) const;
  // Contents, cut at newlines.
  std::vector<std::string> Lines(const std::string& table,
                                 ShardIndex shard) const;
  std::vector<Message> Messages(const std::string& table,
                                ShardIndex shard) const;
  // nullopt: no table, no such shard, or the progress is absent.
  std::optional<Step> Progress(const std::string& table,
                               ShardIndex shard) const;
  std::optional<Writer> writer(const std::string& table) const;
  uint32_t shards(const std::string& table) const;
  // The columns that it was last opened with.
  Schema schema(const std::string& table) const;

 private:
  struct Table {
    std::string incarnation;
    std::optional<Writer> writer;
    Schema schema;
    std::optional<std::vector<Step>> progress;
    std::vector<std::vector<Transaction>> shards;
  };
  absl::Status OpenProgress(const OutputOpen& open, Table& table)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Whether `transaction` is to be added (true), or is there already.
  absl::StatusOr<bool> Examine(const std::string& name, ShardIndex shard,
                               std::optional<FtModel> level,
                               const Transaction& transaction) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  mutable Mutex mu_;
  std::map<std::string, Table> tables_ ABSL_GUARDED_BY(mu_);
  std::multimap<Operation, Fault> failures_ ABSL_GUARDED_BY(mu_);
  // Set before use, called outside the lock.
  Hook hook_;
  Judge judge_;
  OnCommit on_commit_;
};

}  // namespace penstock::core
