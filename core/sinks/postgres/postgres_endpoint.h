// Writes one shard of a PostgreSQL sink.
#pragma once

#include "core/base/clock.h"
#include "core/contract/output_endpoint.h"
#include "core/contract/output_target.h"
#include "core/pg/conninfo.h"
#include "core/pg/pg_connection.h"
#include "core/record/step.h"
#include "core/sinks/postgres/config.h"
#include "core/sinks/postgres/progress_table.h"
#include "core/sinks/postgres/row_plan.h"

#include <absl/status/status.h>
#include <absl/time/time.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace penstock::core {

// What the endpoints of one open have in common. Constant once made.
struct PostgresWriting {
  PostgresSinkConfig config;
  Conninfo conninfo;
  OutputOpen open;
  TableName table;
  // Shared by: this, the encoders.
  std::shared_ptr<const RowPlan> plan;
  ProgressTable progress;
  // Outlives it.
  const Clock& clock;

  bool exactly_once() const { return open.level == FtModel::kExactlyOnce; }
};

// The session settings that `config` asks for.
PgOptions PgOptionsOf(const PostgresSinkConfig& config, std::string name);

// One transaction a batch: COPY, in upsert mode the merge, then progress as its
// last statement, COMMIT. It is begun with the first buffer.
//
//   closed ──connect, end the last session, ask the progress row──▶ idle
//     ▲                                                              │ batch
//     │ connection lost, deadline passed                             ▼
//     └────────────────────────────────────────────────── in a transaction
//                      any other error: ROLLBACK ──▶ idle
//
// What became of a COMMIT without an answer is asked of the progress row over
// the next session, after the last one was ended.
//
// Owner:     the shard worker. Threads: as OutputEndpoint.
// Lifecycle: Connect, batches. Bound: one session, no row held.
class PostgresEndpoint final : public OutputEndpoint {
 public:
  // Shared by: the target and its endpoints.
  PostgresEndpoint(std::shared_ptr<const PostgresWriting> writing,
                   ShardIndex shard, Step progress);

  absl::Status Connect(AsyncErrorCallback on_error) override;
  size_t MaxBufferSizeBytes() const override;
  absl::Status BatchStart(const OutputBatch& batch) override;
  absl::Status PushBuffer(absl::string_view buffer) override;
  // UNSUPPORTED: rows only.
  absl::Status PushKey(std::optional<absl::string_view> key,
                       std::optional<absl::string_view> value,
                       std::span<const MessageHeader> headers) override;
  absl::Status BatchEnd() override;
  absl::Status BatchProbe() override;
  bool IsFaultTolerant() const override { return writing_->exactly_once(); }

 private:
  // When the call that is running has to end.
  absl::Time Deadline() const;
  absl::Status EnsureSession();
  absl::Status CheckSteps(StepRange steps);
  absl::Status CheckInBatch(absl::string_view what) const;
  absl::Status Begin();
  absl::Status Push(absl::string_view buffer);
  // All but the end of the transaction. True: there is one.
  absl::StatusOr<bool> Write(bool is_probe);
  absl::Status MoveProgress();
  absl::Status Commit();
  // Ends the batch: rolls back, and says what the error comes to.
  absl::Status Fail(absl::Status error);
  absl::Status NameRow(const absl::Status& error) const;

  const std::shared_ptr<const PostgresWriting> writing_;
  const ShardIndex shard_;

  std::unique_ptr<PgConnection> session_;
  // The one before: ended before another one writes.
  std::optional<PgSession> last_session_;
  // Why nothing works any more: fenced, or progress is lost.
  absl::Status broken_;
  // Exactly-once: as far as known.
  Step progress_;

  // False also while a call runs: one that fails ends the batch.
  bool in_batch_ = false;
  bool begun_ = false;
  // Committed before: nothing of it is written.
  bool held_ = false;
  StepRange steps_;
  absl::Time batch_deadline_ = absl::InfiniteFuture();
};

}  // namespace penstock::core
