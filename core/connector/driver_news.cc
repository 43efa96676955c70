// What a driver hears, and what it shows of itself.
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/random.h"
#include "core/connector/bad_record_limits.h"
#include "core/connector/driver.h"
#include "core/connector/state_machine.h"

#include <absl/status/status.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/string_view.h>
#include <absl/time/time.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

// Of the bad record in a status's message, which must be short to travel.
constexpr size_t kTextInStatusMax = 200;

// Place, problem, remedy, and at last the record, of at most `text_bytes_max`
// bytes (0: without it): the end may be cut off.
std::string Describe(const ParseError& error, size_t text_bytes_max) {
  std::string text;
  if (!error.input.empty()) absl::StrAppend(&text, error.input, ", ");
  absl::StrAppend(&text, "record ", error.record_number, ", line ", error.line,
                  ", byte ", error.byte_offset);
  if (error.field.has_value()) absl::StrAppend(&text, ", ", *error.field);
  absl::StrAppend(&text, ": ", error.description);
  if (!error.suggestion.empty()) {
    absl::StrAppend(&text, "; ", error.suggestion);
  }
  if (!error.invalid_text.empty() && text_bytes_max > 0) {
    absl::StrAppend(&text, ": ", CutMiddle(error.invalid_text, text_bytes_max));
  }
  return text;
}

}  // namespace

void Driver::Hear() {
  HearOpened();
  HearSink();
  HearAcks();
  HearReader();
}

void Driver::HearOpened() {
  if (!opening_) return;
  for (OpenAnswer& answer : opened_->TakeAll()) FinishOpen(std::move(answer));
}

void Driver::FinishOpen(OpenAnswer answer) {
  opening_ = false;
  state_.changed = true;
  if (!answer.ok()) {
    if (!absl::IsCancelled(answer.status())) {
      AddError("open", true, answer.status());
      state_.health.SetFatal(answer.status());
    }
    // Nobody heard of it yet.
    state_.state = ConnectorState::kClosed;
    ReplyOpen(answer.status());
  } else {
    TakeOver(std::move(**answer));
    if (disconnects_.empty()) {
      ReplyOpen(OpenReply{.instance = instance_,
                          .position = opening_position_,
                          .base_steps = state_.request.base_steps,
                          .shard_progress = opening_progress_,
                          .level = state_.level});
    } else {
      ReplyOpen(GivenUp());
    }
  }
  for (DisconnectCall& call : std::exchange(disconnects_, {})) Serve(call);
}

void Driver::TakeOver(OpenedConnector opened) {
  state_.limits = opened.limits;
  state_.level = opened.level;
  state_.has_reader = opened.source != nullptr;
  state_.consumer = std::move(opened.consumer);
  state_.source = std::move(opened.source);
  state_.reader = std::move(opened.reader);
  opening_position_ = opened.position;
  opening_progress_ = opened.progress;
  if (state_.has_reader) {
    state_.position = Resume(Resume::Seek{std::move(opened.position)});
  }
  Random generator(state_.runtime.random_seed);
  const bool skips =
      state_.request.spec.on_encode_error == BadRecordPolicy::kSkip;
  state_.outlet = std::make_unique<Outlet>(
      Outlet::Options{
          .level = opened.level,
          .limits = opened.limits,
          .route = opened.route,
          .encode_policy = skips ? EncodePolicy::kSkip : EncodePolicy::kFail,
          .skip_refused_rows =
              state_.request.spec.on_refused_row == BadRecordPolicy::kSkip,
          .base_steps = state_.request.base_steps,
          .progress = std::move(opened.progress),
          .random_seed = generator.Next64(),
          .delivery = state_.request.spec.delivery},
      std::move(opened.sink), std::move(opened.encoder),
      std::move(opened.budget), state_.waker, state_.runtime.io, state_.clock);
  state_.is_open = true;
}

void Driver::ReplyOpen(const absl::StatusOr<OpenReply>& reply) {
  for (auto& to : std::exchange(open_replies_, {})) {
    state_.Answer(std::move(to), reply);
  }
}

