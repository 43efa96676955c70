// What the metrics show of a connector that is in trouble. That they are there
// at all tests/integration/admin_test.cc shows.
#include "server/admin/worker_metrics.h"

#include "core/contract/sink_error.h"
#include "core/sinks/dead_letter_file/dead_letter_file.h"
#include "server/admin/connector_metrics.h"
#include "server/dispatch/dispatcher.h"
#include "server/dispatch/fence_store.h"
#include "tests/core/connector/harness.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/string_view.h>
#include <absl/time/time.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace penstock::server {
namespace {

using core::Answer;
using core::FakeDatabase;
using core::Step;

// One connector with one shard, by itself in a dispatcher over fakes.
class ConnectorMetricsTest : public testing::Test {
 protected:
  ConnectorMetricsTest() : harness_({}, {.tells_rows_apart = true}) {
    harness_.registry.RegisterDeadLetter("file", core::MakeDeadLetterFile);
    core::ConnectorSpec& spec = harness_.request.spec;
    spec.shards = 1;
    spec.delivery.retry.jitter = 0;
    auto dispatcher = Dispatcher::Create(
        {.memory_max = uint64_t{4} << 30},
        core::ConnectorRuntime{
            .executor = harness_.executor,
            .io = harness_.executor,
            .environment = {.files = harness_.files(),
                            .io = harness_.executor,
                            .clock = harness_.executor.clock(),
                            .paths = paths_},
            .registry = harness_.registry,
            .random_seed = 0},
        MakeFileFenceStore(harness_.files(), "/state"), nullptr);
    EXPECT_OK(dispatcher.status());
    dispatcher_ = *std::move(dispatcher);
  }

  core::ConnectorSpec& spec() { return harness_.request.spec; }
  core::CommandHeader Header() {
    core::CommandHeader header;
    header.fence = harness_.request.fence;
    header.ref = {.connector = "connector", .instance = instance_};
    return header;
  }
  void Open() {
    harness_.request.fence.controller_id = "c";
    harness_.request.fence.epoch = 1;
    harness_.request.fence.nonce = "nonce-of-a-test";
    harness_.request.writer = {.epoch = 1, .open_number = ++opens_};
    harness_.request.request_id = absl::StrCat("open-", opens_);
    Answer<core::OpenReply> opened;
    dispatcher_->Open(harness_.request, opened.Callback());
    harness_.RunUntilIdle();
    ASSERT_OK(opened.status());
    instance_ = opened->instance;
    Answer<core::Nothing> extended;
    dispatcher_->Extend(Header(), extended.Callback());
    harness_.RunUntilIdle();
    ASSERT_OK(extended.status());
  }
  void Delete() {
    core::CommandHeader header = Header();
    header.request_id = absl::StrCat("delete-", opens_);
    Answer<core::DisconnectReply> deleted;
    dispatcher_->Delete(std::move(header), {}, deleted.Callback());
    harness_.RunUntilIdle();
    ASSERT_OK(deleted.status());
  }
  // Makes a step of `records` and releases it.
  void RunStep(Step step, const std::vector<std::string>& records) {
    harness_.source.Append(0, records);
    core::QueueRequest request;
    request.step = step;
    request.previous_steps = step;
    Answer<core::QueueReply> queued;
    dispatcher_->Queue(Header(), request, queued.Callback());
    harness_.RunUntilIdle();
    ASSERT_OK(queued.status());
    ASSERT_NE(queued->result, nullptr);
    core::CommandHeader header = Header();
    header.released_steps = step + 1;
    Answer<core::Nothing> released;
    dispatcher_->Release(std::move(header), released.Callback());
    harness_.RunUntilIdle();
    ASSERT_OK(released.status());
  }

  std::string Metrics() {
    const absl::Time now = harness_.executor.clock().Now();
    return RenderMetrics(*dispatcher_,
                         {.version = "test", .started = now, .now = now});
  }
  // nullopt: there is no such series.
  static std::optional<double> ValueIn(const std::string& metrics,
                                       const std::string& series) {
    const size_t at = metrics.find("\n" + series + " ");
    if (at == std::string::npos) return std::nullopt;
    return std::stod(metrics.substr(at + series.size() + 2));
  }
  std::optional<double> Value(const std::string& name) {
    return ValueIn(Metrics(), name + "{connector=\"connector\"}");
  }
  std::optional<double> ShardValue(const std::string& name) {
    return ValueIn(Metrics(), name + "{connector=\"connector\",shard=\"0\"}");
  }

