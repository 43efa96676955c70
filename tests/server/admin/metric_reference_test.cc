// deploy/prometheus/METRICS.md is what the code says.
#include "core/base/filesystem.h"
#include "core/connector/registry.h"
#include "core/sources/file/file_metrics.h"
#include "core/sources/kafka/kafka_metrics.h"
#include "server/admin/worker_metrics.h"
#include "server/builtin.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace penstock::server {
namespace {

using testing::HasSubstr;

std::string Reference() { return MetricReference(BuiltinSourceMeasures()); }

// With PENSTOCK_WRITE_METRICS=1 it writes the file instead.
TEST(MetricReferenceTest, IsWhatTheCodeSays) {
  const std::string path = PENSTOCK_METRICS_FILE;
  if (std::getenv("PENSTOCK_WRITE_METRICS") != nullptr) {
    ASSERT_OK(
        core::WriteFileDurably(core::PosixFileSystem(), path, Reference()));
  }
  const auto text = core::PosixFileSystem().ReadFile(path, 1 << 20);
  ASSERT_OK(text);
  EXPECT_EQ(*text, Reference())
      << "write it again: PENSTOCK_WRITE_METRICS=1 "
         "metric_reference_tests --gtest_filter='MetricReference*'";
}

TEST(MetricReferenceTest, EverySourceSaysWhatItMeasures) {
  core::Registry registry;
  RegisterBuiltinConnectors(registry, {});
  std::vector<std::string> told;
  for (const auto& [source, measures] : BuiltinSourceMeasures()) {
    told.push_back(source);
    EXPECT_FALSE(measures.empty()) << source;
  }
  EXPECT_EQ(told, registry.source_names());
}

// Each family of a scrape in which everything is other than 0.
template <class Metrics>
void ExpectAllListed(const Metrics& metrics) {
  const auto samples = metrics.Metrics();
  EXPECT_FALSE(samples.empty());
  for (const auto& sample : samples) {
    EXPECT_THAT(Reference(),
                HasSubstr("| `penstock_source_" + sample.name + "` | "));
  }
}

TEST(MetricReferenceTest, WhatFilesShowIsListedThoughItIsRare) {
  core::FileMetrics metrics;
  metrics.files_waiting = 1;
  metrics.places_polled = 1;
  metrics.files_lost = 1;
  metrics.documents_passed = 1;
  EXPECT_EQ(metrics.Metrics().size(), core::FileMetrics::Measures().size());
  ExpectAllListed(metrics);
}

TEST(MetricReferenceTest, WhatIsPipedInShowsWhatIsListed) {
  core::StreamMetrics metrics;
  metrics.documents_passed = 1;
  ExpectAllListed(metrics);
}

TEST(MetricReferenceTest, WhatKafkaShowsIsListed) {
  ExpectAllListed(core::KafkaMetrics());
}

TEST(ProcessUsageTest, KernelCounts) {
  const ProcessUsage usage = ReadProcessUsage(core::PosixFileSystem());
  EXPECT_GT(usage.cpu_seconds, 0);
  EXPECT_GT(usage.resident_bytes, 1'000'000U);
  EXPECT_GE(usage.open_files, 3U);
  EXPECT_GE(usage.open_files_max, usage.open_files);
  EXPECT_GE(usage.threads, 1U);
}

}  // namespace
}  // namespace penstock::server
