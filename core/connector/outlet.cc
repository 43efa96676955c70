#include "core/connector/outlet.h"

#include "core/base/check.h"
#include "core/base/log.h"
#include "core/base/random.h"

#include <absl/status/status.h>
#include <absl/strings/string_view.h>
#include <absl/time/time.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {

namespace {

// Whether `event` says how its shard's writes go.
bool IsTrouble(const SinkEvent& event) {
  return event.kind == SinkEvent::Kind::kRetry ||
         event.kind == SinkEvent::Kind::kHeldBack ||
         event.kind == SinkEvent::Kind::kRecovered;
}

}  // namespace

SinkEvents::SinkEvents(std::vector<Step> progress, std::shared_ptr<Waker> waker)
    : waker_(std::move(waker)), progress_(std::move(progress)) {}

void SinkEvents::Put(SinkEvent event) {
  {
    MutexLock lock(mu_);
    Keep(std::move(event));
  }
  waker_->Wake();
}

void SinkEvents::Keep(SinkEvent event) {
  if (events_.size() < kEventsMax) {
    events_.push_back(std::move(event));
    return;
  }
  const bool is_trouble = IsTrouble(event);
  if (!is_trouble && !event.fatal) return;
  const auto same = std::find_if(
      events_.rbegin(), events_.rend(), [&](const SinkEvent& kept) {
        return kept.shard == event.shard &&
               (is_trouble ? IsTrouble(kept) : kept.fatal);
      });
  if (same == events_.rend()) {
    events_.push_back(std::move(event));
  } else if (is_trouble) {
    *same = std::move(event);
  }
}

std::vector<SinkEvent> SinkEvents::TakeAll() {
  MutexLock lock(mu_);
  has_progress_ = false;
  return std::exchange(events_, {});
}

void SinkEvents::OnProgress(ShardIndex shard, Step steps) {
  {
    MutexLock lock(mu_);
    if (shard < progress_.size()) {
      progress_[shard] = std::max(progress_[shard], steps);
    }
    if (!std::exchange(has_progress_, true)) {
      events_.push_back({.kind = SinkEvent::Kind::kProgress, .shard = shard});
    }
  }
  waker_->Wake();
}

void SinkEvents::OnRetry(ShardIndex shard, const absl::Status& error,
                         absl::Time next_attempt) {
  Put({.kind = SinkEvent::Kind::kRetry,
       .shard = shard,
       .error = error,
       .next_attempt = next_attempt});
}

void SinkEvents::OnHeldBack(ShardIndex shard, const absl::Status& reason,
                            absl::Time next_attempt) {
  Put({.kind = SinkEvent::Kind::kHeldBack,
       .shard = shard,
       .error = reason,
       .next_attempt = next_attempt});
}

void SinkEvents::OnRecovered(ShardIndex shard) {
  Put({.kind = SinkEvent::Kind::kRecovered, .shard = shard});
}

void SinkEvents::OnFatal(ShardIndex shard, const absl::Status& error) {
  Put({.kind = SinkEvent::Kind::kFatal,
       .shard = shard,
       .error = error,
       .fatal = true});
}

void SinkEvents::OnEndpointError(ShardIndex shard, bool fatal,
                                 absl::Status error, absl::string_view tag) {
  Put({.kind = SinkEvent::Kind::kError,
       .shard = shard,
       .error = std::move(error),
       .tag = std::string(tag),
       .fatal = fatal});
}

bool SinkEvents::AllHold(Step step) const {
  MutexLock lock(mu_);
  return !progress_.empty() &&
         std::all_of(progress_.begin(), progress_.end(),
                     [step](Step progress) { return progress > step; });
}

SinkParts::~SinkParts() {
  if (!close_late_) return;
  const absl::Status closed = Close();
  if (!closed.ok()) LOG(WARNING) << "closing a sink late: " << closed;
}

absl::Status SinkParts::Close() {
  endpoints.clear();
  return target->Close();
}

namespace {

ChunkConfig MakeChunkConfig(const Outlet::Options& options,
                            const SinkParts& parts) {
  ChunkConfig config{.encode_policy = options.encode_policy,
                     .level = options.level,
                     .age_max = options.limits.chunk_age,
                     .row_positions = parts.target->TellsRowsApart(),
                     .keep_refused = !parts.dead_letters.empty()};
  if (options.level != FtModel::kExactlyOnce) {
    config.rows_max = options.delivery.batch_rows_max;
  }
  config.target_bytes = parts.chunk_bytes;
  return config;
}

}  // namespace