void Driver::HearReader() {
  if (state_.consumer == nullptr || !state_.consumer->HasNews()) return;
  ReaderNews news = state_.consumer->TakeNews();
  ConnectorObserver* const observer = announcer_->observer();
  for (const TransactionEvent& event : news.transactions) {
    if (observer != nullptr)
      observer->OnTransaction(event.started, event.label);
  }
  // Answers that came before an error count before it.
  if (news.extended.has_value()) {
    queue_.OnExtended(*std::move(news.extended));
  }
  if (news.replayed.has_value()) {
    replay_.OnReplayed(*std::move(news.replayed));
  }
  if (news.skipped) replay_.OnSkipped();
  if (news.health.has_value()) {
    state_.health.SetSource(*news.health);
    state_.changed = true;
  }
  HearParseErrors(news);
  for (const ReaderError& error : news.errors) {
    AddError(error.tag.empty() ? "source" : error.tag, error.fatal,
             error.status);
    if (error.fatal) Fail(error.status);
  }
}

void Driver::HearParseErrors(ReaderNews& news) {
  if (news.parse_errors.empty()) return;
  for (const ParseError& error : news.parse_errors) {
    state_.health.AddError(error.tag, false,
                           Describe(error, HealthLog::kErrorBytes));
  }
  state_.changed = true;
  if (announcer_->observer() != nullptr) {
    announcer_->observer()->OnParseErrors(news.parse_errors);
  }
  if (state_.request.spec.on_parse_error == BadRecordPolicy::kSkip) {
    // Without the data, which a log is no place for.
    for (const ParseError& error : news.parse_errors) {
      LOG_EVERY(WARNING, skip_log_).With("connector", state_.request.spec.name)
          << "skipped a bad record: " << Describe(error, 0);
    }
    const absl::Status few =
        CheckBadRecords(state_.request.spec.bad_records,
                        {.bad = news.parse_error_count,
                         .good = state_.consumer->totals().buffered.records});
    if (few.ok()) return;
    AddError("parse", true, few);
    Fail(few);
    return;
  }
  const ParseError& first = news.parse_errors.front();
  const absl::Status bad =
      MakeError(Reason::MALFORMED_FRAME,
                absl::StrCat("on_parse_error is set to fail, and reading ",
                             Describe(first, kTextInStatusMax)),
                {{"tag", first.tag},
                 {"input", first.input},
                 {"line", absl::StrCat(first.line)},
                 {"record_number", absl::StrCat(first.record_number)},
                 {"byte_offset", absl::StrCat(first.byte_offset)}});
  AddError("parse", true, bad);
  Fail(bad);
}

void Driver::HearSink() {
  if (state_.outlet == nullptr || state_.outlet->parts() == nullptr) return;
  for (const SinkEvent& event : state_.outlet->events().TakeAll()) {
    state_.changed = true;
    switch (event.kind) {
      case SinkEvent::Kind::kProgress:
        state_.health.Progress();
        break;
      case SinkEvent::Kind::kRetry:
      case SinkEvent::Kind::kHeldBack: {
        // None is planned while a write does not return.
        const absl::Time next =
            event.next_attempt == absl::InfiniteFuture()
                ? absl::InfinitePast()
                : state_.clock.Now() +
                      (event.next_attempt - state_.clock.SteadyNow());
        // To wait for the breaker is no error of its own.
        if (event.kind == SinkEvent::Kind::kRetry) {
          AddError("write", false, event.error);
        }
        state_.health.SetRetry(event.shard, event.error, next);
        break;
      }
      case SinkEvent::Kind::kRecovered:
        state_.health.ClearRetry(event.shard);
        break;
      case SinkEvent::Kind::kFatal:
        AddError("write", true, event.error);
        Fail(WithContext(event.error,
                         absl::StrCat("while writing shard ", event.shard)));
        break;
      case SinkEvent::Kind::kError:
        AddError(event.tag.empty() ? "sink" : event.tag, event.fatal,
                 event.error);
        if (event.fatal) Fail(event.error);
        break;
    }
  }
}

void Driver::HearAcks() {
  if (state_.outlet == nullptr) return;
  Outlet& outlet = *state_.outlet;
  const bool moved = outlet.TakeMoved();
  if (moved) {
    const Step completed = outlet.tracker().completed();
    if (completed > state_.completed->value()) {
      state_.ledger.Complete(completed);
      state_.completed->Advance(completed);
      state_.health.Progress();
      state_.changed = true;
    }
  }
  // In exactly-once only what moved makes room for what is parked.
  if (outlet.handoff() == nullptr) return;
  if (moved || !state_.is_exactly_once()) flush_at_ = outlet.Relieve();
  const absl::Status& fatal = outlet.handoff()->fatal();
  if (!fatal.ok() && state_.state != ConnectorState::kFailed &&
      state_.state != ConnectorState::kClosed && !queue_.has_begun() &&
      !replay_.is_active()) {
    AddError("handoff", true, fatal);
    Fail(fatal);
  }
}

