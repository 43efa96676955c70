// Whether it is for good that brokers do not let a client in.
#pragma once

#include <absl/time/time.h>

#include <optional>

namespace penstock::core {

// A broker that restarts during a handshake looks as if it had refused us. So
// only at the beginning, before any was up, is one refusal believed; later they
// must have gone on, with no broker up.
//
// Threads: confined to its owner's.
class LoginWatch {
 public:
  static constexpr absl::Duration kBelievedAfter = absl::Minutes(2);

  // A broker refuses us. Returns: whether that is for good.
  bool Refused(absl::Time now) {
    if (!was_up_) return true;
    if (!since_.has_value()) since_ = now;
    return now - *since_ >= kBelievedAfter;
  }
  // A broker is up, or has answered.
  void Up() {
    was_up_ = true;
    since_.reset();
  }
  // A broker is not there at all: what it refused before was perhaps no
  // refusal.
  void Away() { since_.reset(); }

 private:
  bool was_up_ = false;
  // The first refusal in a row.
  std::optional<absl::Time> since_;
};

}  // namespace penstock::core
