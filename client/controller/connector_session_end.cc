// No further: closed in order, abandoned, or failed until a person came.
#include "client/controller/connector_session.h"
#include "client/controller/verdict.h"
#include "core/base/error.h"
#include "core/base/log.h"

#include <absl/strings/str_cat.h>

#include <utility>

namespace penstock::client {
namespace {

// What the last look at a connector may delay its end.
constexpr absl::Duration kLastLookMax = absl::Seconds(1);

}  // namespace

void ConnectorSession::Fail(const absl::Status& status) {
  const bool is_tried_again =
      state_ == State::kOpening && !stopping_ && MayBeMendedOutside(status);
  EndLife();
  state_ = State::kFailed;
  progress_.last_error = core::ErrorText(status);
  progress_.health =
      absl::StrCat(ConditionName(is_tried_again ? core::Condition::kNeedsConfig
                                                : core::Condition::kFatal),
                   ": ", progress_.last_error);
  if (!HasFailure()) {
    LOG(ERROR).With("connector", name())
        << "it failed, and others go on: " << progress_.last_error;
  }
  failure_ = core::WithContext(
      status, absl::StrCat("driving connector '", name(), "'"));
  if (is_tried_again) {
    reopen_timer_.Set(mend_backoff_.Next(),
                      [this] { WaitToReopen(absl::ZeroDuration()); });
  }
  host_.OnProgress(*this);
}

void ConnectorSession::Close(absl::AnyInvocable<void(absl::Status)> done) {
  // Whatever was in the way, all of it is done.
  if (IsOpen() && journal_.base_steps() >= now_.made_steps) {
    progress_.health = std::string(ConditionName(core::Condition::kOk));
  }
  was_settled_ = IsOpen() && IsSettled();
  const bool has_counted = !now_.instance.empty();
  EndLife();
  state_ = State::kClosed;
  close_done_ = std::move(done);
  if (!has_counted ||
      context_.options.status_interval <= absl::ZeroDuration()) {
    return DeleteAtLast();
  }
  status_timer_.Set(kLastLookMax, [this] { DeleteAtLast(); });
  worker_.Get(name(), InThisLife(&ConnectorSession::OnLastStatus));
}

void ConnectorSession::OnLastStatus(
    absl::StatusOr<core::ConnectorStatus> status) {
  if (status.ok()) CountBadRecords(*status);
  host_.OnProgress(*this);
  DeleteAtLast();
}

void ConnectorSession::DeleteAtLast() {
  if (!close_done_) return;
  status_timer_.Cancel();
  core::CommandHeader header = Header();
  header.request_id = context_.NewRequestId();
  worker_.Delete(std::move(header),
                 {.deadline = context_.options.disconnect_deadline},
                 context_.tasks.Wrap(
                     [done = std::exchange(close_done_, nullptr)](
                         absl::StatusOr<core::DisconnectReply> reply) mutable {
                       done(reply.status());
                     }));
}

std::optional<std::string> ConnectorSession::LeftSteps() const {
  // Level none has no checkpoints.
  if (was_settled_ || !configured_.level.has_value() ||
      made_steps_ <= journal_.base_steps()) {
    return std::nullopt;
  }
  std::string text = absl::StrCat(
      "connector '", name(), "' has steps from ", journal_.base_steps(), " to ",
      made_steps_ - 1, " that were not checkpointed");
  if (!progress_.last_error.empty()) {
    absl::StrAppend(&text, " (last trouble: ", progress_.last_error, ")");
  }
  return text;
}

void ConnectorSession::Abandon() {
  EndLife();
  if (state_ != State::kFailed) state_ = State::kClosed;
}

}  // namespace penstock::client