void Driver::AddError(absl::string_view tag, bool fatal,
                      const absl::Status& error) {
  const ErrorEntry entry = state_.health.AddError(tag, fatal, ErrorText(error));
  state_.changed = true;
  if (announcer_->observer() != nullptr) announcer_->observer()->OnError(entry);
}

void Driver::NoteHealth() {
  Waits waits = Waits::kNothing;
  const bool is_alive = state_.is_open &&
                        state_.state != ConnectorState::kFailed &&
                        state_.state != ConnectorState::kClosed;
  if (is_alive && queue_.lacks_room()) {
    waits = Waits::kRoom;
  } else if (is_alive && state_.outlet->tracker().outstanding() > 0) {
    waits = Waits::kSteps;
  } else if (is_alive && state_.state == ConnectorState::kRunning &&
             !queue_.is_active() &&
             state_.consumer->staged().queued.records > 0) {
    waits = Waits::kQueue;
  }
  if (waits != waits_) {
    waits_ = waits;
    switch (waits) {
      case Waits::kNothing:
        state_.health.SetPending(std::nullopt);
        break;
      case Waits::kRoom:
        state_.health.SetPending("a Queue waits for room in flight");
        break;
      case Waits::kSteps:
        state_.health.SetPending("steps are made, but not completed");
        break;
      case Waits::kQueue:
        state_.health.SetPending("records are staged, but no Queue asks");
        break;
    }
  }
  stall_at_ = state_.health.StallsAt();
  const bool stalled =
      waits_ != Waits::kNothing && stall_at_ == absl::InfiniteFuture();
  if (stalled != stalled_) {
    stalled_ = stalled;
    state_.changed = true;
  }
}

void Driver::SetAlarm() {
  absl::Time earliest = std::min(queue_.WakeAt(), replay_.WakeAt());
  earliest = std::min(earliest, checkpointer_.WakeAt());
  earliest = std::min(earliest, closer_.WakeAt());
  earliest = std::min(earliest, std::min(flush_at_, stall_at_));
  // An alarm that is early costs one look at everything, no more.
  const bool is_set = alarm_ != Strand::TimerId::kNone;
  if (is_set && earliest != absl::InfiniteFuture() && alarm_at_ <= earliest) {
    return;
  }
  if (is_set) strand_->Cancel(alarm_);
  alarm_ = Strand::TimerId::kNone;
  if (earliest == absl::InfiniteFuture()) return;
  alarm_at_ = earliest;
  alarm_ =
      strand_->PostAfter(earliest - state_.clock.SteadyNow(),
                         [weak = weak_from_this(), number = ++alarm_number_] {
                           const std::shared_ptr<Driver> driver = weak.lock();
                           if (driver == nullptr) return;
                           // It may have come too late to be cancelled.
                           if (number == driver->alarm_number_) {
                             driver->alarm_ = Strand::TimerId::kNone;
                           }
                           driver->Drive();
                         });
}

void Driver::Publish() {
  std::vector<Blocker> blockers = checkpointer_.PendingBlockers();
  std::optional<Step> running_step = queue_.running_step();
  if (replay_.is_active()) running_step = replay_.running_step();
  Outlet* const outlet = state_.outlet.get();
  Handoff* const handoff = outlet == nullptr ? nullptr : outlet->handoff();
  // What is replaced dies outside the lock.
  std::shared_ptr<SinkParts> old_sink;
  {
    MutexLock lock(published_mu_);
    published_.state = state_.state;
    published_.orphaned_since = state_.orphaned_since;
    published_.level = state_.level;
    published_.running_step = running_step;
    published_.already_held_steps = state_.already_held_steps;
    published_.blockers.swap(blockers);
    if (outlet != nullptr) {
      if (published_.workers == nullptr) {
        published_.consumer = state_.consumer;
        published_.workers = outlet->workers();
        published_.budget = outlet->shared_budget();
        published_.tracker = outlet->shared_tracker();
      }
      if (published_.sink != outlet->parts()) {
        old_sink = std::exchange(published_.sink, outlet->parts());
      }
      published_.parked_chunks.resize(outlet->shards());
      for (ShardIndex shard = 0; shard < outlet->shards(); ++shard) {
        published_.parked_chunks[shard] =
            handoff == nullptr ? 0 : handoff->parked(shard);
      }
    }
    if (handoff != nullptr) published_.handoff = handoff->counters();
  }
  if (std::exchange(state_.changed, false)) announcer_->Changed();
}

}  // namespace penstock::core
