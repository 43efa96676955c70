#include "server/admin/exposition.h"

#include "core/handoff/histogram.h"
#include "server/admin/source_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <locale>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace penstock::server {
namespace {

using testing::HasSubstr;
using testing::Not;
using Type = Exposition::Type;

std::string NumberText(double value) {
  Exposition to;
  to.Family("g", "Help.", Type::kGauge);
  to.Sample({}, value);
  const std::string text = std::move(to).Take();
  return text.substr(text.rfind(' ') + 1);
}

TEST(ExpositionTest, FamilyHasItsHeadOnce) {
  Exposition to;
  to.Family("a_total", "Help.", Type::kCounter);
  to.Sample({{"connector", "x"}}, 1);
  to.Sample({{"connector", "y"}, {"shard", "0"}}, 2.5);
  EXPECT_EQ(std::move(to).Take(),
            "# HELP a_total Help.\n# TYPE a_total counter\n"
            "a_total{connector=\"x\"} 1\n"
            "a_total{connector=\"y\",shard=\"0\"} 2.5\n");
}

TEST(ExpositionTest, FamilyWithoutSamplesLeavesNoTrace) {
  Exposition to;
  to.Family("a", "Help.", Type::kGauge);
  to.Family("b", "Help.", Type::kGauge);
  to.Sample({}, 0);
  EXPECT_EQ(std::move(to).Take(), "# HELP b Help.\n# TYPE b gauge\nb 0\n");
}

// A raw quote makes Prometheus refuse the whole scrape.
TEST(ExpositionTest, B115LabelsAreEscapedAndValidUtf8) {
  Exposition to;
  to.Family("connector_records_total", "A \"b\" \\ c\nd.", Type::kCounter);
  to.Sample({{"path", "C:\\tmp\\\"x\"\nend"}}, 1);
  to.Sample({{"path", "caf\u00e9 {a=\"b\"}"}}, 1);
  EXPECT_EQ(std::move(to).Take(),
            "# HELP connector_records_total A \"b\" \\\\ c\\nd.\n"
            "# TYPE connector_records_total counter\n"
            "connector_records_total{path=\"C:\\\\tmp\\\\\\\"x\\\"\\nend\"} 1\n"
            "connector_records_total{path=\"caf\u00e9 {a=\\\"b\\\"}\"} 1\n");
  Exposition bytes;
  bytes.Family("g", "Help.", Type::kGauge);
  bytes.Sample({{"path", "log-\xff-name"}}, 1);
  EXPECT_THAT(std::move(bytes).Take(),
              HasSubstr("\ng{path=\"log-\ufffd-name\"} 1\n"));
}

class CommaForPoint final : public std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

TEST(ExpositionTest, B118NumbersDoNotFollowTheLocale) {
  const std::locale before = std::locale::global(
      std::locale(std::locale::classic(), new CommaForPoint));
  Exposition to;
  to.Family("g", "Help.", Type::kGauge);
  to.Sample({}, 1234.5);
  const std::string text = std::move(to).Take();
  std::locale::global(before);
  EXPECT_EQ(text, "# HELP g Help.\n# TYPE g gauge\ng 1234.5\n");
}

TEST(ExpositionTest, NumbersAreWhatPrometheusReads) {
  EXPECT_EQ(NumberText(0), "0\n");
  EXPECT_EQ(NumberText(1'000'000), "1000000\n");
  EXPECT_EQ(NumberText(9'007'199'254'740'992), "9007199254740992\n");
  EXPECT_EQ(NumberText(0.1), "0.1\n");
  EXPECT_EQ(NumberText(-3), "-3\n");
  EXPECT_EQ(NumberText(std::numeric_limits<double>::infinity()), "+Inf\n");
  EXPECT_EQ(NumberText(-std::numeric_limits<double>::infinity()), "-Inf\n");
  EXPECT_EQ(NumberText(std::numeric_limits<double>::quiet_NaN()), "Nan\n");
}

TEST(ExpositionTest, HistogramsOfShardsAreAddedAndTheirBucketsMerged) {
  static constexpr double kOwn[] = {1, 2, 5, 10};
  static constexpr double kShown[] = {2, 10};
  core::Histogram one(kOwn);
  core::Histogram two(kOwn);
  one.Record(0.5);
  one.Record(2);
  one.Record(100);
  two.Record(7);
  const core::Histogram* const parts[] = {&one, &two};
  Exposition to;
  to.Family("h", "Help.", Type::kHistogram);
  to.Histogram({{"connector", "x"}}, parts, kShown);
  EXPECT_EQ(std::move(to).Take(),
            "# HELP h Help.\n# TYPE h histogram\n"
            "h_count{connector=\"x\"} 4\n"
            "h_sum{connector=\"x\"} 109.5\n"
            "h_bucket{connector=\"x\",le=\"2\"} 2\n"
            "h_bucket{connector=\"x\",le=\"10\"} 3\n"
            "h_bucket{connector=\"x\",le=\"+Inf\"} 4\n");
}

class FixedMetrics final : public core::ConnectorMetrics {
 public:
  explicit FixedMetrics(std::vector<Sample> samples)
      : samples_(std::move(samples)) {}
  std::vector<Sample> Metrics() const override { return samples_; }

 private:
  const std::vector<Sample> samples_;
};

std::string Render(const std::vector<SourceMetrics>& sources) {
  Exposition to;
  AddSourceMetrics(sources, to);
  return std::move(to).Take();
}

TEST(SourceMetricsTest, AreShownWithTheirConnector) {
  const auto metrics = std::make_shared<FixedMetrics>(
      std::vector<core::ConnectorMetrics::Sample>{
          {.name = "lag", .help = "Two\nlines.", .value = 3}});
  const std::string text = Render({{"a", metrics}, {"b", metrics}});
  EXPECT_THAT(text, HasSubstr("# HELP penstock_source_lag Two\\nlines.\n"
                              "# TYPE penstock_source_lag gauge\n"
                              "penstock_source_lag{connector=\"a\"} 3\n"
                              "penstock_source_lag{connector=\"b\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("\npenstock_source_metrics_left_out 0\n"));
}

TEST(SourceMetricsTest, BadNamesAndRepeatsAreLeftOutAndCounted) {
  const auto metrics = std::make_shared<FixedMetrics>(
      std::vector<core::ConnectorMetrics::Sample>{
          {.name = "a b", .value = 1},
          {.name = "", .value = 1},
          {.name = "Upper", .value = 1},
          {.name = "good", .value = 1},
          {.name = "good", .value = 2}});
  const std::string text = Render({{"a", metrics}});
  EXPECT_THAT(text, HasSubstr("penstock_source_good{connector=\"a\"} 1\n"));
  EXPECT_THAT(text, Not(HasSubstr("} 2\n")));
  EXPECT_THAT(text, HasSubstr("\npenstock_source_metrics_left_out 4\n"));
}

TEST(SourceMetricsTest, NamesAreBoundedForAConnectorAndForAll) {
  std::vector<SourceMetrics> sources;
  for (int i = 0; i < 3; ++i) {
    std::vector<core::ConnectorMetrics::Sample> samples;
    for (int j = 0; j < 40; ++j) {
      samples.push_back({.name = "m" + std::to_string(i * 40 + j)});
    }
    sources.push_back({"c" + std::to_string(i),
                       std::make_shared<FixedMetrics>(std::move(samples))});
  }
  // 32 of the first two each, none of the third.
  EXPECT_THAT(Render(sources),
              HasSubstr("\npenstock_source_metrics_left_out 56\n"));
}

}  // namespace
}  // namespace penstock::server
