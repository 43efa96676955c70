// A scrape of a thousand connectors: how large, and how long.
#include "core/connector/connector_status.h"
#include "core/sources/file/file_metrics.h"
#include "server/admin/connector_metrics.h"
#include "server/admin/exposition.h"
#include "server/admin/source_metrics.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace penstock::server {
namespace {

// Connectors at work, each with numbers of many digits.
std::vector<core::ConnectorStatus> Busy(int count) {
  std::vector<core::ConnectorStatus> all;
  for (int i = 0; i < count; ++i) {
    core::ConnectorStatus& status = all.emplace_back();
    status.name = absl::StrCat("connector-", 1000 + i);
    status.pipeline = absl::StrCat("orders-import-", 10 + i % 90);
    status.source_kind = "file";
    status.sink_kind = "postgres";
    status.state = core::ConnectorState::kRunning;
    status.buffered_total = {.records = 123'456'789, .bytes = 98'765'432'100};
    status.extended_total = status.buffered_total;
    status.records_out = 123'456'789;
    status.made_steps = 1'234'567;
    status.released_steps = 1'234'560;
    status.completed_steps = 1'234'550;
    status.checkpointed_steps = 1'234'000;
    core::ShardStatus& shard = status.shards.emplace_back();
    shard.progress = 1'234'550;
    shard.worker.rows_written = 123'456'789;
    shard.worker.bytes_written = 98'765'432'100;
    shard.worker.flushes[0] = 1'234'567;
    for (int sample = 0; sample < 1000; ++sample) {
      shard.worker.write_seconds.Record(0.001 * sample);
      status.latencies.ack_seconds.Record(0.005 * sample);
      status.latencies.end_to_end_seconds.Record(0.01 * sample);
    }
  }
  return all;
}

// What their sources measure of themselves.
std::vector<SourceMetrics> SourcesOf(
    const std::vector<core::ConnectorStatus>& all) {
  std::vector<SourceMetrics> sources;
  for (const core::ConnectorStatus& status : all) {
    auto metrics = std::make_shared<core::FileMetrics>();
    metrics->files_known = 24;
    metrics->files_open = 4;
    metrics->bytes_behind = 123'456'789;
    metrics->places_watched = 2;
    sources.push_back({.connector = status.name, .metrics = metrics});
  }
  return sources;
}

double CpuMilliseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 +
         static_cast<double>(now.tv_nsec) / 1e6;
}

TEST(ScrapeScaleTest, AThousandBusyConnectorsAreBelowFiveMegabytes) {
  const std::vector<core::ConnectorStatus> all = Busy(1000);
  // Each has met one kind of bad records.
  std::vector<ConnectorParseErrors> bad;
  for (const core::ConnectorStatus& status : all) {
    bad.emplace_back().connector = status.name;
    bad.back().counts.Add("record_too_large");
  }
  const std::vector<SourceMetrics> sources = SourcesOf(all);
  const double begin = CpuMilliseconds();
  Exposition to;
  AddConnectorMetrics(all, to);
  AddParseErrors(bad, to);
  AddSourceMetrics(sources, to);
  const std::string text = std::move(to).Take();
  const double spent = CpuMilliseconds() - begin;
  std::cout << text.size() << " bytes, " << spent << " ms of processor time\n";
  EXPECT_LT(text.size(), 5'000'000U);
  // The aim is 100 ms; sanitizers take several times that.
  EXPECT_LT(spent, 1000);
}

}  // namespace
}  // namespace penstock::server
