#include "core/sinks/kafka/kafka_opening.h"

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/mutex.h"
#include "core/base/status_macros.h"
#include "core/base/thread.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <stop_token>
#include <system_error>
#include <utility>

namespace penstock::core {

KafkaOpening::KafkaOpening(std::shared_ptr<const KafkaWriting> writing,
                           absl::Time deadline)
    : writing_(std::move(writing)),
      open_(writing_->open),
      deadline_(deadline) {}

KafkaOpening::~KafkaOpening() { EndTogether(lanes_); }

absl::StatusOr<std::vector<std::shared_ptr<KafkaLane>>> KafkaOpening::Run() {
  ASSIGN_OR_RETURN(owner_, ReadOwner(KafkaOffsetRead::kAny));
  if (!owner_.has_value() && !open_.first_open) {
    ASSIGN_OR_RETURN(owner_, ReadOwner(KafkaOffsetRead::kStable));
    if (!owner_.has_value()) return ProgressLost(open_);
  }
  RETURN_IF_ERROR(Look());
  std::unique_ptr<KafkaProducer> keeper;
  if (!owner_.has_value() || owner_->shards != open_.shards) {
    ASSIGN_OR_RETURN(keeper, writing_->MakeProducer(OwnerGroup(open_)));
    // Compare-and-set of the owner: nobody else of any incarnation gets between
    // this and the commit below.
    RETURN_IF_ERROR(keeper->Init(deadline_));
  }
  RETURN_IF_ERROR(TakeLanes(keeper == nullptr));
  if (keeper != nullptr) {
    RETURN_IF_ERROR(keeper->Begin());
    RETURN_IF_ERROR(keeper->SendOffset(OwnerGroup(open_), open_.shards,
                                       OwnerMetadata(open_.incarnation),
                                       deadline_));
    RETURN_IF_ERROR(keeper->Commit(deadline_));
  }
  std::vector<std::shared_ptr<KafkaLane>> taken(lanes_.begin(),
                                                lanes_.begin() + open_.shards);
  lanes_.erase(lanes_.begin(), lanes_.begin() + open_.shards);
  return taken;
}

absl::StatusOr<std::optional<KafkaShards>> KafkaOpening::ReadOwner(
    KafkaOffsetRead read) {
  ASSIGN_OR_RETURN(const std::optional<KafkaGroupOffset> found,
                   writing_->ReadOffset(OwnerGroup(open_), read, deadline_));
  if (!found.has_value()) return std::optional<KafkaShards>();
  ASSIGN_OR_RETURN(KafkaShards owner, ParseStoredOwner(*found));
  RETURN_IF_ERROR(CheckOwner(open_, owner));
  return std::optional<KafkaShards>(std::move(owner));
}

absl::Status KafkaOpening::CheckOwnerStands() {
  ASSIGN_OR_RETURN(const std::optional<KafkaShards> again,
                   ReadOwner(KafkaOffsetRead::kStable));
  if (again.has_value() == owner_.has_value() &&
      (!again.has_value() || again->shards == owner_->shards)) {
    return absl::OkStatus();
  }
  return MakeError(Reason::UNAVAILABLE,
                   "kafka sink: another open has changed the number of shards "
                   "meanwhile; open again");
}

absl::Status KafkaOpening::ForLanes(
    ShardIndex first, const std::function<absl::Status(ShardIndex)>& act) {
  Mutex mu;
  absl::Status error;
  ShardIndex next = first;
  const auto take = [&]() -> std::optional<ShardIndex> {
    MutexLock lock(mu);
    if (!error.ok() || next >= lanes_.size()) return std::nullopt;
    return next++;
  };
  const auto work = [&] {
    while (const std::optional<ShardIndex> shard = take()) {
      const absl::Status done = act(*shard);
      MutexLock lock(mu);
      error.Update(done);
    }
  };
  {
    std::vector<std::unique_ptr<Thread>> others;
    try {
      while (others.size() + 1 < kLanesAtOnce &&
             first + others.size() + 1 < lanes_.size()) {
        others.push_back(std::make_unique<Thread>(
            "kafka-open", [&](std::stop_token /*stopped*/) { work(); }));
      }
    } catch (const std::system_error& no_thread) {
      LOG(WARNING) << "kafka sink: shards are opened by fewer threads: "
                   << no_thread.what();
    }
    work();
  }
  return error;
}

absl::Status KafkaOpening::Look() {
  const uint32_t before = owner_.has_value() ? owner_->shards : 0;
  for (ShardIndex i = 0; i < std::max(before, open_.shards); ++i) {
    lanes_.push_back(std::make_shared<KafkaLane>(writing_, i));
  }
  return ForLanes(0, [this](ShardIndex shard) { return LookAt(shard); });
}

// What stands there is good enough to see a higher writer. It may be out of
// date: all else that would be an error is asked for until it stands.
absl::Status KafkaOpening::LookAt(ShardIndex shard) {
  KafkaLane& lane = *lanes_[shard];
  ASSIGN_OR_RETURN(std::optional<KafkaProgress> found,
                   lane.Read(KafkaOffsetRead::kAny, deadline_));
  const absl::Status seen = StepsOf(shard, found).status();
  if (seen.ok() || HasReason(seen, Reason::WRITER_FENCED)) return seen;
  ASSIGN_OR_RETURN(found, lane.Read(KafkaOffsetRead::kStable, deadline_));
  return StepsOf(shard, found).status();
}

absl::StatusOr<Step> KafkaOpening::StepsOf(
    ShardIndex shard, const std::optional<KafkaProgress>& found) const {
  if (found.has_value()) {
    RETURN_IF_ERROR(CheckCanTake(open_, shard, *found));
  }
  // Of a shard that the last complete open did not have nothing counts: it is
  // of an open that was not completed, or of a time when there were more.
  if (owner_.has_value() && shard >= owner_->shards) return open_.base_steps;
  if (!found.has_value()) {
    if (!open_.first_open) return ProgressLost(open_);
    return open_.base_steps;
  }
  if (owner_.has_value() && owner_->shards != open_.shards) {
    RETURN_IF_ERROR(CheckReshard(shard, found->steps));
  }
  return found->steps;
}

absl::Status KafkaOpening::CheckReshard(ShardIndex shard, Step steps) const {
  if (steps == open_.base_steps) return absl::OkStatus();
  return MakeError(
      steps < open_.base_steps ? Reason::PROGRESS_BEHIND
                               : Reason::PROGRESS_AHEAD,
      absl::StrCat("kafka sink: the cluster has the progress of ",
                   owner_->shards, " shards, and ", open_.shards,
                   " are wanted; their number can change only where all stand "
                   "at the checkpoint, ",
                   open_.base_steps, ", and shard ", shard, " is at ", steps,
                   "; open it with the old number, and take a checkpoint"),
      {{"shard", absl::StrCat(shard)},
       {"progress", absl::StrCat(steps)},
       {"base_steps", absl::StrCat(open_.base_steps)}});
}

// The owner moves in transactions of shard 0, too, which its Init ends: so the
// others are not disturbed before it stands.
absl::Status KafkaOpening::TakeLanes(bool renews_owner) {
  RETURN_IF_ERROR(TakeLane(0, renews_owner));
  return ForLanes(1,
                  [this](ShardIndex shard) { return TakeLane(shard, false); });
}

absl::Status KafkaOpening::TakeLane(ShardIndex shard, bool renews_owner) {
  const auto steps =
      [&](const std::optional<KafkaProgress>& found) -> absl::StatusOr<Step> {
    if (shard == 0) {
      RETURN_IF_ERROR(CheckOwnerStands());
    }
    return StepsOf(shard, found);
  };
  RETURN_IF_ERROR(lanes_[shard]->Take(steps, renews_owner, deadline_))
  << "while taking over shard " << shard;
  return absl::OkStatus();
}

}  // namespace penstock::core
