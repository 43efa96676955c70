#include "server/rpc/watcher.h"

#include "core/base/error.h"

#include <absl/strings/str_cat.h>

#include <utility>

namespace penstock::server {

bool WatchFilter::WantsConnector(const std::string& connector,
                                 const std::string& pipeline_of) const {
  if (!pipeline.empty() && pipeline != pipeline_of) return false;
  return connectors.empty() || connectors.contains(connector);
}

v1::WatchKind KindOf(const v1::WatchEvent& event) {
  switch (event.event_case()) {
    case v1::WatchEvent::kBuffered:
      return v1::WATCH_KIND_BUFFERED;
    case v1::WatchEvent::kEndOfInput:
      return v1::WATCH_KIND_END_OF_INPUT;
    case v1::WatchEvent::kRequestStep:
      return v1::WATCH_KIND_REQUEST_STEP;
    case v1::WatchEvent::kBlocked:
      return v1::WATCH_KIND_BLOCKED;
    case v1::WatchEvent::kTransaction:
      return v1::WATCH_KIND_TRANSACTION;
    case v1::WatchEvent::kError:
      return v1::WATCH_KIND_ERROR;
    case v1::WatchEvent::kParseErrors:
      return v1::WATCH_KIND_PARSE_ERRORS;
    case v1::WatchEvent::kHealth:
      return v1::WATCH_KIND_HEALTH;
    case v1::WatchEvent::kStateChanged:
    case v1::WatchEvent::kDraining:
      return v1::WATCH_KIND_STATE;
    case v1::WatchEvent::kCompletion:
      return v1::WATCH_KIND_COMPLETION;
    case v1::WatchEvent::kCheckpoint:
      return v1::WATCH_KIND_CHECKPOINT;
    case v1::WatchEvent::kCreated:
    case v1::WatchEvent::kSnapshotEnd:
    case v1::WatchEvent::kProgressNote:
    case v1::WatchEvent::EVENT_NOT_SET:
      return v1::WATCH_KIND_UNSPECIFIED;
  }
  return v1::WATCH_KIND_UNSPECIFIED;
}

bool Coalesces(v1::WatchKind kind) {
  return kind == v1::WATCH_KIND_BUFFERED || kind == v1::WATCH_KIND_BLOCKED ||
         kind == v1::WATCH_KIND_COMPLETION || kind == v1::WATCH_KIND_CHECKPOINT;
}

void Watcher::AddSnapshot(v1::WatchEvent event) {
  core::MutexLock lock(mu_);
  snapshot_.push_back(std::move(event));
}

void Watcher::StartAt(uint64_t sequence) {
  core::MutexLock lock(mu_);
  next_sequence_ = sequence;
}

void Watcher::Offer(const v1::WatchEvent& event) {
  const v1::WatchKind kind = KindOf(event);
  if (kind != v1::WATCH_KIND_UNSPECIFIED) {
    if (!filter_.WantsKind(kind)) return;
    // A draining worker concerns everybody.
    if (!event.connector().empty() &&
        !filter_.WantsConnector(event.connector(), event.pipeline())) {
      return;
    }
  }
  {
    core::MutexLock lock(mu_);
    if (closed_) return;
    if (event.sequence() != 0) {
      if (event.sequence() < next_sequence_) return;
      next_sequence_ = event.sequence() + 1;
    }
    if (Coalesces(kind)) {
      newest_[{event.connector(), kind}] = event;
      if (newest_.size() > kNewestMax) Overflow();
    } else {
      const size_t bytes = event.ByteSizeLong();
      if (events_.size() == kEventsMax || bytes_ + bytes > kBytesMax) {
        Overflow();
      } else {
        bytes_ += bytes;
        events_.push_back(event);
      }
    }
  }
  wake_();
}

void Watcher::Overflow() {
  closed_ = true;
  status_ = core::MakeError(
      core::Reason::SLOW_WATCHER,
      absl::StrCat("watching: ", events_.size(), " events of ", bytes_,
                   " bytes and ", newest_.size(),
                   " counters wait to be read; read faster, or choose fewer "
                   "kinds, and continue with from_sequence"));
  // It is told at once; the hub still has what it needs to continue.
  snapshot_.clear();
  events_.clear();
  newest_.clear();
  bytes_ = 0;
}

void Watcher::Close(absl::Status status) {
  {
    core::MutexLock lock(mu_);
    if (closed_) return;
    closed_ = true;
    status_ = std::move(status);
  }
  wake_();
}

std::vector<v1::WatchEvent> Watcher::Take() {
  core::MutexLock lock(mu_);
  std::vector<v1::WatchEvent> taken;
  size_t bytes = 0;
  const auto fits = [&](const v1::WatchEvent& event) {
    bytes += event.ByteSizeLong();
    return taken.empty() || bytes <= kBatchBytesMax;
  };
  while (!snapshot_.empty() && fits(snapshot_.front())) {
    taken.push_back(std::move(snapshot_.front()));
    snapshot_.pop_front();
  }
  if (!snapshot_.empty()) return taken;
  while (!events_.empty() && fits(events_.front())) {
    bytes_ -= events_.front().ByteSizeLong();
    taken.push_back(std::move(events_.front()));
    events_.pop_front();
  }
  if (!events_.empty()) return taken;
  while (!newest_.empty() && fits(newest_.begin()->second)) {
    taken.push_back(std::move(newest_.begin()->second));
    newest_.erase(newest_.begin());
  }
  return taken;
}

bool Watcher::IsClosed(absl::Status& status) const {
  core::MutexLock lock(mu_);
  if (closed_) status = status_;
  return closed_;
}

bool Watcher::Ended(absl::Status& status) const {
  core::MutexLock lock(mu_);
  if (!closed_) return false;
  // An orderly end lets it read the rest.
  if (!(snapshot_.empty() && events_.empty() && newest_.empty())) return false;
  status = status_;
  return true;
}

}  // namespace penstock::server
