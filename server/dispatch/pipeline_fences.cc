#include "server/dispatch/pipeline_fences.h"

#include "core/base/error.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace penstock::server {
namespace {

absl::Status GoingAway() {
  return core::MakeError(core::Reason::SHUTTING_DOWN,
                         "taking a command: this worker is going away");
}

}  // namespace

struct PipelineFences::Pass::Life {
  uint64_t handing_over = 0;
  // Its first command was admitted. Until then the others wait.
  bool begun = false;
  std::vector<Waiting> when_begun;
  // Run when the last pass of a life that is over has ended.
  std::vector<absl::AnyInvocable<void()>> when_quiet;
};

PipelineFences::Pass& PipelineFences::Pass::operator=(Pass&& other) noexcept {
  const Pass ended(std::move(*this));
  life_ = std::move(other.life_);
  fences_ = std::move(other.fences_);
  return *this;
}

PipelineFences::Pass::~Pass() {
  if (life_ != nullptr && fences_ != nullptr) fences_->EndPass(life_);
}

PipelineFences::PipelineFences(Options options,
                               std::unique_ptr<FenceStore> store,
                               std::map<std::string, FenceRecord> records,
                               core::Executor& io, OnTakeover on_takeover)
    : options_(options),
      store_(std::move(store)),
      io_(io),
      on_takeover_(std::move(on_takeover)),
      saves_(io) {
  const int64_t now = absl::ToUnixSeconds(io.clock().Now());
  for (auto& [pipeline, record] : records) {
    if (record.idle_since_s == 0) record.idle_since_s = now;
    auto life = std::make_shared<Pass::Life>();
    life->begun = true;
    entries_[pipeline] = Entry{std::move(record), std::move(life)};
  }
}

absl::Status PipelineFences::Judge(const core::Fence& fence, Pass& pass,
                                   bool& higher) {
  higher = false;
  const auto found = entries_.find(fence.pipeline);
  if (found == entries_.end()) {
    higher = true;
    const bool has_room =
        entries_.size() < options_.pipelines_max ||
        std::any_of(entries_.begin(), entries_.end(), [this](const auto& item) {
          return IsExpired(item.second.record);
        });
    if (has_room) return absl::OkStatus();
    return core::MakeError(
        core::Reason::MEMORY_REFUSED,
        absl::StrCat("taking command of pipeline '", fence.pipeline,
                     "': this worker already remembers ", entries_.size(),
                     " pipelines; use another worker or delete old ones"));
  }
  const FenceRecord& record = found->second.record;
  if (fence.epoch < record.epoch) {
    return core::MakeError(
        core::Reason::STALE_EPOCH,
        absl::StrCat("commanding pipeline '", fence.pipeline, "' with epoch ",
                     fence.epoch, ": controller '", record.controller_id,
                     "' leads with epoch ", record.epoch,
                     "; take a new epoch, or end"),
        {{"epoch", absl::StrCat(record.epoch)},
         {"controller_id", record.controller_id}});
  }
  if (fence.epoch > record.epoch) {
    higher = true;
    return absl::OkStatus();
  }
  if (fence.nonce != record.nonce) {
    return core::MakeError(
        core::Reason::EPOCH_TAKEN,
        absl::StrCat("commanding pipeline '", fence.pipeline, "': epoch ",
                     fence.epoch, " was taken by controller '",
                     record.controller_id,
                     "' with another nonce; take a new epoch"),
        {{"controller_id", record.controller_id}});
  }
  pass.life_ = found->second.life;
  pass.fences_ = shared_from_this();
  ++pass.life_->handing_over;
  presences_[fence.pipeline].heard = io_.clock().SteadyNow();
  return absl::OkStatus();
}

void PipelineFences::Enter(const core::Fence& fence, Admit admit) {
  if (fence.pipeline.empty() || fence.controller_id.empty() ||
      fence.epoch == 0) {
    admit(core::MakeError(core::Reason::INVALID_REQUEST,
                          "reading the fence of a command: `pipeline`, "
                          "`controller_id` and an `epoch` above zero are "
                          "required"));
    return;
  }
  Pass pass;
  bool higher = false;
  absl::Status status;
  {
    core::MutexLock lock(mu_);
    status = closed_ ? GoingAway() : Judge(fence, pass, higher);
    if (status.ok() && higher) {
      takings_.push_back({.fence = fence, .admit = std::move(admit)});
    } else if (status.ok() && !pass.life_->begun) {
      // It was not handed out: it does not end as a pass does.
      pass.fences_ = nullptr;
      --pass.life_->handing_over;
      pass.life_->when_begun.push_back(
          {.fence = fence, .admit = std::move(admit)});
      return;
    }
  }
  if (!status.ok()) return admit(std::move(status));
  if (!higher) return admit(std::move(pass));
  saves_.Post([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->TakeOverNext();
  });
}

void PipelineFences::Close() {
  std::vector<Waiting> waiting;
  {
    core::MutexLock lock(mu_);
    closed_ = true;
    for (Waiting& one : takings_) waiting.push_back(std::move(one));
    takings_.clear();
    for (auto& [pipeline, entry] : entries_) {
      for (Waiting& one : std::exchange(entry.life->when_begun, {})) {
        waiting.push_back(std::move(one));
      }
    }
  }
  for (Waiting& one : waiting) one.admit(GoingAway());
}

void PipelineFences::TakeOverNext() {
  std::optional<Waiting> next;
  {
    core::MutexLock lock(mu_);
    if (takings_.empty()) return;
    next = std::move(takings_.front());
    takings_.pop_front();
  }
  TakeOver(next->fence, std::move(next->admit));
}

