#include "server/admin/worker_metrics.h"

#include "core/base/filesystem.h"
#include "core/base/memory.h"
#include "core/kafka/kafka_reaper.h"
#include "server/admin/connector_metrics.h"
#include "server/admin/exposition.h"
#include "server/admin/metric_row.h"
#include "server/admin/source_metrics.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>
#include <absl/strings/strip.h>

#include <sys/resource.h>
#include <utility>
#include <vector>

namespace penstock::server {
namespace {

using core::ConnectorStatus;
using Type = Exposition::Type;

// All that one number is made of.
struct View {
  const Dispatcher& dispatcher;
  const WorkerFacts& facts;
  size_t connectors;
};

struct Field {
  const char* name;
  const char* help;
  Type type;
  double (*value)(const View&);
};

constexpr double Number(uint64_t value) { return static_cast<double>(value); }

constexpr char kLeftOutName[] = "penstock_metrics_families_left_out";
constexpr char kLeftOutHelp[] =
    "Families that this scrape had no room for (--metrics-bytes-max).";
// What that family itself may take.
constexpr size_t kLeftOutBytesMax = 256;

const Field kFields[] = {
    {"penstock_uptime_seconds", "Since the process started.", Type::kGauge,
     [](const View& v) {
       return absl::ToDoubleSeconds(v.facts.now - v.facts.started);
     }},
    {"penstock_process_start_time_seconds",
     "When the process started, since 1970.", Type::kGauge,
     [](const View& v) {
       return absl::ToDoubleSeconds(v.facts.started - absl::UnixEpoch());
     }},
    {"penstock_process_cpu_seconds_total", "Processor time of the process.",
     Type::kCounter, [](const View& v) { return v.facts.usage.cpu_seconds; }},
    {"penstock_resident_memory_bytes", "Memory of the process.", Type::kGauge,
     [](const View& v) { return Number(v.facts.usage.resident_bytes); }},
    {"penstock_process_open_fds", "Open file descriptors.", Type::kGauge,
     [](const View& v) { return Number(v.facts.usage.open_files); }},
    {"penstock_process_max_fds", "Most file descriptors it may open.",
     Type::kGauge,
     [](const View& v) { return Number(v.facts.usage.open_files_max); }},
    {"penstock_process_threads", "Threads of the process.", Type::kGauge,
     [](const View& v) { return Number(v.facts.usage.threads); }},
    {"penstock_memory_max_bytes", "Sum of memory_max it accepts.", Type::kGauge,
     [](const View& v) { return Number(v.dispatcher.memory_max()); }},
    {"penstock_memory_committed_bytes",
     "Sum of memory_max of the open connectors.", Type::kGauge,
     [](const View& v) { return Number(v.dispatcher.memory_committed()); }},
    {"penstock_connectors", "Open connectors.", Type::kGauge,
     [](const View& v) { return Number(v.connectors); }},
    {"penstock_open_failures_total",
     "Opens of connectors that failed, or were refused for want of memory or "
     "places.",
     Type::kCounter,
     [](const View& v) { return Number(v.dispatcher.failures().opens); }},
    {"penstock_connector_failures_total",
     "Connectors that failed for good, perhaps while they opened, of all that "
     "there were.",
     Type::kCounter,
     [](const View& v) { return Number(v.dispatcher.failures().connectors); }},
    {"penstock_grpc_connections", "Connections to the gRPC port.", Type::kGauge,
     [](const View& v) { return Number(v.facts.clients.open); }},
    {"penstock_grpc_connections_max", "Most connections to it.", Type::kGauge,
     [](const View& v) { return Number(v.facts.clients.open_max); }},
    {"penstock_grpc_connections_refused_total",
     "Connections to it that were refused, as there were too many.",
     Type::kCounter,
     [](const View& v) { return Number(v.facts.clients.refused); }},
    {"penstock_admin_connections", "Connections to the admin port.",
     Type::kGauge,
     [](const View& v) { return Number(v.facts.admin_clients.open); }},
    {"penstock_admin_connections_cut_off_total",
     "Connections to it that ended before an answer: too slow, or too many.",
     Type::kCounter,
     [](const View& v) { return Number(v.facts.admin_clients.cut_off); }},
    {"penstock_kafka_stuck_clients",
     "Clients of librdkafka that nobody uses and that have not ended for five "
     "minutes.",
     Type::kGauge,
     [](const View&) { return Number(core::KafkaReaper::Shared().Stuck()); }},
    {"penstock_draining", "1 while the worker drains.", Type::kGauge,
     [](const View& v) { return v.dispatcher.draining() ? 1.0 : 0.0; }},
};

constexpr char kBuildName[] = "penstock_build_info";
constexpr char kBuildHelp[] = "Always 1; labels tell the version.";
constexpr char kCertificateName[] = "penstock_tls_certificate_end_seconds";
constexpr char kCertificateHelp[] =
    "When the certificate of the gRPC port runs out, since 1970; absent "
    "without TLS.";
constexpr char kTlsFilesName[] = "penstock_tls_files_usable";
constexpr char kTlsFilesHelp[] =
    "1 if certificate, key and authorities of the gRPC port, as they lie in "
    "their files, can be used; 0: new connections may fail. Absent without "
    "TLS.";

// A distribution over everything that the process has done.
struct TimingHistogram {
  const char* name;
  const char* help;
  // One series for each.
  struct Series {
    const char* kind;
    core::Timing timing;
  };
  Series series[2];
};

const TimingHistogram kTimings[] = {
    {"penstock_step_duration_seconds",
     "From the request to the source until the step is made: read, hashed, "
     "routed, encoded.",
     {{"queue", core::Timing::kQueuedStep},
      {"replay", core::Timing::kReplayedStep}}},
    {"penstock_open_to_step_duration_seconds",
     "From Open until the first new step, waiting for data included: of a "
     "connector that begins (first), and of one that goes on (failover).",
     {{"first", core::Timing::kFirstOpen},
      {"failover", core::Timing::kFailOver}}},
    {"penstock_drain_duration_seconds",
     "From Drain until a connector is closed: by its controller (connector), "
     "or "
     "with its worker (worker).",
     {{"connector", core::Timing::kConnectorDrain},
      {"worker", core::Timing::kWorkerDrain}}},
};

void AddTimings(const core::Timings& timings, Exposition& to) {
  for (const TimingHistogram& shown : kTimings) {
    to.Family(shown.name, shown.help, Type::kHistogram);
    for (const auto& [kind, timing] : shown.series) {
      const core::Histogram histogram = timings.Of(timing);
      const core::Histogram* const parts[] = {&histogram};
      to.Histogram({{"kind", kind}}, parts, histogram.bounds());
    }
  }
}

std::vector<SourceMetrics> FindSourceMetrics(
    const Dispatcher& dispatcher, const std::vector<ConnectorStatus>& all) {
  std::vector<SourceMetrics> found;
  for (const ConnectorStatus& status : all) {
    const auto connector = dispatcher.Find(status.name);
    if (connector == nullptr) continue;
    auto metrics = connector->CustomMetrics();
    if (metrics == nullptr) continue;
    found.push_back({status.name, std::move(metrics)});
  }
  return found;
}

std::vector<ConnectorParseErrors> FindParseErrors(
    const Dispatcher& dispatcher, const std::vector<ConnectorStatus>& all) {
  std::vector<ConnectorParseErrors> found;
  for (const ConnectorStatus& status : all) {
    if (status.parse_errors == 0) continue;
    const auto connector = dispatcher.Find(status.name);
    if (connector == nullptr) continue;
    found.push_back({status.name, connector->ParseErrors()});
  }
  return found;
}

std::vector<MetricRow> WorkerMetricRows() {
  std::vector<MetricRow> rows = {
      {kBuildName, Type::kGauge, "version", kBuildHelp},
      {kCertificateName, Type::kGauge, "", kCertificateHelp},
      {kTlsFilesName, Type::kGauge, "", kTlsFilesHelp},
      {kLeftOutName, Type::kGauge, "", kLeftOutHelp}};
  for (const Field& field : kFields) {
    rows.push_back({field.name, field.type, "", field.help});
  }
  for (const TimingHistogram& shown : kTimings) {
    rows.push_back({shown.name, Type::kHistogram, "kind", shown.help});
  }
  return rows;
}

void AddTls(const TlsFilesState& files, Exposition& to) {
  if (files.certificate_end.has_value()) {
    to.Family(kCertificateName, kCertificateHelp, Type::kGauge);
    to.Sample(
        {}, absl::ToDoubleSeconds(*files.certificate_end - absl::UnixEpoch()));
  }
  to.Family(kTlsFilesName, kTlsFilesHelp, Type::kGauge);
  to.Sample({}, files.usable ? 1 : 0);
}

void AppendTable(const std::vector<MetricRow>& rows, std::string& to) {
  absl::StrAppend(&to,
                  "| metric | type | labels | what |\n|---|---|---|---|\n");
  for (const MetricRow& row : rows) {
    absl::StrAppend(&to, "| `", row.name, "` | ",
                    Exposition::TypeName(row.type), " | ", row.labels, " | ",
                    row.help, row.is_rare ? " Not shown while 0." : "", " |\n");
  }
}

void AppendSources(const SourceMeasures& sources, std::string& to) {
  for (const auto& [source, measures] : sources) {
    std::vector<std::string> names;
    for (const core::Measure& measure : measures) {
      names.push_back(SourceFamilyName(measure.name));
    }
    std::vector<MetricRow> rows;
    for (size_t i = 0; i < measures.size(); ++i) {
      rows.push_back({names[i], TypeOf(measures[i].kind), "connector",
                      measures[i].help, measures[i].is_rare});
    }
    absl::StrAppend(&to, "\n### Of `", source, "`\n\n");
    AppendTable(rows, to);
  }
}

}  // namespace

ProcessUsage ReadProcessUsage(core::FileSystem& files) {
  ProcessUsage usage;
  rusage times{};
  if (getrusage(RUSAGE_SELF, &times) == 0) {
    const auto seconds = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) +
             static_cast<double>(time.tv_usec) / 1e6;
    };
    usage.cpu_seconds = seconds(times.ru_utime) + seconds(times.ru_stime);
  }
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    usage.open_files_max = limit.rlim_cur;
  }
  usage.resident_bytes = core::ResidentBytes(files).value_or(0);
  if (const auto open = files.List("/proc/self/fd"); open.ok()) {
    usage.open_files = open->size();
  }
  if (const auto status = files.ReadFile("/proc/self/status", 1 << 16);
      status.ok()) {
    for (absl::string_view line : absl::StrSplit(*status, '\n')) {
      if (!absl::ConsumePrefix(&line, "Threads:")) continue;
      if (!absl::SimpleAtoi(line, &usage.threads)) usage.threads = 0;
    }
  }
  return usage;
}

