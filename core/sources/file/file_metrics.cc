#include "core/sources/file/file_metrics.h"

namespace penstock::core {

std::vector<ConnectorMetrics::Sample> FileMetrics::Metrics() const {
  std::vector<Sample> samples;
  const auto add = [&samples](Kind kind, const char* name, const char* help,
                              const std::atomic<uint64_t>& value) {
    samples.push_back({.name = name,
                       .help = help,
                       .kind = kind,
                       .value = static_cast<double>(value.load())});
  };
  add(Kind::kGauge, "files_known",
      "Files that something was read of, or will be.", files_known);
  add(Kind::kGauge, "files_open", "Files that are open.", files_open);
  add(Kind::kGauge, "bytes_behind",
      "Bytes of uncompressed files that are there and not read yet.",
      bytes_behind);
  add(Kind::kGauge, "places_watched",
      "Directories and links whose changes are told at once.", places_watched);
  // What is rarely so takes no room in a scrape otherwise.
  const auto add_unless_zero = [&](Kind kind, const char* name,
                                   const char* help,
                                   const std::atomic<uint64_t>& value) {
    add(kind, name, help, value);
    if (samples.back().value == 0) samples.pop_back();
  };
  add_unless_zero(Kind::kGauge, "files_waiting",
                  "Files of which is not known yet whether they are copies. "
                  "Not shown while 0.",
                  files_waiting);
  add_unless_zero(Kind::kGauge, "places_polled",
                  "Directories and links that are looked at from time to time "
                  "only. Not shown while 0.",
                  places_polled);
  add_unless_zero(Kind::kCounter, "files_lost_total",
                  "Files that were cut off, replaced or deleted with bytes not "
                  "read. Not shown while 0.",
                  files_lost);
  add_unless_zero(Kind::kCounter, "documents_passed_total",
                  "Documents of an envelope that say no change of a row "
                  "(heartbeats, tombstones, changes of the schema) and were "
                  "passed over. Not shown while 0.",
                  documents_passed);
  return samples;
}

}  // namespace penstock::core
