// How to restart after a step, and how to reproduce it.
#pragma once

#include "core/contract/ft_model.h"

#include <absl/strings/string_view.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace penstock::core {

// MessagePack nil: "replay re-reads, no data needed".
inline constexpr absl::string_view kMsgpackNil = "\xc0";
// JSON null: "no position needed, replay carries the data".
inline constexpr absl::string_view kJsonNull = "null";

// Seed type: `Resume`. JSON and MessagePack are carried as bytes and returned
// byte for byte: nothing on the way re-serialises them.
class Resume {
 public:
  // The reader cannot be restarted after this step.
  struct Barrier {
    friend bool operator==(const Barrier&, const Barrier&) = default;
  };
  // It can be restarted after this step, but cannot reproduce it.
  struct Seek {
    std::string seek;
    friend bool operator==(const Seek&, const Seek&) = default;
  };
  // It can do both. `hash` is the StepHash value of the step.
  struct Replay {
    std::string seek;
    std::string replay;
    uint64_t hash = 0;
    friend bool operator==(const Replay&, const Replay&) = default;
  };

  Resume() = default;  // A barrier.
  explicit Resume(Barrier barrier) : kind_(barrier) {}
  explicit Resume(Seek seek) : kind_(std::move(seek)) {}
  explicit Resume(Replay replay) : kind_(std::move(replay)) {}

  // Seed: `new_metadata_only`: Replay with nil data if there is a hash,
  // otherwise Seek.
  static Resume MetadataOnly(std::string seek, std::optional<uint64_t> hash);
  // Seed: `new_data_only`: Replay with null seek and `replay()` if there is a
  // hash (only then is it called), otherwise Seek with null.
  static Resume DataOnly(const std::function<std::string()>& replay,
                         std::optional<uint64_t> hash);

  bool IsBarrier() const { return std::holds_alternative<Barrier>(kind_); }
  // Seed: `seek`, `into_seek`. nullopt for a barrier.
  std::optional<absl::string_view> seek() const;
  // Seed: `fault_tolerance`: the highest level this resume can serve.
  FtModel FaultTolerance() const;

  const std::variant<Barrier, Seek, Replay>& kind() const { return kind_; }

  // Ours: a place may be too large for every step. Then the seek says only what
  // the step changed of it, which suffices to replay the step behind the one
  // before; to restart after it takes the whole place.
  struct Change {
    // The whole place just after the step, where it was asked for.
    std::optional<std::string> whole;
    friend bool operator==(const Change&, const Change&) = default;
  };
  void SetChange(Change change) { change_ = std::move(change); }
  // nullopt: the seek is the whole place.
  std::optional<Change> TakeChange() {
    return std::exchange(change_, std::nullopt);
  }

  friend bool operator==(const Resume&, const Resume&) = default;

 private:
  std::variant<Barrier, Seek, Replay> kind_;
  std::optional<Change> change_;
};

}  // namespace penstock::core
