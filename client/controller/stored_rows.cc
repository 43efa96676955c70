#include "client/controller/stored_rows.h"

#include "core/base/byte_order.h"
#include "core/base/checksum.h"
#include "core/base/error.h"
#include "core/base/status_macros.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/string_view.h>
#include <absl/time/time.h>

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

namespace penstock::client {
namespace {

enum ResumeKind : uint64_t { kBarrier = 0, kSeek = 1, kReplay = 2 };

// Feeds a checksum with fields that cannot be mistaken for each other.
class Fields {
 public:
  Fields& Add(uint64_t value) {
    core::AppendLe64(value, bytes_);
    return *this;
  }
  Fields& Add(absl::string_view value) {
    core::AppendLe64(value.size(), bytes_);
    bytes_.append(value.data(), value.size());
    return *this;
  }
  Fields& Add(const std::optional<std::string>& value) {
    Add(uint64_t{value.has_value()});
    return value.has_value() ? Add(absl::string_view(*value)) : *this;
  }
  uint64_t Checksum() const { return core::Checksum64(bytes_); }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

std::string EncodeWatermarks(const std::vector<core::Watermark>& watermarks) {
  Fields fields;
  for (const core::Watermark& watermark : watermarks) {
    fields.Add(static_cast<uint64_t>(absl::ToUnixNanos(watermark.timestamp)))
        .Add(watermark.metadata);
  }
  return fields.bytes();
}

bool DecodeWatermarks(absl::string_view bytes,
                      std::vector<core::Watermark>& watermarks) {
  while (!bytes.empty()) {
    uint64_t nanos = 0;
    uint64_t has_metadata = 0;
    uint64_t size = 0;
    if (!core::ConsumeLe(bytes, nanos) ||
        !core::ConsumeLe(bytes, has_metadata)) {
      return false;
    }
    core::Watermark& watermark = watermarks.emplace_back();
    watermark.timestamp = absl::FromUnixNanos(static_cast<int64_t>(nanos));
    if (has_metadata == 0) continue;
    if (!core::ConsumeLe(bytes, size) || bytes.size() < size) return false;
    watermark.metadata.emplace(bytes.data(), size);
    bytes.remove_prefix(size);
  }
  return true;
}

}  // namespace

uint64_t BytesOf(const core::StepResult& result) {
  uint64_t bytes = sizeof(core::StepResult);
  if (const auto seek = result.resume.seek()) bytes += seek->size();
  if (const auto* replay =
          std::get_if<core::Resume::Replay>(&result.resume.kind())) {
    bytes += replay->replay.size();
  }
  for (const core::Watermark& watermark : result.watermarks) {
    bytes += sizeof(watermark) + watermark.metadata.value_or("").size();
  }
  return bytes;
}

absl::Status DamagedStore(absl::string_view what) {
  return core::MakeError(core::Reason::STATE_DAMAGED,
                         absl::StrCat("reading the store: ", what));
}

uint64_t ChecksumOf(const StoreHeader& header) {
  return Fields()
      .Add(absl::string_view(header.incarnation))
      .Add(header.epoch)
      .Add(absl::string_view(header.leader))
      .Add(header.commits)
      .Add(header.digest)
      .Checksum();
}

uint64_t ChecksumOf(const std::string& name, const StoredConnector& connector) {
  return Fields()
      .Add(absl::string_view("connector"))
      .Add(absl::string_view(name))
      .Add(absl::string_view(connector.spec_bytes))
      .Add(uint64_t{connector.opened})
      .Add(connector.position)
      .Add(connector.base_steps)
      .Add(connector.reserved_steps)
      .Add(connector.open_number)
      .Add(uint64_t{connector.user_paused})
      .Checksum();
}

uint64_t ChecksumOf(const std::string& connector, const StepRow& row) {
  const core::StepHash hash = row.hash.value_or(core::StepHash{});
  Fields fields;
  fields.Add(absl::string_view("step"))
      .Add(absl::string_view(connector))
      .Add(row.step)
      .Add(row.records)
      .Add(row.bytes)
      .Add(row.resume_kind)
      .Add(row.seek)
      .Add(row.replay)
      .Add(row.resume_hash)
      .Add(uint64_t{row.position_complete})
      .Add(uint64_t{row.hash.has_value()})
      .Add(hash.value)
      .Add(hash.count)
      .Add(absl::string_view(row.watermarks))
      .Add(uint64_t{row.transaction_started})
      .Add(uint64_t{row.transaction_committed})
      .Add(row.transaction_label)
      .Add(uint64_t{row.end_of_input})
      .Add(row.stopped_because);
  if (row.skipped_records > 0) fields.Add(row.skipped_records);
  return fields.Checksum();
}

StepRow ToStepRow(const core::StepResult& result) {
  StepRow row;
  row.step = result.step;
  row.records = result.amount.records;
  row.bytes = result.amount.bytes;
  if (const auto* seek =
          std::get_if<core::Resume::Seek>(&result.resume.kind())) {
    row.resume_kind = kSeek;
    row.seek = seek->seek;
  } else if (const auto* replay =
                 std::get_if<core::Resume::Replay>(&result.resume.kind())) {
    row.resume_kind = kReplay;
    row.seek = replay->seek;
    row.replay = replay->replay;
    row.resume_hash = replay->hash;
  }
  row.position_complete = result.position_complete;
  row.hash = result.hash;
  row.watermarks = EncodeWatermarks(result.watermarks);
  row.transaction_started = result.transaction_started;
  row.transaction_committed = result.transaction_committed;
  row.transaction_label = result.transaction_label;
  row.end_of_input = result.end_of_input;
  row.stopped_because = static_cast<uint64_t>(result.stopped_because);
  row.skipped_records = result.skipped_records;
  return row;
}

absl::StatusOr<core::StepResult> FromStepRow(StepRow row) {
  core::StepResult result;
  result.step = row.step;
  result.amount = {.records = row.records, .bytes = row.bytes};
  if (row.resume_kind == kSeek) {
    result.resume =
        core::Resume(core::Resume::Seek{.seek = row.seek.value_or("")});
  } else if (row.resume_kind == kReplay) {
    result.resume =
        core::Resume(core::Resume::Replay{.seek = row.seek.value_or(""),
                                          .replay = row.replay.value_or(""),
                                          .hash = row.resume_hash});
  } else if (row.resume_kind != kBarrier) {
    return DamagedStore(
        absl::StrCat("step ", row.step, " has no known resume"));
  }
  result.position_complete = row.position_complete;
  result.hash = row.hash;
  if (!DecodeWatermarks(row.watermarks, result.watermarks)) {
    return DamagedStore(
        absl::StrCat("step ", row.step, " has broken watermarks"));
  }
  result.transaction_started = row.transaction_started;
  result.transaction_committed = row.transaction_committed;
  result.transaction_label = std::move(row.transaction_label);
  result.end_of_input = row.end_of_input;
  if (row.stopped_because > static_cast<uint64_t>(core::StopReason::kBlocked)) {
    return DamagedStore(absl::StrCat("step ", row.step, " has no known end"));
  }
  result.stopped_because = static_cast<core::StopReason>(row.stopped_because);
  result.skipped_records = row.skipped_records;
  return result;
}

absl::Status RowsAreMissing() {
  return DamagedStore("rows are missing, or older than its header");
}

absl::Status CheckConnector(const std::string& name,
                            const StoredConnector& connector,
                            uint64_t checksum) {
  if (checksum == ChecksumOf(name, connector)) return absl::OkStatus();
  return DamagedStore(
      absl::StrCat("connector '", name, "' does not match its checksum"));
}

absl::Status RowCollector::AddConnector(const std::string& name,
                                        StoredConnector connector,
                                        uint64_t checksum) {
  RETURN_IF_ERROR(CheckConnector(name, connector, checksum));
  digest_ += checksum;
  connectors_[name] = std::move(connector);
  return absl::OkStatus();
}

absl::Status RowCollector::AddStep(const std::string& connector, StepRow row,
                                   uint64_t checksum) {
  const auto owner = connectors_.find(connector);
  if (owner == connectors_.end() || checksum != ChecksumOf(connector, row)) {
    return DamagedStore(absl::StrCat("journaled step ", row.step,
                                     " of connector '", connector,
                                     "' does not match its checksum"));
  }
  digest_ += checksum;
  ASSIGN_OR_RETURN(core::StepResult result, FromStepRow(std::move(row)));
  owner->second.journal.push_back(std::move(result));
  return absl::OkStatus();
}

absl::StatusOr<std::map<std::string, StoredConnector>> RowCollector::Finish(
    const StoreHeader& header) && {
  if (digest_ != header.digest) {
    return RowsAreMissing();
  }
  for (auto& [name, connector] : connectors_) {
    std::sort(connector.journal.begin(), connector.journal.end(),
              [](const core::StepResult& a, const core::StepResult& b) {
                return a.step < b.step;
              });
  }
  return std::move(connectors_);
}

}  // namespace penstock::client
