// The short path to a connector that lives when its controller starts: an
// optimisation over delete, reopen, replay, which is taken whenever anything is
// not as it should be.
//
// It is ours if it has the writer that was made durable last before an Open: a
// writer is used for one life only. All that this life made is known if every
// step that is not in the journal is retained: those are fetched and journaled
// as if they came now. Before anything is believed a Release takes command, so
// that nobody else has it make a step meanwhile.
#include "client/controller/connector_session.h"
#include "client/controller/verdict.h"
#include "core/base/error.h"
#include "core/base/log.h"

#include <absl/strings/ascii.h>
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <string>
#include <utility>

namespace penstock::client {
namespace {

// How often what got no answer is asked again before the long path is taken.
constexpr uint32_t kAdoptAttemptsMax = 4;

// What `what` says in one word, for whoever counts.
constexpr char kDifference[] = "difference";

absl::Status Differs(absl::string_view word, absl::string_view what) {
  return core::MakeError(core::Reason::INSTANCE_MISMATCH,
                         absl::StrCat("adopting a living connector: ", what),
                         {{kDifference, std::string(word)}});
}

std::string WordOf(const absl::Status& why) {
  const auto info = core::GetErrorInfo(why);
  if (!info.has_value()) return "unknown";
  const auto difference = info->metadata.find(kDifference);
  if (difference != info->metadata.end()) return difference->second;
  return absl::AsciiStrToLower(core::ReasonName(info->reason));
}

}  // namespace

bool ConnectorSession::IsExactlyOnce() const {
  return now_.level == core::FtModel::kExactlyOnce;
}

bool ConnectorSession::MayLive() const {
  // Below exactly-once nobody knows what was made since the checkpoint.
  return context_.options.adopt_living && opened_ &&
         configured_.level == core::FtModel::kExactlyOnce;
}

core::DesiredConnector ConnectorSession::Desired() const {
  core::DesiredConnector desired;
  desired.connector = name();
  if (!MayLive()) return desired;
  desired.spec_bytes = spec_bytes_;
  desired.journaled_steps = journal_.journaled_steps();
  return desired;
}

void ConnectorSession::LookForLiving() {
  state_ = State::kAdopting;
  host_.OnProgress(*this);
  worker_.Get(name(), InThisLife(&ConnectorSession::OnLookedForLiving));
}

absl::Status ConnectorSession::CheckLiving(
    const core::ConnectorStatus& status) const {
  if (status.pipeline != context_.fence.pipeline ||
      status.incarnation != context_.incarnation ||
      status.writer.open_number != open_number_ || open_number_ == 0) {
    return Differs("other_life",
                   "it is of another life than the journal's last");
  }
  if (status.spec_bytes != spec_bytes_) {
    return Differs("other_specification",
                   "it was opened with another specification");
  }
  if (!status.level.has_value() ||
      *status.level != core::FtModel::kExactlyOnce) {
    return Differs("other_level", "it does not run exactly-once");
  }
  if (status.state != core::ConnectorState::kRunning &&
      status.state != core::ConnectorState::kPaused &&
      status.state != core::ConnectorState::kOpened) {
    return Differs("other_state",
                   "it failed, is closed or in the middle of a replay");
  }
  const core::Step journaled = journal_.journaled_steps();
  if (status.made_steps < journaled) {
    return Differs("steps_missing",
                   absl::StrCat("it made the steps below ", status.made_steps,
                                ", the journal has those below ", journaled));
  }
  if (status.released_steps > journaled) {
    return Differs(
        "steps_released",
        absl::StrCat("steps below ", status.released_steps,
                     " are released, the journal has those below ", journaled));
  }
  // All that is made and not released is retained; the list may be cut.
  if (status.made_steps > journaled &&
      (status.retained_steps.empty() ||
       status.retained_steps.back() + 1 != status.made_steps)) {
    return Differs("steps_not_named", "it retains more steps than it names");
  }
  return absl::OkStatus();
}

void ConnectorSession::OnLookedForLiving(
    absl::StatusOr<core::ConnectorStatus> status) {
  if (!status.ok()) {
    return OnAdoptError(status.status(), [this] { LookForLiving(); });
  }
  if (const absl::Status checked = CheckLiving(*status); !checked.ok()) {
    return DoNotAdopt(checked);
  }
  now_.instance = status->instance;
  core::CommandHeader header = Header();
  header.released_steps = journal_.journaled_steps();
  worker_.Release(std::move(header),
                  InThisLife(&ConnectorSession::OnLivingTaken));
}

void ConnectorSession::OnLivingTaken(absl::Status status) {
  if (!status.ok()) {
    return OnAdoptError(status, [this] { LookForLiving(); });
  }
  now_.adopt_attempts = 0;
  now_.released_steps = journal_.journaled_steps();
  worker_.Get(name(), InThisLife(&ConnectorSession::OnTakenLookedAt));
}

void ConnectorSession::OnTakenLookedAt(
    absl::StatusOr<core::ConnectorStatus> status) {
  if (!status.ok()) {
    return OnAdoptError(status.status(), [this] { LookForLiving(); });
  }
  absl::Status checked = CheckLiving(*status);
  if (checked.ok() && status->instance != now_.instance) {
    checked = Differs("other_life", "it was opened anew meanwhile");
  }
  if (!checked.ok()) return DoNotAdopt(checked);
  now_.level = status->level;
  now_.gate_open = status->state == core::ConnectorState::kRunning;
  now_.made_steps = journal_.journaled_steps();
  for (const core::Step step : status->retained_steps) {
    if (step >= now_.made_steps) now_.steps_to_fetch.push_back(step);
  }
  // One that was begun before goes on: its result is awaited like theirs.
  if (status->running_step.has_value() &&
      *status->running_step >= status->made_steps) {
    now_.steps_to_fetch.push_back(*status->running_step);
  }
  counted_instance_ = now_.instance;
  CountBadRecords(*status);
  FetchNext();
}

void ConnectorSession::FetchNext() {
  // A status is no promise: the step that runs may be named among those that
  // are retained, too.
  while (!now_.steps_to_fetch.empty() &&
         now_.steps_to_fetch.front() < now_.made_steps) {
    now_.steps_to_fetch.pop_front();
  }
  if (now_.steps_to_fetch.empty()) {
    LOG(INFO).With("connector", name()).With("instance", now_.instance)
        << "adopted: it goes on behind step " << now_.made_steps;
    progress_.adopted = true;
    made_steps_ = std::max(made_steps_, now_.made_steps);
    progress_.released_steps = now_.released_steps;
    state_ = State::kConfirming;
    host_.OnProgress(*this);
    return SendCommitCheckpoint();
  }
  core::QueueRequest request;
  request.step = now_.steps_to_fetch.front();
  request.previous_steps = now_.made_steps;
  request.wait = context_.options.queue_wait;
  worker_.Queue(Header(), request, InThisLife(&ConnectorSession::OnFetched));
}

void ConnectorSession::OnFetched(absl::StatusOr<core::QueueReply> reply) {
  if (!reply.ok()) {
    return OnAdoptError(reply.status(), [this] { FetchNext(); });
  }
  now_.adopt_attempts = 0;
  const core::Step asked = now_.steps_to_fetch.front();
  now_.steps_to_fetch.pop_front();
  // The one that was running may have come to nothing.
  if (reply->result == nullptr) return FetchNext();
  if (reply->result->step != asked) {
    return DoNotAdopt(
        Differs("other_step", "a step was answered with another"));
  }
  if (!context_.Pass(FaultPoint::kResultReceived, name())) return;
  now_.made_steps = asked + 1;
  progress_.amount += reply->result->amount;
  ++unjournaled_;
  ++store_writes_;
  host_.Journal(*this, std::move(reply->result));
  if (context_.tasks.closed()) return;
  FetchNext();
}

void ConnectorSession::OnAdoptError(const absl::Status& error,
                                    TaskScope::Task again) {
  if (Judge(error) == Verdict::kAskStore) return host_.OnFenced(error);
  const bool may_pass =
      Judge(error) == Verdict::kAskAgain || Judge(error) == Verdict::kAskLater;
  if (!may_pass || ++now_.adopt_attempts >= kAdoptAttemptsMax) {
    return DoNotAdopt(error);
  }
  reopen_timer_.Set(backoff_.Next(), std::move(again));
}

void ConnectorSession::DoNotAdopt(const absl::Status& why) {
  // Whoever ended in order left neither steps nor a connector: that is nothing
  // to tell.
  if (journal_.rows() != 0 ||
      !core::HasReason(why, core::Reason::NO_SUCH_CONNECTOR)) {
    LOG(INFO).With("connector", name())
        << "not adopted: " << core::ErrorText(why);
    progress_.not_adopted = WordOf(why);
  }
  EndLife();
  WaitToReopen(absl::ZeroDuration());
}

}  // namespace penstock::client
