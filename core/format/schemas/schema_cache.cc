#include "core/format/schemas/schema_cache.h"

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/base/json_text.h"
#include "core/base/status_macros.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <utility>

namespace penstock::core {
namespace {

std::string CutReason(std::string reason) {
  if (reason.size() <= SchemaCache::kReasonBytesMax) return reason;
  reason.resize(SchemaCache::kReasonBytesMax);
  // Not within a character.
  while (!IsUtf8(reason)) reason.pop_back();
  return reason + "...";
}

}  // namespace

std::optional<uint32_t> ReadSchemaId(absl::string_view message) {
  if (message.size() < kSchemaIdBytes || message[0] != 0) return std::nullopt;
  uint32_t id = 0;
  for (const char byte : message.substr(1, 4)) {
    id = id << 8 | static_cast<unsigned char>(byte);
  }
  return id;
}

SchemaCache::SchemaCache(const SchemaRegistryConfig& config,
                         MakeSchemaSource make, SchemaLanguage language)
    : config_(config), make_(std::move(make)), language_(std::move(language)) {
  for (const uint32_t id : config.bad_schema_ids) {
    bad_[id].problem = absl::StrCat("schema ", id,
                                    " is called bad by the "
                                    "configuration (`bad_schema_ids`)");
  }
}

SchemaCache::~SchemaCache() = default;

absl::Status SchemaCache::Start(const Environment& environment) {
  CHECK(source_ == nullptr) << "started twice";
  ASSIGN_OR_RETURN(source_, make_(config_, environment));
  clock_ = &environment.clock;
  return absl::OkStatus();
}

bool SchemaCache::IsReady(absl::string_view message) {
  if (is_fetching_) TakeFetched();
  const std::optional<uint32_t> id = ReadSchemaId(message);
  // The parser says what is wrong with it.
  if (!id.has_value() || bad_.contains(*id)) return true;
  const auto found = kept_.find(*id);
  if (found != kept_.end()) {
    std::list<uint32_t>& uses =
        found->second.entry.schema != nullptr ? uses_ : problem_uses_;
    uses.splice(uses.begin(), uses, found->second.use);
    return true;
  }
  if (!is_fetching_ && clock_->SteadyNow() >= next_attempt_) BeginFetch(*id);
  return false;
}

ConnectorHealth SchemaCache::Health() const { return health_; }

const SchemaCache::Entry* SchemaCache::Find(uint32_t id) const {
  const auto bad = bad_.find(id);
  if (bad != bad_.end()) return &bad->second;
  const auto found = kept_.find(id);
  return found == kept_.end() ? nullptr : &found->second.entry;
}

const WriterSchema* SchemaCache::FindSchema(uint32_t id,
                                            std::string& problem) const {
  const Entry* const entry = Find(id);
  if (entry != nullptr && entry->schema != nullptr) return entry->schema.get();
  problem = entry != nullptr
                ? entry->problem
                : absl::StrCat("schema ", id, " was not asked for");
  return nullptr;
}

void SchemaCache::BeginFetch(uint32_t id) {
  is_fetching_ = true;
  // The one before it has given its answer, and ends.
  thread_.emplace("schema", [this, id](const std::stop_token& stop) {
    Fetched fetched{.id = id, .entry = Fetch(id, stop)};
    {
      MutexLock lock(mu_);
      fetched_ = std::move(fetched);
    }
    if (wake_ != nullptr && !stop.stop_requested()) wake_();
  });
}

absl::StatusOr<SchemaCache::Entry> SchemaCache::Fetch(
    uint32_t id, const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const RegisteredSchema schema, source_->Fetch(id, stop));
  if (schema.type != language_.type) {
    return Entry{.problem = CutReason(
                     absl::StrCat("schema ", id, " is of type ", schema.type,
                                  ", must be ", language_.type))};
  }
  ASSIGN_OR_RETURN(std::shared_ptr<const WriterSchema> read,
                   language_.read(schema));
  return Entry{.schema = std::move(read)};
}

void SchemaCache::TakeFetched() {
  std::optional<Fetched> fetched;
  {
    MutexLock lock(mu_);
    fetched = std::exchange(fetched_, std::nullopt);
  }
  if (!fetched.has_value()) return;
  is_fetching_ = false;
  const uint32_t id = fetched->id;
  if (id != std::exchange(failed_id_, id)) failures_ = 0;
  const absl::Status status = fetched->entry.status();
  if (status.ok()) {
    Keep(id, *std::move(fetched->entry));
  } else {
    const absl::Duration wait = std::min(
        kBackoffMin * (int64_t{1} << std::min(failures_, 6)), kBackoffMax);
    ++failures_;
    next_attempt_ = clock_->SteadyNow() + wait;
    health_ = {
        .condition = Condition::kDegraded,
        .reason = absl::StrCat("wait for schema ", id, " of the registry: ",
                               CutReason(std::string(status.message()))),
        .next_attempt = clock_->Now() + wait};
    return;
  }
  failures_ = 0;
  next_attempt_ = absl::InfinitePast();
  health_ = {};
}

void SchemaCache::Keep(uint32_t id, Entry entry) {
  size_t bytes = 0;
  std::list<uint32_t>& uses = entry.schema ? uses_ : problem_uses_;
  if (entry.schema == nullptr) {
    if (uses.size() >= kProblemsMax) Drop(uses);
  } else {
    bytes = sizeof(Kept) + entry.schema->MemoryBytes();
    while (!uses.empty() &&
           (uses.size() >= kSchemasMax || kept_bytes_ + bytes > kBytesMax)) {
      Drop(uses);
    }
  }
  uses.push_front(id);
  kept_bytes_ += bytes;
  kept_[id] = {.entry = std::move(entry), .bytes = bytes, .use = uses.begin()};
}

void SchemaCache::Drop(std::list<uint32_t>& uses) {
  const auto unused = kept_.find(uses.back());
  kept_bytes_ -= unused->second.bytes;
  kept_.erase(unused);
  uses.pop_back();
}

}  // namespace penstock::core
