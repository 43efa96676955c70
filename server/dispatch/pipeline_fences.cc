#include "server/dispatch/pipeline_fences.h"

#include "core/base/error.h"

#include <absl/strings/str_cat.h>

#include <utility>

namespace penstock::server {

struct PipelineFences::Pass::Life {
  uint64_t handing_over = 0;
  // Run when the last pass of a life that is over has ended.
  std::vector<absl::AnyInvocable<void()>> when_quiet;
};

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
    entries_[pipeline] =
        Entry{std::move(record), std::make_shared<Pass::Life>()};
  }
}

absl::Status PipelineFences::Judge(const core::Fence& fence, Pass& pass,
                                   bool& higher) {
  higher = false;
  const auto found = entries_.find(fence.pipeline);
  if (found == entries_.end()) {
    higher = true;
    if (entries_.size() < options_.pipelines_max) return absl::OkStatus();
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
    status = Judge(fence, pass, higher);
  }
  if (!status.ok()) {
    admit(std::move(status));
  } else if (!higher) {
    admit(std::move(pass));
  } else {
    saves_.Post(
        [self = shared_from_this(), fence, admit = std::move(admit)]() mutable {
          self->TakeOver(fence, std::move(admit));
        });
  }
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
  // Another command of the same epoch may have made it durable meanwhile.
  if (!status.ok()) return admit(std::move(status));
  if (!higher) return admit(std::move(pass));
  Prune(records);
  records[fence.pipeline] =
      FenceRecord{fence.epoch, fence.nonce, fence.controller_id, 0};
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
    entries_[fence.pipeline] =
        Entry{records[fence.pipeline], std::make_shared<Pass::Life>()};
    pass.life_ = entries_[fence.pipeline].life;
    pass.fences_ = shared_from_this();
    ++pass.life_->handing_over;
    if (old != nullptr && old->handing_over > 0) {
      old->when_quiet.push_back([this, pipeline = fence.pipeline,
                                 admit = std::move(admit),
                                 pass = std::move(pass)]() mutable {
        on_takeover_(pipeline);
        admit(std::move(pass));
      });
      return;
    }
  }
  if (took_over) on_takeover_(fence.pipeline);
  admit(std::move(pass));
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

void PipelineFences::SetInUse(const std::string& pipeline, bool in_use) {
  core::MutexLock lock(mu_);
  const auto found = entries_.find(pipeline);
  if (found == entries_.end()) return;
  // Durable with the next save; until then a restart counts as idle anyway.
  found->second.record.idle_since_s =
      in_use ? 0 : absl::ToUnixSeconds(io_.clock().Now());
}

void PipelineFences::Prune(std::map<std::string, FenceRecord>& records) const {
  const int64_t now = absl::ToUnixSeconds(io_.clock().Now());
  const int64_t grace = absl::ToInt64Seconds(options_.grace);
  std::erase_if(records, [&](const auto& item) {
    const int64_t since = item.second.idle_since_s;
    return since != 0 && now - since > grace;
  });
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
