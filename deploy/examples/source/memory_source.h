// The smallest right source: what a new source can be copied from, and what the
// contract suite is proved with. See deploy/docs/connectors.md.
#pragma once

#include "core/base/mutex.h"
#include "core/contract/endpoint.h"
#include "core/contract/ft_model.h"
#include "core/record/record.h"

#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace penstock::core {

// An outside system in memory: a sequence of items, of which runs of
// `kRun` belong to one of two partitions, alternating.
// Threads: thread-safe.
class MemoryLog {
 public:
  static constexpr uint64_t kRun = 5;
  static constexpr absl::string_view kBad = "bad";

  // Appends; returns the item's number.
  uint64_t Append(std::string item) ABSL_LOCKS_EXCLUDED(mu_);
  void Replace(uint64_t number, std::string item) ABSL_LOCKS_EXCLUDED(mu_);
  // From now on every read fails.
  void Break() ABSL_LOCKS_EXCLUDED(mu_);
  // Items `begin` and on, at most to `end`, of one partition, and at most
  // `bytes_max` bytes unless it is one item. Errors: UNAVAILABLE when broken.
  absl::StatusOr<std::vector<std::string>> Read(uint64_t begin, uint64_t end,
                                                size_t bytes_max) const
      ABSL_LOCKS_EXCLUDED(mu_);
  uint64_t size() const ABSL_LOCKS_EXCLUDED(mu_);

  static uint32_t PartitionOf(uint64_t number) {
    return static_cast<uint32_t>(number / kRun % 2);
  }

 private:
  mutable Mutex mu_;
  std::vector<std::string> items_ ABSL_GUARDED_BY(mu_);
  bool is_broken_ ABSL_GUARDED_BY(mu_) = false;
};

// Reads a MemoryLog up to the end it has at open, then reports end of input.
// Seek JSON is {"start":n,"end":m}, item numbers, end exclusive.
// Lifetime: `log` outlives it and its readers.
class MemorySource final : public TransportInputEndpoint {
 public:
  MemorySource(const MemoryLog& log, size_t read_bytes)
      : log_(log), read_bytes_(read_bytes) {}

  std::optional<FtModel> FaultTolerance() const override {
    return FtModel::kExactlyOnce;
  }
  absl::StatusOr<OpenedInput> Open(
      InputConsumer& consumer, std::unique_ptr<Parser> parser,
      const Schema& schema, std::optional<std::string> resume_info) override;

 private:
  const MemoryLog& log_;
  const size_t read_bytes_;
};

}  // namespace penstock::core
