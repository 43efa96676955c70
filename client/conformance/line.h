// The line between a check and the server, as bad as lines are.
// See client/conformance/README.md.
#pragma once

#include "core/base/mutex.h"
#include "core/base/random.h"
#include "proto/wire/status.h"

#include <absl/base/thread_annotations.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/string_view.h>
#include <absl/time/time.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace penstock::conformance {

// No call of a check takes longer.
inline constexpr absl::Duration kCheckCallMax = absl::Seconds(20);
// Gives a call that time.
void SetDeadline(grpc::ClientContext& context);

enum class LineFault {
  kNone,
  // An answer is lost, and what it answered is asked for again.
  kLose,
  // A call is given up after some milliseconds, wherever the server is with it,
  // and given once more.
  kCut,
  // A command arrives twice at once.
  kRepeat,
  // A command that was answered long ago arrives once more, before a later one.
  kLate,
};
std::span<const LineFault> AllLineFaults();
absl::string_view LineFaultName(LineFault fault);
std::optional<LineFault> ParseLineFault(absl::string_view name);

// Makes every command of a check at least once, as its controller would that
// met such a line: with the same request id and step. A server must take each
// as often as it comes, answer it the same, and do it once (`protocol.md`
// rules 2, 3 and 8). What a server refuses is not asked for again.
//
// Owner:   the suite. Threads: thread-safe.
// Bound:   `kKeptMax` commands that may still arrive late.
class Line {
 public:
  template <typename Response>
  using Send = std::function<grpc::Status(grpc::ClientContext&, Response&)>;
  // How one command takes to the line.
  template <typename Response>
  struct Terms {
    const char* name = "";
    // False: whoever commands anew may give it only once (a Delete of whatever
    // there is).
    bool may_come_late = true;
    // Whether it is done once it was answered so; null: always.
    bool (*is_done)(const Response&) = nullptr;
    // What of two answers must be equal; null: nothing but success.
    std::string (*same)(const Response&) = nullptr;
  };

  Line(LineFault fault, uint64_t seed) : fault_(fault), random_(seed) {}

  LineFault fault() const { return fault_; }

  template <typename Response>
  absl::StatusOr<Response> Call(const Terms<Response>& terms,
                                const Send<Response>& send) {
    DeliverLate();
    if (fault_ == LineFault::kCut) CutOff<Response>(send);
    if (fault_ == LineFault::kRepeat) return Twice(terms, send);
    absl::StatusOr<Response> answer = Once<Response>(send);
    if (!answer.ok() || (terms.is_done && !terms.is_done(*answer))) {
      return answer;
    }
    if (fault_ == LineFault::kLose) {
      return Compared(terms, std::move(answer), Once<Response>(send));
    }
    if (fault_ == LineFault::kLate && terms.may_come_late) {
      Keep([send] { (void)Once<Response>(send); });
    }
    return answer;
  }

 private:
  static constexpr size_t kKeptMax = 3;

  template <typename Response>
  static absl::StatusOr<Response> Once(const Send<Response>& send) {
    grpc::ClientContext context;
    SetDeadline(context);
    Response response;
    const absl::Status status = wire::StatusFromGrpc(send(context, response));
    if (!status.ok()) return status;
    return response;
  }
  template <typename Response>
  void CutOff(const Send<Response>& send) {
    grpc::ClientContext context;
    SetDeadlineOfCut(context);
    Response response;
    (void)send(context, response);
  }
  template <typename Response>
  static absl::StatusOr<Response> Twice(const Terms<Response>& terms,
                                        const Send<Response>& send) {
    auto other = std::async(std::launch::async, Once<Response>, send);
    absl::StatusOr<Response> answer = Once<Response>(send);
    return Compared(terms, std::move(answer), other.get());
  }
  template <typename Response>
  static absl::StatusOr<Response> Compared(const Terms<Response>& terms,
                                           absl::StatusOr<Response> answer,
                                           absl::StatusOr<Response> other) {
    if (answer.ok() != other.ok()) {
      return absl::FailedPreconditionError(absl::StrCat(
          terms.name, " was given twice and answered ",
          answer.status().ToString(), " and ", other.status().ToString()));
    }
    if (answer.ok() && terms.same &&
        terms.same(*answer) != terms.same(*other)) {
      return absl::FailedPreconditionError(
          absl::StrCat(terms.name, " was given twice and has two answers"));
    }
    return answer;
  }

  void SetDeadlineOfCut(grpc::ClientContext& context);
  void Keep(std::function<void()> deliver);
  void DeliverLate();

  const LineFault fault_;
  core::Mutex mu_;
  core::Random random_ ABSL_GUARDED_BY(mu_);
  std::deque<std::function<void()>> kept_ ABSL_GUARDED_BY(mu_);
};

}  // namespace penstock::conformance
