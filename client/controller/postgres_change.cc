// Changes to known rows; see postgres_rows.h.
#include "client/controller/postgres_rows.h"
#include "core/base/checksum.h"
#include "core/base/json_text.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace penstock::client {
namespace {

// Builds a JSON object.
class Json {
 public:
  Json& Add(absl::string_view name, uint64_t value) {
    return AddRaw(name, absl::StrCat(value));
  }
  Json& AddBool(absl::string_view name, bool value) {
    return AddRaw(name, value ? "true" : "false");
  }
  Json& AddText(absl::string_view name, absl::string_view value) {
    std::string quoted;
    core::AppendJsonString(value, quoted);
    return AddRaw(name, quoted);
  }
  // As the type bytea reads it.
  Json& AddBytes(absl::string_view name,
                 const std::optional<std::string>& value) {
    if (!value.has_value()) return AddRaw(name, "null");
    return AddRaw(name, absl::StrCat("\"\\\\x", core::HexBytes(*value), "\""));
  }
  Json& AddNull(absl::string_view name) { return AddRaw(name, "null"); }
  std::string Finish() const { return absl::StrCat("{", body_, "}"); }

 private:
  Json& AddRaw(absl::string_view name, absl::string_view value) {
    absl::StrAppend(&body_, body_.empty() ? "" : ",", "\"", name, "\":", value);
    return *this;
  }
  std::string body_;
};

std::string JsonOf(const std::string& name, const StoredConnector& connector) {
  return Json()
      .AddText("connector", name)
      .AddBytes("spec", connector.spec_bytes)
      .AddBool("opened", connector.opened)
      .AddBytes("position", connector.position)
      .Add("base_steps", connector.base_steps)
      .Add("reserved_steps", connector.reserved_steps)
      .Add("open_number", connector.open_number)
      .AddBool("user_paused", connector.user_paused)
      .Add("checksum", ChecksumOf(name, connector))
      .Finish();
}

std::string JsonOf(const std::string& connector, const StepRow& row,
                   uint64_t checksum) {
  Json json;
  json.AddText("connector", connector)
      .Add("step", row.step)
      .Add("checksum", checksum)
      .Add("records", row.records)
      .Add("bytes", row.bytes)
      .Add("resume_kind", row.resume_kind)
      .AddBytes("seek", row.seek)
      .AddBytes("replay", row.replay)
      .Add("resume_hash", row.resume_hash)
      .AddBool("position_complete", row.position_complete);
  if (row.hash.has_value()) {
    json.Add("hash_value", row.hash->value).Add("hash_count", row.hash->count);
  } else {
    json.AddNull("hash_value").AddNull("hash_count");
  }
  return json.AddBytes("watermarks", row.watermarks)
      .AddBool("transaction_started", row.transaction_started)
      .AddBool("transaction_committed", row.transaction_committed)
      .AddBytes("transaction_label", row.transaction_label)
      .AddBool("end_of_input", row.end_of_input)
      .Add("stopped_because", row.stopped_because)
      .Add("skipped_records", row.skipped_records)
      .Finish();
}

std::string ArrayOf(const std::vector<std::string>& values) {
  return absl::StrCat("[", absl::StrJoin(values, ","), "]");
}

}  // namespace

absl::StatusOr<std::optional<StoredConnector>> PostgresChange::ReadConnector(
    const std::string& name) {
  if (const auto changed = connectors_.find(name);
      changed != connectors_.end()) {
    return std::optional<StoredConnector>(changed->second);
  }
  const auto known = known_->connectors.find(name);
  if (known == known_->connectors.end()) {
    return std::optional<StoredConnector>();
  }
  return std::optional<StoredConnector>(known->second);
}

absl::Status PostgresChange::WriteConnector(const std::string& name,
                                            const StoredConnector& connector) {
  const absl::StatusOr<std::optional<StoredConnector>> old =
      ReadConnector(name);
  if (old->has_value()) digest_ -= ChecksumOf(name, **old);
  digest_ += ChecksumOf(name, connector);
  connectors_[name] = connector;
  return absl::OkStatus();
}

