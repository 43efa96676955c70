#include "core/sources/file/file_metrics.h"

namespace penstock::core {

std::vector<ConnectorMetrics::Sample> FileMetrics::Metrics() const {
  const auto gauge = [](const char* name, const char* help,
                        const std::atomic<uint64_t>& value) {
    return Sample{.name = name,
                  .help = help,
                  .kind = Kind::kGauge,
                  .value = static_cast<double>(value.load())};
  };
  std::vector<Sample> samples = {
      gauge("files_known", "Files that something was read of, or will be.",
            files_known),
      gauge("files_open", "Files that are open.", files_open),
      gauge("files_waiting",
            "Files of which is not known yet whether they are copies.",
            files_waiting),
      gauge("bytes_behind",
            "Bytes of uncompressed files that are there and not read yet.",
            bytes_behind),
      gauge("places_watched",
            "Directories and links whose changes are told at once.",
            places_watched),
      gauge("places_polled",
            "Directories and links that are looked at from time to time only.",
            places_polled)};
  const auto counter = [](const char* name, const char* help,
                          const std::atomic<uint64_t>& value) {
    return Sample{.name = name,
                  .help = help,
                  .kind = Kind::kCounter,
                  .value = static_cast<double>(value.load())};
  };
  samples.push_back(counter(
      "files_lost_total",
      "Files that were cut off, replaced or deleted with bytes not read.",
      files_lost));
  samples.push_back(counter(
      "documents_passed_total",
      "Documents of an envelope that say no change of a row (heartbeats, "
      "tombstones, changes of the schema) and were passed over.",
      documents_passed));
  return samples;
}

}  // namespace penstock::core