Outlet::Outlet(Options options, std::shared_ptr<SinkParts> parts,
               std::unique_ptr<RowEncoder> encoder,
               std::shared_ptr<InflightBudget> budget,
               std::shared_ptr<Waker> waker, Executor& io, const Clock& clock)
    : level_(options.level),
      clock_(clock),
      parts_(std::move(parts)),
      budget_(std::move(budget)),
      workers_(std::make_shared<ShardWorkers>()),
      moved_(std::make_shared<std::atomic<bool>>(false)),
      room_events_(std::make_shared<std::atomic<uint64_t>>(0)) {
  const auto shards = static_cast<uint32_t>(parts_->endpoints.size());
  const auto wake = [moved = moved_, waker] {
    moved->store(true);
    waker->Wake();
  };
  tracker_ = std::make_shared<AckTracker>(
      options.base_steps, clock, [wake](Step /*completed*/) { wake(); });
  budget_->SetOnRoom([wake, room_events = room_events_] {
    room_events->fetch_add(1);
    wake();
  });
  parts_->queues =
      std::make_unique<ShardQueues>(shards, options.limits.shard_queue_chunks);
  Random generator(options.random_seed);
  const std::string run_id = RandomId(generator);
  const auto breaker = std::make_shared<Breaker>(options.delivery.breaker);
  size_t chunk_bytes = options.limits.chunk_bytes;
  // Batches are made of whole chunks.
  if (options.level != FtModel::kExactlyOnce) {
    chunk_bytes = std::min(chunk_bytes, options.delivery.batch_bytes_max);
  }
  const bool tells_rows_apart = parts_->target->TellsRowsApart();
  for (ShardIndex shard = 0; shard < shards; ++shard) {
    ShardQueue& queue = parts_->queues->at(shard);
    // The worker keeps the parts until it has stopped, and they keep neither
    // it nor this: no cycle.
    ShardSink sink{.endpoints = {},
                   .committer = &parts_->target->Committer(),
                   .keep_alive = parts_};
    for (const auto& endpoint : parts_->endpoints[shard]) {
      chunk_bytes = std::min(chunk_bytes, endpoint->MaxBufferSizeBytes());
      sink.endpoints.push_back(endpoint.get());
    }
    queue.SetOnRoom(wake);
    ShardWorkerOptions worker;
    worker.shard = shard;
    worker.level = options.level;
    worker.frames = parts_->target->Frames();
    worker.progress = options.progress.empty() ? 0 : options.progress[shard];
    worker.released = options.base_steps;
    worker.random_seed = options.random_seed + shard;
    worker.run_id = run_id;
    worker.delivery = options.delivery;
    worker.breaker = breaker;
    worker.refused_rows = {
        .tells_rows_apart = tells_rows_apart,
        .skip = options.skip_refused_rows,
        .dead_letters = parts_->dead_letters.empty()
                            ? nullptr
                            : parts_->dead_letters[shard].get(),
        .counter = parts_->refused_rows.get()};
    workers_->push_back(ShardWorker::Create(std::move(worker), std::move(sink),
                                            queue, io, *parts_->events));
  }
  parts_->chunk_bytes = std::max<size_t>(1, chunk_bytes);
  handoff_ = MakeHandoff(std::move(encoder), options.route, *parts_->queues,
                         budget_, MakeChunkConfig(options, *parts_), clock);
  for (const auto& worker : *workers_) worker->Start();
}

Outlet::~Outlet() {
  handoff_.reset();
  if (parts_ == nullptr || stopped_) return;
  for (const auto& worker : *workers_) {
    worker->Stop(absl::ZeroDuration(),
                 [](const ShardStopReport& /*report*/) {});
  }
}

absl::Time Outlet::Relieve() {
  if (handoff_ == nullptr) return absl::InfiniteFuture();
  if (parked_total() > 0) (void)handoff_->Relieve();
  if (level_ == FtModel::kExactlyOnce) return absl::InfiniteFuture();
  return handoff_->FlushAged(clock_.SteadyNow());
}

size_t Outlet::parked_total() const {
  if (handoff_ == nullptr) return 0;
  size_t total = 0;
  for (ShardIndex shard = 0; shard < workers_->size(); ++shard) {
    total += handoff_->parked(shard);
  }
  return total;
}

void Outlet::SetReleased(Step count) {
  // Most commands release nothing, which no worker has to be woken for.
  if (count <= released_) return;
  released_ = count;
  for (const auto& worker : *workers_) worker->SetReleased(count);
}

void Outlet::Lift(Step steps,
                  std::function<void(ShardIndex, absl::Status)> done) {
  for (ShardIndex shard = 0; shard < workers_->size(); ++shard) {
    (*workers_)[shard]->Lift(steps, [shard, done](absl::Status status) {
      done(shard, std::move(status));
    });
  }
}

void Outlet::Stop(absl::Duration deadline,
                  std::function<void(ShardIndex, ShardStopReport)> done) {
  CHECK(!stopped_);
  stopped_ = true;
  for (ShardIndex shard = 0; shard < workers_->size(); ++shard) {
    (*workers_)[shard]->Stop(deadline, [shard, done](ShardStopReport report) {
      done(shard, std::move(report));
    });
  }
}

std::shared_ptr<SinkParts> Outlet::TakeParts() {
  CHECK(handoff_ == nullptr) << "it refers to the queues";
  return std::exchange(parts_, nullptr);
}

}  // namespace penstock::core