void PipelineFences::TakeOver(const core::Fence& fence, Admit admit) {
  std::map<std::string, FenceRecord> records;
  Pass pass;
  bool higher = false;
  absl::Status status;
  {
    core::MutexLock lock(mu_);
    status = Judge(fence, pass, higher);
    for (const auto& [pipeline, entry] : entries_) {
      records[pipeline] = entry.record;
    }
  }
  if (!status.ok()) return admit(std::move(status));
  if (!higher) {
    // Another command of the same epoch made it durable meanwhile.
    pass = Pass();
    return Enter(fence, std::move(admit));
  }
  const auto old_record = records.find(fence.pipeline);
  const bool in_use =
      old_record != records.end() && old_record->second.idle_since_s == 0;
  Prune(records);
  records[fence.pipeline] =
      FenceRecord{fence.epoch, fence.nonce, fence.controller_id,
                  in_use ? 0 : absl::ToUnixSeconds(io_.clock().Now())};
  status = store_->Save(records);
  if (!status.ok()) {
    return admit(core::WithContext(
        status, absl::StrCat("while making epoch ", fence.epoch,
                             " of pipeline '", fence.pipeline, "' durable")));
  }
  bool took_over = false;
  {
    core::MutexLock lock(mu_);
    std::shared_ptr<Pass::Life> old;
    if (const auto found = entries_.find(fence.pipeline);
        found != entries_.end()) {
      old = found->second.life;
      took_over = true;
    }
    for (auto entry = entries_.begin(); entry != entries_.end();) {
      entry = records.contains(entry->first) ? std::next(entry)
                                             : entries_.erase(entry);
    }
    std::erase_if(presences_, [&](const auto& item) {
      return item.second.staying == 0 && !records.contains(item.first);
    });
    presences_[fence.pipeline].heard = io_.clock().SteadyNow();
    entries_[fence.pipeline] =
        Entry{records[fence.pipeline], std::make_shared<Pass::Life>()};
    pass.life_ = entries_[fence.pipeline].life;
    pass.fences_ = shared_from_this();
    ++pass.life_->handing_over;
    if (old != nullptr && old->handing_over > 0) {
      old->when_quiet.push_back([this, pipeline = fence.pipeline,
                                 admit = std::move(admit),
                                 pass = std::move(pass)]() mutable {
        Begin(pipeline, true, std::move(pass), std::move(admit));
      });
      return;
    }
  }
  Begin(fence.pipeline, took_over, std::move(pass), std::move(admit));
}

void PipelineFences::Begin(const std::string& pipeline, bool took_over,
                           Pass pass, Admit admit) {
  // Keeps this alive once the pass is given away.
  const std::shared_ptr<PipelineFences> self = pass.fences_;
  const std::shared_ptr<Pass::Life> life = pass.life_;
  if (took_over) on_takeover_(pipeline);
  admit(std::move(pass));
  std::vector<Waiting> waiting;
  {
    core::MutexLock lock(mu_);
    life->begun = true;
    waiting = std::exchange(life->when_begun, {});
  }
  for (Waiting& one : waiting) Enter(one.fence, std::move(one.admit));
}

void PipelineFences::EndPass(const std::shared_ptr<Pass::Life>& life) {
  std::vector<absl::AnyInvocable<void()>> ready;
  {
    core::MutexLock lock(mu_);
    if (--life->handing_over == 0) std::swap(ready, life->when_quiet);
  }
  for (auto& task : ready) io_.Schedule(std::move(task));
}

bool PipelineFences::IsCurrent(const core::Fence& fence) const {
  core::MutexLock lock(mu_);
  const auto found = entries_.find(fence.pipeline);
  return found != entries_.end() && found->second.record.epoch == fence.epoch &&
         found->second.record.nonce == fence.nonce;
}

void PipelineFences::Stay(const std::string& pipeline) {
  core::MutexLock lock(mu_);
  ++presences_[pipeline].staying;
}

void PipelineFences::Leave(const std::string& pipeline) {
  core::MutexLock lock(mu_);
  Presence& presence = presences_[pipeline];
  --presence.staying;
  presence.heard = io_.clock().SteadyNow();
}

std::optional<absl::Time> PipelineFences::UnheardSince(
    const std::string& pipeline) const {
  core::MutexLock lock(mu_);
  const auto found = presences_.find(pipeline);
  if (found == presences_.end() || found->second.staying > 0) {
    return std::nullopt;
  }
  return found->second.heard;
}

void PipelineFences::SetInUse(const std::string& pipeline, bool in_use) {
  core::MutexLock lock(mu_);
  const auto found = entries_.find(pipeline);
  if (found == entries_.end()) return;
  // Durable with the next save; until then a restart counts as idle anyway.
  found->second.record.idle_since_s =
      in_use ? 0 : absl::ToUnixSeconds(io_.clock().Now());
}

bool PipelineFences::IsExpired(const FenceRecord& record) const {
  const int64_t now = absl::ToUnixSeconds(io_.clock().Now());
  return record.idle_since_s != 0 &&
         now - record.idle_since_s > absl::ToInt64Seconds(options_.grace);
}

void PipelineFences::Prune(std::map<std::string, FenceRecord>& records) const {
  std::erase_if(records,
                [this](const auto& item) { return IsExpired(item.second); });
}

std::map<std::string, FenceRecord> PipelineFences::records() const {
  core::MutexLock lock(mu_);
  std::map<std::string, FenceRecord> records;
  for (const auto& [pipeline, entry] : entries_) {
    records[pipeline] = entry.record;
  }
  return records;
}

}  // namespace penstock::server
