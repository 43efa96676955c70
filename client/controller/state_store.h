// The controller's durable state: what must survive it.
// See client/controller/README.md; upholds INV-2, INV-3, INV-7.
#pragma once

#include "core/connector/requests.h"

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace penstock::client {

// The state of one connector, as stored.
struct StoredConnector {
  // Serialised specification (secrets as references) that journaled steps are
  // replayed with: the one that they were made with, or one that makes the same
  // of them.
  std::string spec_bytes;
  // True once an open succeeded and its resolved position was stored.
  bool opened = false;
  // Where `base_steps` lies: seek JSON byte for byte. Set by the first open and
  // by every checkpoint.
  std::optional<std::string> position;
  // Checkpointed steps (exclusive count): the base of the next open.
  core::Step base_steps = 0;
  // Numbers below were reserved, perhaps given out. The next step after a
  // crash is at or above it.
  core::Step reserved_steps = 0;
  // The open number of the last writer reserved.
  uint64_t open_number = 0;
  bool user_paused = false;
  // Steps at or above base_steps, ascending. Never replaced, only added
  // (journal) and trimmed (checkpoint).
  std::vector<core::StepResult> journal;
};

// About what a step takes, in memory and in a store.
uint64_t BytesOf(const core::StepResult& result);
// Steps that are written or read at once have at most so many bytes, or are a
// single one.
inline constexpr uint64_t kJournalBytesMax = uint64_t{16} << 20;

struct StoredPipeline {
  // Made once, with the state.
  std::string incarnation;
  uint64_t epoch = 0;
  std::map<std::string, StoredConnector> connectors;
};

// One transaction. Everything in it becomes durable together, or nothing; it is
// applied in the order of the members below.
//
// Each change may be made again, by the same epoch, with the same values: it
// then has no effect. So a transaction whose outcome is unknown is simply
// committed again. What contradicts the stored state is INVALID_REQUEST or
// ALREADY_EXISTS, and what names no stored connector NO_SUCH_CONNECTOR: bugs of
// the caller.
struct StoreTransaction {
  // With another specification than the stored one: replaces it if the
  // connector was never opened, otherwise ALREADY_EXISTS. `reserved_steps`
  // starts at `base_steps`.
  struct AddConnector {
    std::string connector;
    std::string spec_bytes;
    core::Step base_steps = 0;
  };
  // Raises; a lower number has no effect. The same for ReserveWriter.
  struct ReserveSteps {
    std::string connector;
    core::Step reserved_steps = 0;
  };
  struct ReserveWriter {
    std::string connector;
    uint64_t open_number = 0;
  };
  struct Opened {
    std::string connector;
    std::string position;
  };
  // A step at or above base_steps and below reserved_steps. The row is never
  // replaced: one that holds the same is success, another ALREADY_EXISTS.
  struct JournalStep {
    std::string connector;
    core::StepResult result;
  };
  // Sets base_steps, position and specification and removes journal rows below
  // base_steps, which never goes down and is at most reserved_steps. Another
  // specification than the stored one needs a journal that is empty
  // afterwards: rows are replayed with the one they were made with.
  struct Checkpoint {
    std::string connector;
    core::Step base_steps = 0;
    std::string position;
    std::string spec_bytes;
  };
  // Another specification, whatever is journaled: the caller knows that every
  // step comes out the same under both.
  struct ReplaceSpec {
    std::string connector;
    std::string spec_bytes;
  };
  struct SetUserPaused {
    std::string connector;
    bool paused = false;
  };
  std::vector<AddConnector> add_connectors;
  std::vector<ReserveSteps> reserve_steps;
  std::vector<ReserveWriter> reserve_writers;
  std::vector<Opened> opened;
  std::vector<JournalStep> journal;
  std::vector<Checkpoint> checkpoints;
  std::vector<ReplaceSpec> replace_specs;
  std::vector<SetUserPaused> user_paused;

  bool IsEmpty() const {
    return add_connectors.empty() && reserve_steps.empty() &&
           reserve_writers.empty() && opened.empty() && journal.empty() &&
           checkpoints.empty() && replace_specs.empty() && user_paused.empty();
  }
};

// Owner:   the controller. Threads: thread-safe; callbacks run exactly once,
//          on any thread.
// Blocks:  never: an implementation works on an executor of its own.
class StateStore {
 public:
  template <typename T>
  using Reply = absl::AnyInvocable<void(absl::StatusOr<T>)>;
  using Done = absl::AnyInvocable<void(absl::Status)>;

  virtual ~StateStore() = default;

  // Durably takes the next epoch, then reads the whole state: whatever an
  // older epoch committed is in it, and it commits nothing afterwards.
  // Errors: STATE_DAMAGED; UNAVAILABLE (perhaps taken: take another);
  // STALE_EPOCH (another controller took over while the state was read).
  virtual void TakeLeadership(Reply<StoredPipeline> reply) = 0;
  // Commits iff the stored (incarnation, epoch) is still the caller's, checked
  // under a lock in the same transaction. Calls may overlap; they commit in
  // the order of the calls.
  // Errors: STALE_EPOCH (another controller leads: end); ALREADY_EXISTS (a
  // journal row with other content: never replaced) and others that
  // StoreTransaction names; UNAVAILABLE (perhaps committed) and STORAGE_FULL:
  // commit the same again; STATE_DAMAGED; IO_ERROR.
  virtual void Commit(uint64_t epoch, StoreTransaction transaction,
                      Done done) = 0;
  // The stored epoch, to find out who leads.
  virtual void ReadEpoch(Reply<uint64_t> reply) = 0;
};

}  // namespace penstock::client
