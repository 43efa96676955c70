#include "core/sinks/postgres/postgres_endpoint.h"

#include "core/base/error.h"
#include "core/base/status_macros.h"
#include "core/contract/sink_error.h"
#include "core/pg/pg_error.h"
#include "core/pg/pg_session.h"
#include "core/sinks/postgres/binary_value.h"
#include "core/sinks/postgres/session_name.h"

#include <absl/strings/ascii.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>
#include <absl/strings/strip.h>

#include <algorithm>
#include <array>
#include <utility>

namespace penstock::core {
namespace {

// A call outlasts the server's own limit by this much, so that the server's
// error is heard.
constexpr absl::Duration kAnswerTime = absl::Seconds(5);

// The line of COPY's data that `context` names, from 1: "COPY orders, line 3,
// column id", in whatever language the server speaks.
std::optional<uint64_t> LineOf(absl::string_view context,
                               absl::string_view relation) {
  const std::string prefix = absl::StrCat("COPY ", relation, ", ");
  for (absl::string_view line : absl::StrSplit(context, '\n')) {
    if (!absl::ConsumePrefix(&line, prefix)) continue;
    line = line.substr(0, line.find(','));
    const auto is_digit = [](char c) {
      return absl::ascii_isdigit(static_cast<unsigned char>(c));
    };
    const auto first = std::find_if(line.begin(), line.end(), is_digit);
    const auto end = std::find_if_not(first, line.end(), is_digit);
    uint64_t number = 0;
    if (absl::SimpleAtoi(
            absl::string_view(first, static_cast<size_t>(end - first)),
            &number) &&
        number > 0) {
      return number;
    }
  }
  return std::nullopt;
}

bool IsForGood(const absl::Status& error) {
  return HasReason(error, Reason::WRITER_FENCED) ||
         HasReason(error, Reason::FOREIGN_PROGRESS) ||
         HasReason(error, Reason::PROGRESS_LOST);
}

}  // namespace

PgOptions PgOptionsOf(const PostgresSinkConfig& config, std::string name) {
  return {.application_name = std::move(name),
          .statement_timeout = config.statement_timeout,
          .lock_timeout = config.lock_timeout,
          // A worker that was stopped holds its locks no longer than this.
          .idle_in_transaction_timeout = 2 * config.statement_timeout};
}

PostgresEndpoint::PostgresEndpoint(
    std::shared_ptr<const PostgresWriting> writing, ShardIndex shard,
    Step progress)
    : writing_(std::move(writing)), shard_(shard), progress_(progress) {}

absl::Time PostgresEndpoint::Deadline() const {
  return std::min(batch_deadline_, writing_->clock.SteadyNow() +
                                       writing_->config.statement_timeout +
                                       kAnswerTime);
}

absl::Status PostgresEndpoint::Connect(AsyncErrorCallback /*on_error*/) {
  return EnsureSession();
}

size_t PostgresEndpoint::MaxBufferSizeBytes() const {
  return writing_->config.buffer_bytes_max;
}

absl::Status PostgresEndpoint::EnsureSession() {
  RETURN_IF_ERROR(broken_);
  if (session_ != nullptr && session_->is_open()) return absl::OkStatus();
  const absl::Time deadline = Deadline();
  if (session_ != nullptr) last_session_ = session_->session();
  session_.reset();
  ASSIGN_OR_RETURN(
      std::unique_ptr<PgConnection> made,
      PgConnection::Connect(
          writing_->conninfo,
          PgOptionsOf(writing_->config, SessionName(writing_->open, shard_)),
          writing_->clock, deadline));
  if (last_session_.has_value()) {
    const std::array sessions = {*last_session_};
    RETURN_IF_ERROR(EndSessions(*made, sessions, deadline));
  }
  // The next to be ended, should it not get through what follows.
  last_session_ = made->session();
  if (writing_->exactly_once()) {
    const absl::StatusOr<Step> progress =
        writing_->progress.Confirm(*made, shard_, deadline);
    if (!progress.ok() && IsForGood(progress.status())) {
      broken_ = progress.status();
    }
    RETURN_IF_ERROR(progress.status());
    progress_ = *progress;
  }
  if (!writing_->plan->session_sql.empty()) {
    const absl::StatusOr<PgResult> prepared =
        made->Exec(writing_->plan->session_sql, deadline);
    if (!prepared.ok()) {
      return WithContext(NotOfARow(prepared.status()),
                         "while preparing a session");
    }
  }
  last_session_.reset();
  session_ = std::move(made);
  return absl::OkStatus();
}

absl::Status PostgresEndpoint::BatchStart(const OutputBatch& batch) {
  in_batch_ = false;
  batch_deadline_ = batch.deadline;
  if (session_ != nullptr && session_->in_transaction()) {
    // Closed on an error, which is as good.
    session_->Reset(Deadline()).IgnoreError();
  }
  RETURN_IF_ERROR(EnsureSession());
  RETURN_IF_ERROR(CheckSteps(batch.steps));
  steps_ = batch.steps;
  begun_ = false;
  in_batch_ = true;
  return absl::OkStatus();
}

absl::Status PostgresEndpoint::CheckSteps(StepRange steps) {
  held_ = false;
  if (!writing_->exactly_once()) return absl::OkStatus();
  if (steps.begin >= steps.end || steps.end > uint64_t{INT64_MAX}) {
    return MakeError(Reason::INVALID_REQUEST,
                     absl::StrCat("a batch of shard ", shard_, " with steps ",
                                  steps.begin, " to ", steps.end));
  }
  held_ = steps.end == progress_;
  if (held_ || steps.begin == progress_) return absl::OkStatus();
  return MakeError(
      steps.begin < progress_ ? Reason::PROGRESS_AHEAD
                              : Reason::PROGRESS_BEHIND,
      absl::StrCat("shard ", shard_, " of ", writing_->table.ToString(),
                   " holds the steps below ", progress_,
                   " and is to be given those from ", steps.begin, " to below ",
                   steps.end),
      {{"shard", absl::StrCat(shard_)}, {"progress", absl::StrCat(progress_)}});
}

absl::Status PostgresEndpoint::CheckInBatch(absl::string_view what) const {
  RETURN_IF_ERROR(broken_);
  if (in_batch_) return absl::OkStatus();
  return MakeError(
      Reason::INVALID_REQUEST,
      absl::StrCat(what, " of shard ", shard_, " outside of a batch"));
}

absl::Status PostgresEndpoint::Begin() {
  const RowPlan& plan = *writing_->plan;
  RETURN_IF_ERROR(NotOfARow(
      session_->BeginCopy(absl::StrCat("BEGIN; ", plan.copy_sql), Deadline())));
  if (plan.is_binary) {
    RETURN_IF_ERROR(session_->PutCopyData(kBinaryHeader, Deadline()));
  }
  begun_ = true;
  return absl::OkStatus();
}

absl::Status PostgresEndpoint::PushBuffer(absl::string_view buffer) {
  RETURN_IF_ERROR(CheckInBatch("buffer"));
  in_batch_ = false;
  absl::Status status = Push(buffer);
  if (!status.ok()) return Fail(std::move(status));
  in_batch_ = true;
  return absl::OkStatus();
}

absl::Status PostgresEndpoint::Push(absl::string_view buffer) {
  if (buffer.size() > writing_->config.buffer_bytes_max) {
    return MakeError(
        Reason::RECORD_TOO_LARGE,
        absl::StrCat("writing to ", writing_->table.ToString(),
                     ": a buffer of ", buffer.size(), " bytes, above ",
                     writing_->config.buffer_bytes_max));
  }
  if (held_ || buffer.empty()) return absl::OkStatus();
  if (!begun_) {
    RETURN_IF_ERROR(Begin());
  }
  return session_->PutCopyData(buffer, Deadline());
}

absl::Status PostgresEndpoint::PushKey(
    std::optional<absl::string_view> /*key*/,
    std::optional<absl::string_view> /*value*/,
    std::span<const MessageHeader> /*headers*/) {
  in_batch_ = false;
  return MakeError(Reason::UNSUPPORTED,
                   "the postgres sink takes rows, not messages with keys");
}

absl::StatusOr<bool> PostgresEndpoint::Write(bool is_probe) {
  const RowPlan& plan = *writing_->plan;
  if (begun_) {
    if (plan.is_binary) {
      RETURN_IF_ERROR(session_->PutCopyData(kBinaryTrailer, Deadline()));
    }
    const absl::StatusOr<uint64_t> copied = session_->EndCopy(Deadline());
    if (!copied.ok()) return copied.status();
    for (const std::string& sql : plan.merge_sql) {
      RETURN_IF_ERROR(session_->Exec(sql, Deadline()));
    }
  } else if (writing_->exactly_once()) {
    RETURN_IF_ERROR(session_->Exec("BEGIN", Deadline()));
  } else {
    return false;
  }
  if (is_probe) {
    RETURN_IF_ERROR(
        session_->Exec("SET CONSTRAINTS ALL IMMEDIATE", Deadline()));
  }
  if (writing_->exactly_once()) {
    absl::Status moved = MoveProgress();
    if (!moved.ok()) return moved;
  }
  return true;
}

absl::Status PostgresEndpoint::MoveProgress() {
  ASSIGN_OR_RETURN(
      const bool moved,
      writing_->progress.Move(*session_, shard_, steps_, Deadline()));
  if (moved) return absl::OkStatus();
  absl::Status reset = session_->Reset(Deadline());
  if (!reset.ok()) return reset;
  absl::Status why =
      writing_->progress.Explain(*session_, shard_, steps_.begin, Deadline());
  if (IsForGood(why)) broken_ = why;
  return why;
}

absl::Status PostgresEndpoint::Commit() {
  const absl::Status committed = session_->Commit(Deadline());
  // An error over an open session is the server's: it has rolled back.
  if (committed.ok() || session_->is_open()) return committed;
  if (!writing_->exactly_once()) return committed;
  // Whether it took effect stands in the progress row.
  const absl::Status asked = EnsureSession();
  RETURN_IF_ERROR(broken_);
  return asked.ok() && progress_ == steps_.end ? absl::OkStatus() : committed;
}

absl::Status PostgresEndpoint::BatchEnd() {
  RETURN_IF_ERROR(CheckInBatch("end"));
  in_batch_ = false;
  if (held_) return absl::OkStatus();
  const absl::StatusOr<bool> written = Write(/*is_probe=*/false);
  if (!written.ok()) return Fail(written.status());
  if (!*written) return absl::OkStatus();
  absl::Status committed = Commit();
  if (!committed.ok()) return Fail(std::move(committed));
  progress_ = steps_.end;
  return absl::OkStatus();
}

absl::Status PostgresEndpoint::BatchProbe() {
  RETURN_IF_ERROR(CheckInBatch("probe"));
  in_batch_ = false;
  if (held_) return absl::OkStatus();
  const absl::StatusOr<bool> written = Write(/*is_probe=*/true);
  if (!written.ok()) return Fail(written.status());
  if (!*written) return absl::OkStatus();
  return session_->Reset(Deadline());
}

absl::Status PostgresEndpoint::Fail(absl::Status error) {
  if (session_ != nullptr && session_->is_open()) {
    // Closed on an error, which is as good.
    session_->Reset(Deadline()).IgnoreError();
    return NameRow(error);
  }
  // Was it a newer writer that ended the session? Then it is no use to retry.
  if (writing_->exactly_once() && broken_.ok()) {
    EnsureSession().IgnoreError();
  }
  return broken_.ok() ? error : broken_;
}

absl::Status PostgresEndpoint::NameRow(const absl::Status& error) const {
  if (!HasReason(error, Reason::ROW_REFUSED)) return error;
  const std::optional<uint64_t> line =
      LineOf(PgContextOf(error), writing_->plan->copy_relation);
  if (!line.has_value()) return error;
  return MakeRowRefused(error.message(), *line - 1);
}

}  // namespace penstock::core
