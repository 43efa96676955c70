#include "core/sources/file/file_metrics.h"

namespace penstock::core {
namespace {

using enum ConnectorMetrics::Kind;

constexpr Measure kDocumentsPassed = {
    "documents_passed_total",
    "Documents of an envelope that say no change of a row (heartbeats, "
    "tombstones, changes of the schema) and were passed over.",
    kCounter, true};

constexpr Measured<FileMetrics> kFileMeasures[] = {
    {{"files_known", "Files that something was read of, or will be."},
     &FileMetrics::files_known},
    {{"files_open", "Files that are open."}, &FileMetrics::files_open},
    {{"bytes_behind",
      "Bytes of uncompressed files that are there and not read yet."},
     &FileMetrics::bytes_behind},
    {{"places_watched",
      "Directories and links whose changes are told at once."},
     &FileMetrics::places_watched},
    {{"files_waiting",
      "Files of which is not known yet whether they are copies.", kGauge, true},
     &FileMetrics::files_waiting},
    {{"places_polled",
      "Directories and links that are looked at from time to time only.",
      kGauge, true},
     &FileMetrics::places_polled},
    {{"files_lost_total",
      "Files that were cut off, replaced or deleted with bytes not read.",
      kCounter, true},
     &FileMetrics::files_lost},
    {kDocumentsPassed, &FileMetrics::documents_passed},
};

constexpr Measured<StreamMetrics> kStreamMeasures[] = {
    {kDocumentsPassed, &StreamMetrics::documents_passed},
};

}  // namespace

std::vector<ConnectorMetrics::Sample> FileMetrics::Metrics() const {
  return SamplesOf<FileMetrics>(*this, kFileMeasures);
}

std::vector<Measure> FileMetrics::Measures() {
  return MeasuresOf<FileMetrics>(kFileMeasures);
}

std::vector<ConnectorMetrics::Sample> StreamMetrics::Metrics() const {
  return SamplesOf<StreamMetrics>(*this, kStreamMeasures);
}

}  // namespace penstock::core
