// What a file source shows of itself, and one that reads what is piped in.
#pragma once

#include "core/contract/health.h"
#include "core/contract/measured.h"

#include <atomic>
#include <cstdint>
#include <vector>

namespace penstock::core {

// Threads: thread-safe: the reader's tasks set, whoever scrapes reads.
class FileMetrics final : public ConnectorMetrics {
 public:
  std::vector<Sample> Metrics() const override;
  // All that it or StreamMetrics may show.
  static std::vector<Measure> Measures();

  // Files that are known, open, and found but not known yet.
  std::atomic<uint64_t> files_known{0};
  std::atomic<uint64_t> files_open{0};
  std::atomic<uint64_t> files_waiting{0};
  // Of plain files, found at the last search and not read yet.
  std::atomic<uint64_t> bytes_behind{0};
  // Places where files are looked for whose changes are told at once, and those
  // that are looked at from time to time only.
  std::atomic<uint64_t> places_watched{0};
  std::atomic<uint64_t> places_polled{0};
  // Files that were cut off, replaced or deleted with something unread.
  std::atomic<uint64_t> files_lost{0};
  // Documents that say no change of a row, and so were passed over. Those of
  // replays are not counted.
  std::atomic<uint64_t> documents_passed{0};
};

// Threads: as FileMetrics.
class StreamMetrics final : public ConnectorMetrics {
 public:
  std::vector<Sample> Metrics() const override;

  std::atomic<uint64_t> documents_passed{0};
};

}  // namespace penstock::core