  core::Harness harness_;
  const core::PathPolicy paths_{std::vector<std::string>()};
  std::unique_ptr<Dispatcher> dispatcher_;
  std::string instance_;
  uint64_t opens_ = 0;
};

TEST_F(ConnectorMetricsTest, RetriesAreCounted) {
  spec().delivery.retry.initial = absl::Milliseconds(100);
  spec().delivery.retry.max = absl::Milliseconds(100);
  Open();
  harness_.Unreachable();
  RunStep(0, {"a"});
  harness_.Advance(absl::Milliseconds(200));
  EXPECT_EQ(ShardValue("penstock_shard_retries_total"), 3);
  EXPECT_EQ(ShardValue("penstock_shard_writes_in_flight"), 1);
  EXPECT_EQ(ShardValue("penstock_shard_rows_written_total"), 0);
  harness_.Reachable();
  harness_.Advance(absl::Milliseconds(100));
  EXPECT_EQ(ShardValue("penstock_shard_retries_total"), 3);
  EXPECT_EQ(ShardValue("penstock_shard_writes_in_flight"), 0);
  EXPECT_EQ(ShardValue("penstock_shard_rows_written_total"), 1);
}

TEST_F(ConnectorMetricsTest, AnOpenBreakerIsShown) {
  spec().delivery.retry.initial = absl::Milliseconds(1);
  spec().delivery.retry.max = absl::Milliseconds(1);
  spec().delivery.breaker = {.consecutive_failures_max = 2,
                             .probe_interval = absl::Seconds(5)};
  Open();
  EXPECT_EQ(Value("penstock_sink_breaker_state"), std::nullopt);
  EXPECT_EQ(Value("penstock_sink_breaker_opens_total"), std::nullopt);
  harness_.Unreachable();
  RunStep(0, {"a"});
  harness_.Advance(absl::Milliseconds(2));
  EXPECT_EQ(Value("penstock_sink_breaker_state"), 1);
  EXPECT_EQ(Value("penstock_sink_breaker_opens_total"), 1);
  // A probe, which fails.
  harness_.Advance(absl::Seconds(5));
  EXPECT_EQ(Value("penstock_sink_breaker_state"), 1);
  EXPECT_EQ(Value("penstock_sink_breaker_opens_total"), 2);
  harness_.Reachable();
  harness_.Advance(absl::Seconds(5));
  EXPECT_EQ(Value("penstock_sink_breaker_state"), std::nullopt);
  EXPECT_EQ(Value("penstock_sink_breaker_opens_total"), 2);
}

TEST_F(ConnectorMetricsTest, AWriteThatDoesNotReturnIsOverdue) {
  spec().delivery.write_deadline = absl::Seconds(7);
  Open();
  bool looked = false;
  // It hangs while the rest of the world goes on.
  harness_.database.SetHook([&](const FakeDatabase::Call& call)
                                -> std::optional<FakeDatabase::Fault> {
    if (call.operation != FakeDatabase::Operation::kBatchEnd || looked) {
      return std::nullopt;
    }
    looked = true;
    harness_.Advance(absl::Seconds(7));
    const std::string metrics = Metrics();
    EXPECT_EQ(ShardValue("penstock_shard_writes_overdue"), 1);
    EXPECT_EQ(ShardValue("penstock_shard_write_deadlines_total"), 1);
    EXPECT_EQ(ValueIn(metrics,
                      "penstock_connector_state{connector=\"connector\","
                      "state=\"RUNNING\",condition=\"degraded\"}"),
              1)
        << metrics;
    return std::nullopt;
  });
  RunStep(0, {"a"});
  EXPECT_TRUE(looked);
  EXPECT_EQ(ShardValue("penstock_shard_writes_overdue"), std::nullopt);
  EXPECT_EQ(ShardValue("penstock_shard_write_deadlines_total"), 1);
}

TEST_F(ConnectorMetricsTest, RefusedRowsAndTheirLettersAreCountedByShard) {
  auto letters = std::make_shared<core::DeadLetterFileConfig>();
  letters->path = "/dead";
  spec().dead_letter = letters;
  spec().on_refused_row = core::BadRecordPolicy::kSkip;
  harness_.database.SetJudge([](const std::vector<std::string>& /*present*/,
                                const std::vector<std::string>& added) {
    for (const std::string& row : added) {
      if (absl::StartsWith(row, "bad")) return core::MakeRowRefused("no");
    }
    return absl::OkStatus();
  });
  Open();
  RunStep(0, {"a", "bad", "unencodable", "b"});
  EXPECT_EQ(ShardValue("penstock_shard_rows_written_total"), 2);
  EXPECT_EQ(ShardValue("penstock_shard_refused_rows_total"), 1);
  EXPECT_EQ(ShardValue("penstock_shard_dead_letters_total"), 2);
  EXPECT_EQ(Value("penstock_sink_refused_records_total"), 1);
  EXPECT_EQ(Value("penstock_sink_skipped_records_total"), 1);
  EXPECT_EQ(Value("penstock_sink_dead_letters_total"), 2);
}

TEST_F(ConnectorMetricsTest, TheTimeThatTheSourceIsHeldBackIsCounted) {
  spec().limits.inflight_bytes_max = 1'000;
  spec().limits.inflight_high = 0.5;
  spec().limits.inflight_low = 0.4;
  spec().limits.chunk_bytes = 100;
  spec().delivery.retry.initial = absl::Seconds(1);
  spec().delivery.retry.max = absl::Seconds(1);
  Open();
  harness_.Unreachable();
  for (Step step = 0; step < 3; ++step) {
    RunStep(step, {std::string(190, 'x')});
  }
  harness_.Advance(absl::Milliseconds(2'500));
  EXPECT_EQ(Value("penstock_inflight_pauses_total"), 1);
  EXPECT_EQ(Value("penstock_inflight_paused_seconds_total"), 2.5);
  harness_.Reachable();
  harness_.Advance(absl::Seconds(60));
  EXPECT_EQ(Value("penstock_inflight_pauses_total"), 1);
  EXPECT_EQ(Value("penstock_inflight_paused_seconds_total"), 3);
}

// A gauge is read from the queue itself: it cannot drift.
TEST_F(ConnectorMetricsTest, B117GaugesAreWhatIsThereAndNothingInTheEnd) {
  Open();
  harness_.Unreachable();
  harness_.source.Append(0, {"a", "b", "c"});
  harness_.RunUntilIdle();
  EXPECT_EQ(Value("penstock_queued_records"), 3);
  RunStep(0, {"d"});
  EXPECT_EQ(Value("penstock_queued_records"), 0);
  EXPECT_GT(*Value("penstock_inflight_bytes"), 0);
  EXPECT_GT(*ShardValue("penstock_shard_held_bytes"), 0);
  harness_.Reachable();
  harness_.Advance(absl::Minutes(1));
  for (const char* gauge :
       {"penstock_queued_records", "penstock_queued_bytes",
        "penstock_inflight_bytes", "penstock_retained_bytes"}) {
    EXPECT_EQ(Value(gauge), 0) << gauge;
  }
  for (const char* gauge :
       {"penstock_shard_queue_chunks", "penstock_shard_held_bytes",
        "penstock_shard_writes_in_flight"}) {
    EXPECT_EQ(ShardValue(gauge), 0) << gauge;
  }
  EXPECT_EQ(ShardValue("penstock_shard_parked_chunks"), std::nullopt);
}

// A life counts from 0, whatever the one before counted; and what is called a
// total is a counter, and nothing else is.
TEST_F(ConnectorMetricsTest, B120CountersBeginAtZeroInEachLife) {
  Open();
  RunStep(0, {"a", "unencodable"});
  EXPECT_EQ(Value("penstock_source_records_total"), 2);
  Delete();
  harness_.request.first_open = false;
  harness_.request.journaled_steps = 1;
  Open();
  EXPECT_EQ(Value("penstock_source_records_total"),
            Value("penstock_queued_records"));
  const std::string metrics = Metrics();
  for (const MetricRow& row : ConnectorMetricRows()) {
    const bool is_total = absl::EndsWith(row.name, "_total");
    EXPECT_EQ(row.type == Exposition::Type::kCounter, is_total) << row.name;
    if (!is_total || row.labels != "connector") continue;
    // What the source has read again by now is staged.
    if (absl::StartsWith(row.name, "penstock_source_")) continue;
    const auto value =
        ValueIn(metrics, absl::StrCat(row.name, "{connector=\"connector\"}"));
    EXPECT_EQ(value, row.is_rare ? std::nullopt : std::optional<double>(0))
        << row.name;
  }
}

// Whatever is lost, skipped or refused is counted, and nothing is counted away.
TEST_F(ConnectorMetricsTest, B121NoRecordIsMissingInTheCounts) {
  spec().on_refused_row = core::BadRecordPolicy::kSkip;
  harness_.database.SetJudge([](const std::vector<std::string>& /*present*/,
                                const std::vector<std::string>& added) {
    for (const std::string& row : added) {
      if (absl::StartsWith(row, "bad")) return core::MakeRowRefused("no");
    }
    return absl::OkStatus();
  });
  Open();
  for (Step step = 0; step < 3; ++step) {
    RunStep(step, {"a", "bad", "unencodable", "b"});
    harness_.source.Append(0, {"later"});
    harness_.RunUntilIdle();
    const double read = *Value("penstock_source_records_total");
    const double made = *Value("penstock_extended_records_total");
    EXPECT_EQ(read, made + *Value("penstock_queued_records"));
    EXPECT_EQ(made,
              *Value("penstock_sink_records_total") +
                  *Value("penstock_sink_skipped_records_total") +
                  Value("penstock_sink_discarded_records_total").value_or(0));
    EXPECT_EQ(*Value("penstock_sink_records_total"),
              *ShardValue("penstock_shard_rows_written_total") +
                  *Value("penstock_sink_refused_records_total"));
  }
  EXPECT_EQ(Value("penstock_sink_skipped_records_total"), 3);
  EXPECT_EQ(Value("penstock_sink_refused_records_total"), 3);
}

TEST_F(ConnectorMetricsTest, BadRecordsAreCountedByReason) {
  const auto value = [this](absl::string_view reason) {
    return ValueIn(Metrics(),
                   absl::StrCat("penstock_source_parse_errors_total{connector="
                                "\"connector\",reason=\"",
                                reason, "\"}"));
  };
  const auto report = [this](const std::string& tag, size_t count) {
    core::ParseError error;
    error.tag = tag;
    harness_.source.ReportParseErrors(
        std::vector<core::ParseError>(count, error));
  };
  Open();
  EXPECT_FALSE(absl::StrContains(Metrics(), "parse_errors_total{"));
  // More than are kept as samples.
  report("syntax", 5000);
  report("too_deep", 2);
  report("syntax", 1);
  harness_.RunUntilIdle();
  EXPECT_EQ(value("syntax"), 5001);
  EXPECT_EQ(value("too_deep"), 2);
  EXPECT_EQ(value("other"), std::nullopt);
  for (int i = 0; i < 100; ++i) report(absl::StrCat("tag_", i), 1);
  report("", 1);
  report("too_deep", 1);
  harness_.RunUntilIdle();
  EXPECT_EQ(value("too_deep"), 3);
  EXPECT_EQ(value("tag_13"), 1);
  EXPECT_EQ(value("tag_14"), std::nullopt);
  EXPECT_EQ(value("other"), 87);
}

TEST_F(ConnectorMetricsTest, WhatHasNoRoomIsLeftOutWholeAndCounted) {
  Open();
  const std::string all = Metrics();
  EXPECT_EQ(ValueIn(all, "penstock_metrics_families_left_out"), 0);
  const absl::Time now = harness_.executor.clock().Now();
  const size_t bytes_max = all.size() / 2;
  const std::string cut =
      RenderMetrics(*dispatcher_, {.version = "test",
                                   .started = now,
                                   .now = now,
                                   .metrics_bytes_max = bytes_max});
  EXPECT_LE(cut.size(), bytes_max);
  EXPECT_GT(ValueIn(cut, "penstock_metrics_families_left_out"), 0);
  // What alerts need is told before what plots need.
  EXPECT_THAT(cut, testing::HasSubstr("\npenstock_connector_state{"));
  EXPECT_THAT(cut, testing::Not(testing::HasSubstr(
                       "\npenstock_end_to_end_duration_seconds")));
}

TEST_F(ConnectorMetricsTest, AThousandLivesLeaveNoSeries) {
  const std::string before = Metrics();
  for (int i = 0; i < 1000; ++i) {
    Open();
    Delete();
  }
  EXPECT_EQ(Metrics(), before);
}

}  // namespace
}  // namespace penstock::server
