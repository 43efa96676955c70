#include "core/handoff/write_slot.h"

#include "core/base/error.h"
#include "core/base/status_macros.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <utility>

namespace penstock::core {
namespace {

WriteSlot::Next NextOf(const RowIsolation& isolation) {
  return isolation.next() == RowIsolation::Next::kSettled
             ? WriteSlot::Next::kConfirm
             : WriteSlot::Next::kTry;
}

// Requires: letters are owed.
std::vector<DeadLetter> LettersOf(const WriteSlot& slot) {
  return slot.letters.empty() ? slot.isolation->Letters() : slot.letters;
}

// What is to be written now. Requires: no letters are owed.
ShardWriter::Attempt MakeAttempt(const WriteSlot& slot, bool exactly_once,
                                 absl::Time deadline) {
  ShardWriter::Attempt attempt{.write = slot.write,
                               .frames = slot.write->Frames(),
                               .id = slot.id,
                               .chunk_ids = exactly_once,
                               .deadline = deadline};
  if (slot.isolation == nullptr) return attempt;
  const RowIsolation& isolation = *slot.isolation;
  attempt.frames = isolation.Frames();
  attempt.is_probe = isolation.is_probe();
  // Names stand for whole chunks and batches; these are parts of them.
  attempt.chunk_ids = false;
  if (!exactly_once) absl::StrAppend(&attempt.id, "-", isolation.trials());
  return attempt;
}

}  // namespace

bool WriteSlot::OwesLetters() const {
  return !letters.empty() ||
         (isolation != nullptr &&
          isolation->next() == RowIsolation::Next::kLetters);
}

absl::Time WriteSlot::Ask(Breaker* breaker, absl::Time steady_now) {
  retry_timer = Strand::TimerId::kNone;
  waits_for_breaker = false;
  if (breaker == nullptr || OwesLetters()) return steady_now;
  Breaker::Admission admission = breaker->Ask(steady_now);
  waits_for_breaker = !admission.permit.has_value();
  if (waits_for_breaker) return admission.ask_again;
  permit = *std::move(admission.permit);
  return steady_now;
}

absl::Status WriteSlot::HeldBack() const {
  return WithContext(
      last_error.ok()
          ? MakeError(Reason::UNAVAILABLE, "other writes to it have failed")
          : last_error,
      "the target's circuit breaker is open");
}

void WriteSlot::DoNotAsk(Breaker* breaker) {
  waits_for_breaker = false;
  if (breaker != nullptr && !OwesLetters()) permit = breaker->Force();
}

void WriteSlot::Begin(const ShardWorkerOptions& options, absl::Time steady_now,
                      absl::Time stops_at, ShardWriter::Done done) {
  attempt_began = steady_now;
  writes_letters = OwesLetters();
  if (writes_letters) {
    writer->BeginCall(
        write,
        [output = options.refused_rows.dead_letters, owed = LettersOf(*this)] {
          return output->Write(owed);
        },
        std::move(done));
  } else {
    const absl::Time deadline =
        std::min(steady_now + options.delivery.write_deadline, stops_at);
    writer->Begin(
        MakeAttempt(*this, options.level == FtModel::kExactlyOnce, deadline),
        std::move(done));
  }
}

absl::StatusOr<WriteSlot::Next> WriteSlot::OnSuccess(ShardSnapshot& totals) {
  if (!letters.empty()) {
    totals.dead_letters += letters.size();
    letters.clear();
    return Next::kTry;
  }
  if (isolation == nullptr || isolation->next() == RowIsolation::Next::kWrite) {
    return Next::kConfirm;
  }
  RETURN_IF_ERROR(isolation->OnSuccess());
  return NextOf(*isolation);
}

absl::StatusOr<WriteSlot::Next> WriteSlot::OnRefusal(
    const absl::Status& error, const ShardWorkerOptions& options,
    RateLimit& log) {
  if (!letters.empty()) return error;
  if (!options.refused_rows.tells_rows_apart ||
      !RowIsolation::IsPossible(*write)) {
    return WithContext(error, "this sink cannot tell which row it was");
  }
  if (isolation == nullptr) {
    isolation = std::make_unique<RowIsolation>(
        *write, options.shard, options.level == FtModel::kExactlyOnce,
        options.refused_rows, log);
    return Next::kTry;
  }
  RETURN_IF_ERROR(isolation->OnRefusal(error));
  return NextOf(*isolation);
}

void WriteSlot::Count(RefusedRows* counter, ShardSnapshot& totals) const {
  uint64_t refused = 0;
  if (isolation != nullptr) {
    refused = isolation->left_out();
    totals.dead_letters += isolation->letters_written();
  }
  totals.rows_refused += refused;
  totals.rows_written += write->rows - refused;
  totals.bytes_written += write->bytes;
  ++totals.commits;
  ++totals.flushes[static_cast<size_t>(write->reason)];
  totals.batch_rows.Record(static_cast<double>(write->rows));
  totals.batch_bytes.Record(static_cast<double>(write->bytes));
  if (counter != nullptr) counter->AddTaken(write->rows - refused);
}

std::shared_ptr<ShardWrite> WriteSlot::TakeBatch() {
  isolation = nullptr;
  letters.clear();
  waits_for_letters = false;
  last_error = absl::OkStatus();
  return std::exchange(write, nullptr);
}

}  // namespace penstock::core