std::string RenderMetrics(const Dispatcher& dispatcher,
                          const WorkerFacts& facts) {
  const std::vector<ConnectorStatus> statuses = dispatcher.Statuses();
  Exposition to(facts.metrics_bytes_max - kLeftOutBytesMax);
  to.Family(kBuildName, kBuildHelp, Type::kGauge);
  to.Sample({{"version", facts.version}}, 1);
  if (facts.tls_files.has_value()) AddTls(*facts.tls_files, to);
  const View view{dispatcher, facts, statuses.size()};
  for (const Field& field : kFields) {
    to.Family(field.name, field.help, field.type);
    to.Sample({}, field.value(view));
  }
  AddTimings(dispatcher.timings(), to);
  AddConnectorMetrics(statuses, to);
  AddParseErrors(FindParseErrors(dispatcher, statuses), to);
  AddSourceMetrics(FindSourceMetrics(dispatcher, statuses), to);
  AddConnectorDetails(statuses, to);
  Exposition last;
  last.Family(kLeftOutName, kLeftOutHelp, Type::kGauge);
  last.Sample({}, Number(to.CountLeftOut()));
  return std::move(to).Take() + std::move(last).Take();
}

std::string MetricReference(const SourceMeasures& sources) {
  std::string text =
      "# Metrics\n\n"
      "Made from the code by `tests/server/admin`, which fails when it differs "
      "and says how\nto write it again. Names begin with `penstock_`, units "
      "are base units (seconds, bytes).\nSeries of a connector end with it.\n"
      "\n## The worker\n\n";
  AppendTable(WorkerMetricRows(), text);
  absl::StrAppend(&text, "\n## Connectors and shards\n\n");
  AppendTable(ConnectorMetricRows(), text);
  absl::StrAppend(&text,
                  "\n## Sources\n\nWhat a source measures of itself, as "
                  "`penstock_source_NAME{connector}`: at most ",
                  kSourceSamplesMax, " for each\nconnector, ", kSourceNamesMax,
                  " names in all.\n\n");
  AppendTable(SourceMetricRows(), text);
  AppendSources(sources, text);
  return text;
}

}  // namespace penstock::server