core::Step PostgresChange::TrimmedOf(const std::string& connector) const {
  const auto found = trimmed_.find(connector);
  return found == trimmed_.end() ? 0 : found->second;
}

std::optional<uint64_t> PostgresChange::ChecksumOfStep(
    const std::string& connector, core::Step step) const {
  if (const auto steps = added_.find(connector); steps != added_.end()) {
    const auto found = steps->second.find(step);
    if (found != steps->second.end()) return found->second.checksum;
  }
  if (step < TrimmedOf(connector)) return std::nullopt;
  const auto steps = known_->steps.find(connector);
  if (steps == known_->steps.end()) return std::nullopt;
  const auto found = steps->second.find(step);
  if (found == steps->second.end()) return std::nullopt;
  return found->second;
}

absl::Status PostgresChange::InsertStep(const std::string& connector,
                                        const core::StepResult& result) {
  const StepRow row = ToStepRow(result);
  const uint64_t checksum = ChecksumOf(connector, row);
  const std::optional<uint64_t> there = ChecksumOfStep(connector, row.step);
  if (there == checksum) return absl::OkStatus();
  if (there.has_value()) return OtherContent(connector, row.step);
  digest_ += checksum;
  added_[connector][row.step] = {.checksum = checksum,
                                 .json = std::make_shared<const std::string>(
                                     JsonOf(connector, row, checksum))};
  return absl::OkStatus();
}

absl::StatusOr<bool> PostgresChange::TrimSteps(const std::string& connector,
                                               core::Step steps) {
  bool is_any_left = false;
  if (const auto added = added_.find(connector); added != added_.end()) {
    const auto end = added->second.lower_bound(steps);
    for (auto at = added->second.begin(); at != end; ++at) {
      digest_ -= at->second.checksum;
    }
    added->second.erase(added->second.begin(), end);
    is_any_left = !added->second.empty();
  }
  const core::Step from = TrimmedOf(connector);
  if (const auto known = known_->steps.find(connector);
      known != known_->steps.end()) {
    const core::Step to = std::max(from, steps);
    const auto end = known->second.lower_bound(to);
    for (auto at = known->second.lower_bound(from); at != end; ++at) {
      digest_ -= at->second;
    }
    is_any_left = is_any_left || end != known->second.end();
    if (to > from) trimmed_[connector] = to;
  }
  return is_any_left;
}

StoreHeader PostgresChange::header() const {
  StoreHeader header = known_->header;
  header.digest = digest_;
  ++header.commits;
  return header;
}

std::string PostgresChange::TrimsJson() const {
  std::vector<std::string> trims;
  for (const auto& [connector, steps] : trimmed_) {
    trims.push_back(
        Json().AddText("connector", connector).Add("steps", steps).Finish());
  }
  return ArrayOf(trims);
}

std::string PostgresChange::ConnectorsJson() const {
  std::vector<std::string> connectors;
  for (const auto& [name, connector] : connectors_) {
    connectors.push_back(JsonOf(name, connector));
  }
  return ArrayOf(connectors);
}

std::string PostgresChange::StepsJson() const {
  std::vector<std::string> rows;
  for (const auto& [connector, steps] : added_) {
    for (const auto& [step, added] : steps) rows.push_back(*added.json);
  }
  return ArrayOf(rows);
}

void PostgresChange::ApplyTo(KnownRows& known) && {
  known.header = header();
  for (auto& [name, connector] : connectors_) {
    known.connectors[name] = std::move(connector);
  }
  for (const auto& [connector, steps] : trimmed_) {
    auto& rows = known.steps[connector];
    rows.erase(rows.begin(), rows.lower_bound(steps));
  }
  for (const auto& [connector, steps] : added_) {
    for (const auto& [step, added] : steps) {
      known.steps[connector][step] = added.checksum;
    }
  }
}

}  // namespace penstock::client
