// Remembers what mutations with a request id were answered (rule 8).
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace penstock::server {

// Owner:   one connector's entry in the dispatcher. Threads: confined to the
//          dispatcher's lock.
// Bound:   `replies_max` successes, with replies of `kReplyBytesMax` in all;
//          while a call runs, the repeats of it that wait.
class ReplyCache {
 public:
  using Done = absl::AnyInvocable<void(absl::Status)>;
  enum class Outcome { kRun, kWaits, kRepeat, kReused };
  // As much as a message holds, so that any reply can be kept.
  static constexpr size_t kReplyBytesMax = size_t{4} << 20;

  explicit ReplyCache(size_t replies_max) : replies_max_(replies_max) {}

  // kRun: new, run it and call Finish. kWaits: `done` was taken; it runs with
  // the first call. kRepeat: it succeeded before. kReused: another body.
  Outcome Begin(const std::string& request_id, uint64_t body, Done& done) {
    for (Call& call : calls_) {
      if (call.request_id != request_id) continue;
      if (call.body != body) return Outcome::kReused;
      if (call.succeeded) return Outcome::kRepeat;
      call.waiting.push_back(std::move(done));
      return Outcome::kWaits;
    }
    calls_.push_back(Call{request_id, body, false, {}, {}});
    return Outcome::kRun;
  }

  // Returns who waited. A failure is forgotten: asking again runs it again. So
  // are the oldest successes whose replies must make room for this one.
  std::vector<Done> Finish(const std::string& request_id, bool succeeded,
                           std::string reply = "") {
    const bool kept = succeeded && reply.size() <= kReplyBytesMax;
    if (kept) MakeRoom(reply.size());
    std::vector<Done> waiting;
    for (auto call = calls_.begin(); call != calls_.end(); ++call) {
      if (call->request_id != request_id) continue;
      waiting = std::move(call->waiting);
      call->waiting.clear();
      call->succeeded = kept;
      call->reply = std::move(reply);
      if (!kept) calls_.erase(call);
      break;
    }
    while (calls_.size() > replies_max_ && calls_.front().succeeded) {
      calls_.pop_front();
    }
    return waiting;
  }

  // The reply of one that succeeded; empty if it is not known.
  std::string ReplyOf(const std::string& request_id) const {
    for (const Call& call : calls_) {
      if (call.request_id == request_id && call.succeeded) return call.reply;
    }
    return "";
  }

  // Who waits for calls that will not finish.
  std::vector<Done> TakeWaiting() {
    std::vector<Done> waiting;
    for (Call& call : calls_) {
      for (Done& done : std::exchange(call.waiting, {})) {
        waiting.push_back(std::move(done));
      }
    }
    return waiting;
  }

 private:
  // Only what has a reply makes room; another would free nothing.
  void MakeRoom(size_t bytes) {
    for (const Call& call : calls_) bytes += call.reply.size();
    for (auto call = calls_.begin();
         call != calls_.end() && bytes > kReplyBytesMax;) {
      bytes -= call->reply.size();
      call = call->reply.empty() ? std::next(call) : calls_.erase(call);
    }
  }

  struct Call {
    std::string request_id;
    // Fingerprint of verb and body.
    uint64_t body = 0;
    bool succeeded = false;
    std::vector<Done> waiting;
    std::string reply;
  };

  const size_t replies_max_;
  std::deque<Call> calls_;
};

}  // namespace penstock::server
