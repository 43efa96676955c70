// A scrape of a thousand connectors: how large, and how long.
#include "core/connector/connector_status.h"
#include "core/sources/file/file_metrics.h"
#include "core/sources/kafka/kafka_metrics.h"
#include "server/admin/connector_metrics.h"
#include "server/admin/exposition.h"
#include "server/admin/metric_limits.h"
#include "server/admin/source_metrics.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/time/time.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <iostream>
#include <limits>
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

// Makes everything other than 0 that is shown only then.
void Spoil(core::ConnectorStatus& status) {
  status.source_kind = "kafka";
  status.state = core::ConnectorState::kFailed;
  status.health.condition = core::Condition::kFatal;
  status.replayed_total = status.buffered_total;
  status.records_skipped = status.records_discarded = 1'234'567;
  status.records_refused = status.dead_letters = 1'234'567;
  status.error_count = status.already_held_steps = 1'234'567;
  status.inflight_pauses = 1'234'567;
  status.inflight_paused_time = absl::Seconds(1'234'567.125);
  status.orphaned_since = absl::UnixEpoch();
  status.end_of_input = true;
  core::ShardStatus& shard = status.shards.front();
  shard.queue_full_events = shard.parked_chunks = 1'234'567;
  shard.worker.rows_refused = shard.worker.dead_letters = 1'234'567;
  shard.worker.writes_overdue = 1;
  shard.worker.deadlines_passed = shard.worker.retries = 1'234'567;
  shard.worker.abandoned = 1'234'567;
  shard.worker.breaker.state = core::Breaker::State::kOpen;
  shard.worker.breaker.opens = 1'234'567;
  for (uint64_t& flushes : shard.worker.flushes) flushes = 1'234'567;
}

// As many as are told apart, and the rest.
core::ParseErrorCounts EveryReason() {
  core::ParseErrorCounts counts;
  for (size_t i = 0; i <= core::ParseErrorCounts::kTagsMax; ++i) {
    counts.Add(absl::StrCat("text_number_too_large_", 10 + i));
  }
  return counts;
}

double CpuMilliseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 +
         static_cast<double>(now.tv_nsec) / 1e6;
}

struct Scrape {
  std::string text;
  size_t left_out = 0;
  double milliseconds = 0;
};

// In the order of RenderMetrics.
Scrape Render(const std::vector<core::ConnectorStatus>& all,
              const std::vector<ConnectorParseErrors>& bad,
              const std::vector<SourceMetrics>& sources, size_t bytes_max) {
  Scrape scrape;
  const double begin = CpuMilliseconds();
  Exposition to(bytes_max);
  AddConnectorMetrics(all, to);
  AddParseErrors(bad, to);
  AddSourceMetrics(sources, to);
  AddConnectorDetails(all, to);
  scrape.left_out = to.CountLeftOut();
  scrape.text = std::move(to).Take();
  scrape.milliseconds = CpuMilliseconds() - begin;
  std::cout << scrape.text.size() << " bytes, " << scrape.milliseconds
            << " ms of processor time, " << scrape.left_out << " left out\n";
  return scrape;
}

TEST(ScrapeScaleTest, AThousandBusyConnectorsAreBelowFiveMegabytes) {
  const std::vector<core::ConnectorStatus> all = Busy(1000);
  // Each has met one kind of bad records.
  std::vector<ConnectorParseErrors> bad;
  for (const core::ConnectorStatus& status : all) {
    bad.emplace_back().connector = status.name;
    bad.back().counts.Add("record_too_large");
  }
  const Scrape scrape = Render(all, bad, SourcesOf(all), kMetricsBytesMax);
  EXPECT_EQ(scrape.left_out, 0U);
  EXPECT_LE(scrape.text.size(), kMetricsBytesMax);
  // The aim is 100 ms; sanitizers take several times that.
  EXPECT_LT(scrape.milliseconds, 1000);
}

// All that is rare is so of everyone, and every reason there can be has
// occurred.
TEST(ScrapeScaleTest, AThousandFailingConnectorsAreBelowFiveMegabytesToo) {
  std::vector<core::ConnectorStatus> all = Busy(1000);
  std::vector<ConnectorParseErrors> bad;
  std::vector<SourceMetrics> sources;
  for (core::ConnectorStatus& status : all) {
    Spoil(status);
    bad.push_back({.connector = status.name, .counts = EveryReason()});
    sources.push_back({.connector = status.name,
                       .metrics = std::make_shared<core::KafkaMetrics>()});
  }
  const Scrape whole =
      Render(all, bad, sources, std::numeric_limits<size_t>::max());
  EXPECT_GT(whole.text.size(), kMetricsBytesMax);
  const Scrape scrape = Render(all, bad, sources, kMetricsBytesMax);
  EXPECT_LE(scrape.text.size(), kMetricsBytesMax);
  EXPECT_GT(scrape.left_out, 0U);
  for (const char* family :
       {"penstock_connector_state{", "penstock_errors_total{",
        "penstock_checkpointed_steps{", "penstock_source_parse_errors_total{",
        "penstock_shard_writes_overdue{"}) {
    // The text is too long to be shown.
    EXPECT_TRUE(absl::StrContains(scrape.text, family)) << family;
  }
  EXPECT_LT(scrape.milliseconds, 1000);
}

}  // namespace
}  // namespace penstock::server
