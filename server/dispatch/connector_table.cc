#include "server/dispatch/connector_table.h"

#include "core/base/check.h"
#include "core/base/checksum.h"
#include "core/base/error.h"
#include "core/base/status_macros.h"

#include <absl/strings/str_cat.h>

#include <utility>

namespace penstock::server {
namespace {

using core::MakeError;
using core::Reason;

// Two opens are the same request iff these agree.
uint64_t BodyOf(const core::OpenRequest& request) {
  return core::Checksum64(
      absl::StrCat(request.spec_bytes, "\n", request.incarnation, "\n",
                   request.writer.epoch, "\n", request.writer.open_number, "\n",
                   request.base_steps, "\n", request.journaled_steps, "\n",
                   request.first_open, "\n", request.position.value_or("")));
}

absl::Status GoingAway(const std::string& name) {
  return MakeError(Reason::SHUTTING_DOWN,
                   absl::StrCat("opening connector '", name,
                                "': this worker is going away; use another"));
}

absl::Status NotOwner(const std::string& name, const std::string& owner,
                      const std::string& asker) {
  return MakeError(
      Reason::NOT_OWNER,
      absl::StrCat("commanding connector '", name, "' for pipeline '", asker,
                   "': it belongs to pipeline '", owner,
                   "', and a name stands for one connector of a worker: give "
                   "this one another, or use another worker"));
}

}  // namespace

absl::Status ConnectorTable::NoSuch(const std::string& name) {
  return MakeError(Reason::NO_SUCH_CONNECTOR,
                   absl::StrCat("looking for connector '", name,
                                "': it is not open on this worker; open it, "
                                "or list what is"),
                   {{"connector", name}});
}

std::shared_ptr<core::Connector> ConnectorTable::Find(
    const std::string& name) const {
  core::MutexLock lock(mu_);
  const auto found = entries_.find(name);
  return found == entries_.end() ? nullptr : found->second.connector;
}

std::vector<std::shared_ptr<core::Connector>> ConnectorTable::Connectors()
    const {
  std::vector<std::shared_ptr<core::Connector>> all;
  for (const auto& [name, entry] : entries_) {
    if (entry.connector != nullptr) all.push_back(entry.connector);
  }
  return all;
}

std::vector<std::shared_ptr<core::Connector>> ConnectorTable::All() const {
  core::MutexLock lock(mu_);
  return Connectors();
}

std::vector<std::shared_ptr<core::Connector>> ConnectorTable::OfPipeline(
    const std::string& pipeline) const {
  core::MutexLock lock(mu_);
  std::vector<std::shared_ptr<core::Connector>> some;
  for (const auto& [name, entry] : entries_) {
    if (entry.pipeline == pipeline && entry.connector != nullptr) {
      some.push_back(entry.connector);
    }
  }
  return some;
}

absl::StatusOr<std::shared_ptr<core::Connector>> ConnectorTable::Resolve(
    const std::string& pipeline, const core::ConnectorRef& ref) const {
  core::MutexLock lock(mu_);
  const auto found = entries_.find(ref.connector);
  if (found == entries_.end()) return NoSuch(ref.connector);
  const Entry& entry = found->second;
  if (entry.pipeline != pipeline) {
    return NotOwner(ref.connector, entry.pipeline, pipeline);
  }
  // Its instance is known to nobody before its open was answered.
  if (entry.stage == Stage::kOpening) return NoSuch(ref.connector);
  if (entry.connector->instance() != ref.instance) {
    return MakeError(
        Reason::INSTANCE_MISMATCH,
        absl::StrCat("commanding connector '", ref.connector, "', instance '",
                     ref.instance, "': the one that is open is '",
                     entry.connector->instance(),
                     "'; delete it and open it again"),
        {{"instance", entry.connector->instance()}});
  }
  return entry.connector;
}

absl::StatusOr<ConnectorTable::OpenOutcome> ConnectorTable::OpenAgain(
    Entry& entry, const core::OpenRequest& request, uint64_t body,
    Reply<core::OpenReply>& reply) {
  const std::string& name = request.spec.name;
  if (entry.pipeline != request.fence.pipeline) {
    return NotOwner(name, entry.pipeline, request.fence.pipeline);
  }
  if (request.request_id.empty() || entry.open_id != request.request_id ||
      entry.stage == Stage::kDeleting) {
    return MakeError(Reason::ALREADY_EXISTS,
                     absl::StrCat("opening connector '", name,
                                  "': it is open already; delete it first"),
                     {{"connector", name}});
  }
  if (entry.open_body != body) {
    return MakeError(Reason::REQUEST_ID_REUSED,
                     absl::StrCat("opening connector '", name,
                                  "': request id '", request.request_id,
                                  "' was used with another body; draw a new "
                                  "one for each request"));
  }
  if (entry.stage == Stage::kOpening) {
    if (entry.waiting_open.size() >= kWaitingMax) return core::TooManyCalls();
    entry.waiting_open.push_back(std::move(reply));
    return OpenOutcome::kWaits;
  }
  return OpenOutcome::kAnswered;
}

absl::StatusOr<ConnectorTable::OpenOutcome> ConnectorTable::BeginOpen(
    const core::OpenRequest& request, Reply<core::OpenReply>& reply) {
  const std::string& name = request.spec.name;
  if (name.empty()) {
    return MakeError(Reason::INVALID_CONFIG,
                     "opening a connector: `name` is required",
                     {{"field", "name"}});
  }
  const uint64_t body = BodyOf(request);
  core::OpenReply repeat;
  {
    core::MutexLock lock(mu_);
    if (is_draining_) return GoingAway(name);
    if (const auto found = entries_.find(name); found != entries_.end()) {
      ASSIGN_OR_RETURN(const OpenOutcome outcome,
                       OpenAgain(found->second, request, body, reply));
      if (outcome != OpenOutcome::kAnswered) return outcome;
      repeat = found->second.open_reply;
    } else {
      const uint64_t memory = request.spec.limits.memory_max;
      if (entries_.size() >= connectors_max_ ||
          memory > memory_max_ - memory_) {
        return MakeError(
            Reason::MEMORY_REFUSED,
            absl::StrCat("opening connector '", name, "': its memory_max of ",
                         memory, " bytes on top of ", memory_, " bytes of ",
                         entries_.size(), " connectors exceeds this worker's ",
                         memory_max_, " bytes or ", connectors_max_,
                         " connectors; lower `limits.memory_max`, or use "
                         "another worker"),
            {{"field", "limits.memory_max"}});
      }
      memory_ += memory;
      ++uses_[request.fence.pipeline];
      entries_.emplace(name, Entry{.pipeline = request.fence.pipeline,
                                   .open_id = request.request_id,
                                   .open_body = body,
                                   .memory = memory,
                                   .connector = nullptr,
                                   .open_reply = {},
                                   .waiting_open = {},
                                   .waiting_delete = {},
                                   .replies = ReplyCache(replies_max_)});
      return OpenOutcome::kRun;
    }
  }
  reply(std::move(repeat));
  return OpenOutcome::kAnswered;
}

absl::Status ConnectorTable::SetConnector(
    const std::string& name, std::shared_ptr<core::Connector> connector) {
  core::MutexLock lock(mu_);
  if (is_draining_) return GoingAway(name);
  const auto found = entries_.find(name);
  CHECK(found != entries_.end()) << name;
  found->second.connector = std::move(connector);
  return absl::OkStatus();
}

std::vector<std::shared_ptr<core::Connector>> ConnectorTable::BeginDrain() {
  core::MutexLock lock(mu_);
  is_draining_ = true;
  return Connectors();
}

ConnectorTable::Entries::node_type ConnectorTable::Extract(
    Entries::iterator at) {
  memory_ -= at->second.memory;
  const auto uses = uses_.find(at->second.pipeline);
  if (--uses->second == 0) uses_.erase(uses);
  return entries_.extract(at);
}

ConnectorTable::Opened ConnectorTable::FinishOpen(
    const std::string& name, const absl::StatusOr<core::OpenReply>& result) {
  Entries::node_type removed;  // Dies without the lock.
  core::MutexLock lock(mu_);
  Opened opened;
  const auto found = entries_.find(name);
  if (found == entries_.end()) return opened;
  Entry& entry = found->second;
  opened.waiting = std::move(entry.waiting_open);
  entry.waiting_open.clear();
  if (!result.ok()) {
    opened.deletes = std::move(entry.waiting_delete);
    removed = Extract(found);
    return opened;
  }
  entry.open_reply = *result;
  const bool delete_now = !entry.waiting_delete.empty();
  if (delete_now) opened.delete_now = entry.connector;
  entry.stage = delete_now ? Stage::kDeleting : Stage::kOpen;
  return opened;
}

absl::StatusOr<ConnectorTable::Removal> ConnectorTable::BeginDelete(
    const std::string& pipeline, const core::ConnectorRef& ref,
    Reply<core::DisconnectReply>& reply) {
  core::MutexLock lock(mu_);
  const auto found = entries_.find(ref.connector);
  if (found == entries_.end()) return Removal{};
  Entry& entry = found->second;
  if (entry.pipeline != pipeline) {
    return NotOwner(ref.connector, entry.pipeline, pipeline);
  }
  // That instance is gone already. Of one that is being opened nobody knows
  // the instance yet.
  if (!ref.instance.empty() && (entry.connector == nullptr ||
                                entry.connector->instance() != ref.instance)) {
    return Removal{};
  }
  if (entry.stage != Stage::kOpen) {
    if (entry.waiting_delete.size() >= kWaitingMax) return core::TooManyCalls();
    entry.waiting_delete.push_back(std::move(reply));
    return Removal{.outcome = DeleteOutcome::kWaits,
                   .connector = entry.stage == Stage::kOpening ? entry.connector
                                                               : nullptr};
  }
  entry.stage = Stage::kDeleting;
  return Removal{.outcome = DeleteOutcome::kRun, .connector = entry.connector};
}

void ConnectorTable::WaitForDelete(const std::string& name,
                                   Reply<core::DisconnectReply> reply) {
  {
    core::MutexLock lock(mu_);
    if (const auto found = entries_.find(name); found != entries_.end()) {
      found->second.waiting_delete.push_back(std::move(reply));
      return;
    }
  }
  // Cleared meanwhile.
  reply(core::DisconnectReply{});
}

std::vector<ConnectorTable::Reply<core::DisconnectReply>>
ConnectorTable::FinishDelete(const std::string& name) {
  Entries::node_type removed;  // Dies without the lock.
  core::MutexLock lock(mu_);
  const auto found = entries_.find(name);
  if (found == entries_.end()) return {};
  removed = Extract(found);
  return std::move(removed.mapped().waiting_delete);
}

bool ConnectorTable::IsUsed(const std::string& pipeline) const {
  core::MutexLock lock(mu_);
  return uses_.contains(pipeline);
}

void ConnectorTable::Clear(const absl::Status& status) {
  Entries entries;
  {
    core::MutexLock lock(mu_);
    is_draining_ = true;
    std::swap(entries, entries_);
    uses_.clear();
    memory_ = 0;
  }
  for (auto& [name, entry] : entries) {
    // Answers what it was asked; what comes of that finds no entry any more.
    entry.connector.reset();
    for (auto& reply : entry.waiting_open) reply(status);
    for (auto& reply : entry.waiting_delete) reply(status);
    for (auto& done : entry.replies.TakeWaiting()) done(status);
  }
}

ReplyCache::Outcome ConnectorTable::BeginOnce(const std::string& name,
                                              const std::string& request_id,
                                              uint64_t body, Done& done) {
  core::MutexLock lock(mu_);
  const auto found = entries_.find(name);
  if (found == entries_.end()) return ReplyCache::Outcome::kRun;
  return found->second.replies.Begin(request_id, body, done);
}

std::vector<ConnectorTable::Done> ConnectorTable::FinishOnce(
    const std::string& name, const std::string& request_id, bool succeeded,
    std::string reply) {
  core::MutexLock lock(mu_);
  const auto found = entries_.find(name);
  if (found == entries_.end()) return {};
  return found->second.replies.Finish(request_id, succeeded, std::move(reply));
}

std::string ConnectorTable::ReplyOf(const std::string& name,
                                    const std::string& request_id) const {
  core::MutexLock lock(mu_);
  const auto found = entries_.find(name);
  return found == entries_.end() ? ""
                                 : found->second.replies.ReplyOf(request_id);
}

}  // namespace penstock::server
