#include "tests/simulation/plan.h"

#include "core/base/check.h"
#include "core/base/checksum.h"
#include "core/connector/route_config.h"
#include "core/format/ndjson/config.h"
#include "core/handoff/router.h"
#include "core/record/key_hash.h"
#include "core/sinks/dead_letter_file/config.h"
#include "core/sinks/file/config.h"
#include "core/sources/file/config.h"
#include "core/sources/file/file_position.h"
#include "tests/support/fake_named_config.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <utility>

namespace penstock::simulation {
namespace {

// `low` to `high`, both inclusive.
uint64_t Draw(core::Random& random, uint64_t low, uint64_t high) {
  return low + random.Uniform(high - low + 1);
}

// A fault is there in every other seed. Then it comes as often as every `least`
// or a hundred times as seldom; the probability is that of one moment.
double DrawRate(core::Random& random, absl::Duration least) {
  if (random.Bernoulli(0.5)) return 0;
  return absl::FDivDuration(kMoment, least) / std::pow(100, random.Double());
}

std::vector<std::string> DrawRecords(core::Random& random, bool may_tamper) {
  uint64_t count = random.Bernoulli(0.05) ? 0 : Draw(random, 1, 400);
  const uint64_t keys = Draw(random, 1, 20);
  std::vector<std::string> records;
  if (may_tamper) {
    // By its first bytes a source would know that it is another file.
    const std::string pad(core::FileFingerprint::kBytesMax, 'x');
    records.push_back("{\"p\":\"" + pad + "\"}");
    count = std::max<uint64_t>(count, 100);
  }
  for (uint64_t i = 0; i < count; ++i) {
    // Equal neighbours occur; some are long; some have no key.
    const std::string pad(
        random.Bernoulli(0.02) ? Draw(random, 100, 900) : Draw(random, 0, 20),
        'x');
    const std::string id = random.Bernoulli(0.1) ? "0" : absl::StrCat(i);
    records.push_back(random.Bernoulli(0.1)
                          ? absl::StrCat("{\"n\":", id, ",\"p\":\"", pad, "\"}")
                          : absl::StrCat("{\"k\":\"key", random.Uniform(keys),
                                         "\",\"n\":", id, ",\"p\":\"", pad,
                                         "\"}"));
  }
  return records;
}

// Half of the time files are as they are by default.
void DrawFileOptions(core::Random& random, core::FileSinkConfig& sink) {
  if (random.Bernoulli(0.5)) return;
  sink.segment_files = static_cast<uint32_t>(Draw(random, 1, 8));
  sink.roll.steps = Draw(random, 1, 10);
  if (random.Bernoulli(0.3)) sink.roll.bytes = Draw(random, 1, 2000);
  if (random.Bernoulli(0.3)) {
    sink.roll.interval = absl::Milliseconds(Draw(random, 1, 500));
  }
  if (random.Bernoulli(0.6)) sink.visibility = core::FileVisibility::kRename;
  if (random.Bernoulli(0.3)) sink.compression = core::Compression::kGzip;
}

core::ConnectorSpec DrawSpec(core::Random& random, bool file_sink) {
  core::ConnectorSpec spec;
  auto source = std::make_shared<core::FileSourceConfig>();
  source->block_bytes = Draw(random, 64, 2048);
  spec.source = source;
  auto format = std::make_shared<core::NdjsonConfig>();
  format->key = "k";
  spec.format = format;
  spec.route = std::make_shared<core::KeyHashRouteConfig>();
  if (file_sink) {
    auto sink = std::make_shared<core::FileSinkConfig>();
    sink->manifest_bytes_max = Draw(random, 256, 4096);
    // From that number, so that older seeds draw the rest as ever.
    core::Random options(sink->manifest_bytes_max);
    DrawFileOptions(options, *sink);
    spec.sink = sink;
  } else {
    spec.sink = std::make_shared<core::FakeNamedConfig>("fake");
  }
  spec.shards = static_cast<uint32_t>(Draw(random, 1, 4));
  spec.level = core::FtModel::kExactlyOnce;
  core::ConnectorLimits& limits = spec.limits;
  limits.block_bytes = source->block_bytes;
  limits.queued_bytes_max = Draw(random, 4096, 65536);
  limits.chunk_bytes = Draw(random, 32, 1024);
  limits.shard_queue_chunks = static_cast<uint32_t>(Draw(random, 1, 8));
  limits.inflight_bytes_max = Draw(random, 32768, 262144);
  limits.step_bytes = Draw(random, 64, random.Bernoulli(0.5) ? 256 : 4096);
  limits.step_bytes_max = 2 * limits.step_bytes;
  limits.step_linger = absl::Milliseconds(Draw(random, 1, 100));
  limits.steps_outstanding_max = static_cast<uint32_t>(Draw(random, 1, 64));
  return spec;
}

// `spec`, edited: always other limits, often more.
core::ConnectorSpec DrawEdit(core::Random& random,
                             const core::ConnectorSpec& spec) {
  core::ConnectorSpec edited = spec;
  core::ConnectorLimits& limits = edited.limits;
  limits.step_bytes = Draw(random, 64, 1024);
  limits.step_bytes_max = 2 * limits.step_bytes;
  limits.queued_bytes_max = Draw(random, 4096, 65536);
  limits.inflight_bytes_max = Draw(random, 32768, 262144);
  limits.steps_outstanding_max = static_cast<uint32_t>(Draw(random, 1, 64));
  if (random.Bernoulli(0.5)) {
    edited.shards = static_cast<uint32_t>(Draw(random, 1, 4));
  }
  if (random.Bernoulli(0.3)) limits.chunk_bytes = Draw(random, 32, 1024);
  if (random.Bernoulli(0.3)) {
    auto format = std::make_shared<core::NdjsonConfig>();
    format->key = "n";
    edited.format = format;
  }
  return edited;
}

// Puts lines that are no records anywhere, equal neighbours among them.
void AddMalformed(core::Random& random, Plan& plan) {
  const uint64_t count = Draw(random, 1, 1 + plan.records.size() / 4);
  for (uint64_t i = 0; i < count; ++i) {
    const std::string line = absl::StrCat(
        "malformed ", random.Uniform(count / 2 + 1),
        std::string(random.Bernoulli(0.1) ? Draw(random, 1, 900) : 0, 'x'));
    // By the first one a source knows its file.
    const uint64_t first = plan.faults.tamper > 0 ? 1 : 0;
    const uint64_t at = first + random.Uniform(plan.records.size() + 1 - first);
    plan.records.insert(plan.records.begin() + static_cast<std::ptrdiff_t>(at),
                        line);
  }
  auto letters = std::make_shared<core::DeadLetterFileConfig>();
  letters->file_bytes_max = Draw(random, 1, 4096);
  for (core::ConnectorSpec& spec : plan.specs) {
    if (spec.dead_letter == nullptr) spec.dead_letter = letters;
  }
}

std::string KeyOf(const core::ConnectorSpec& spec) {
  const auto& format = static_cast<const core::NdjsonConfig&>(*spec.format);
  return format.key.value_or("");
}

}  // namespace

Plan DrawPlan(uint64_t seed) {
  core::Random random(seed);
  Plan plan;
  plan.seed = seed;
  plan.faults.tamper = random.Bernoulli(0.25) ? 1 : 0;
  plan.records = DrawRecords(random, plan.faults.tamper > 0);
  plan.file_sink = random.Bernoulli(0.4);
  plan.separate_committer = random.Bernoulli(0.5);
  plan.specs.push_back(DrawSpec(random, plan.file_sink));
  plan.checkpoint_interval = random.Bernoulli(0.2)
                                 ? absl::ZeroDuration()
                                 : absl::Milliseconds(Draw(random, 20, 3000));
  plan.trouble = absl::Seconds(Draw(random, 5, 60));
  plan.delay_max = absl::Milliseconds(random.Bernoulli(0.5) ? 2 : 20);
  FaultRates& faults = plan.faults;
  faults.kill_worker = DrawRate(random, absl::Milliseconds(100));
  faults.kill_controller = DrawRate(random, absl::Milliseconds(100));
  faults.kill_both = DrawRate(random, absl::Milliseconds(200));
  faults.power_loss = DrawRate(random, absl::Milliseconds(200));
  faults.freeze_worker = DrawRate(random, absl::Milliseconds(200));
  faults.freeze_controller = DrawRate(random, absl::Milliseconds(200));
  faults.wake = DrawRate(random, absl::Milliseconds(50));
  faults.bad_network = DrawRate(random, absl::Milliseconds(200));
  faults.store_trouble = DrawRate(random, absl::Milliseconds(50));
  faults.target_trouble = DrawRate(random, absl::Milliseconds(50));
  // Last, so that seeds without edits are what they were before there were any.
  if (random.Bernoulli(0.4)) {
    faults.edit_spec = absl::FDivDuration(kMoment, absl::Milliseconds(300)) /
                       std::pow(10, random.Double());
    const uint64_t edits = Draw(random, 1, 3);
    for (uint64_t i = 0; i < edits; ++i) {
      plan.specs.push_back(DrawEdit(random, plan.specs.front()));
    }
  }
  // The same again: worlds without refused rows are what they were.
  if (!plan.file_sink && random.Bernoulli(0.5)) {
    plan.refused_share = std::pow(random.Double(), 3);
    plan.names_refused_rows = random.Bernoulli(0.5);
    auto letters = std::make_shared<core::DeadLetterFileConfig>();
    letters->file_bytes_max = Draw(random, 1, 4096);
    for (core::ConnectorSpec& spec : plan.specs) {
      spec.dead_letter = letters;
      spec.on_refused_row = core::BadRecordPolicy::kSkip;
      spec.refused_rows.ratio_max = 1;
    }
  }
  // And again.
  if (plan.faults.tamper == 0 && random.Bernoulli(0.5)) {
    AddMalformed(random, plan);
  }
  // At least once nothing is replayed, so nothing is noticed, and positions of
  // an edit's other steps mean nothing.
  if (!plan.file_sink && faults.tamper == 0 && plan.specs.size() == 1 &&
      random.Bernoulli(0.5)) {
    core::ConnectorSpec& spec = plan.specs.front();
    spec.level = core::FtModel::kAtLeastOnce;
    spec.delivery.batch_rows_max = Draw(random, 1, 100);
    spec.delivery.batch_bytes_max = Draw(random, 1, 4096);
    spec.delivery.batch_linger = absl::Milliseconds(Draw(random, 0, 100));
    spec.limits.chunk_age = absl::Milliseconds(Draw(random, 0, 100));
    if (!plan.separate_committer) {
      plan.writers_max = static_cast<uint32_t>(Draw(random, 1, 3));
    }
  }
  faults.full_disk = DrawRate(random, absl::Milliseconds(200));
  if (random.Bernoulli(0.5)) {
    plan.commit_delay_max = absl::Milliseconds(Draw(random, 1, 150));
    // Writes that are late count as failed ones, so that the breaker opens.
    core::DeliveryOptions delivery = plan.specs.front().delivery;
    delivery.write_deadline = absl::Milliseconds(Draw(random, 10, 150));
    delivery.breaker.probe_interval = absl::Milliseconds(Draw(random, 1, 200));
    for (core::ConnectorSpec& spec : plan.specs) spec.delivery = delivery;
  }
  if (faults.tamper > 0 && random.Bernoulli(0.5)) AddMalformed(random, plan);
  if (random.Bernoulli(0.25)) {
    plan.connectors = static_cast<uint32_t>(Draw(random, 2, 3));
  }
  if (plan.connectors > 1 && random.Bernoulli(0.7)) {
    plan.workers = static_cast<uint32_t>(Draw(random, 2, plan.connectors));
  }
  if (random.Bernoulli(plan.workers > 1 ? 0.5 : 0.1)) plan.addresses = 2;
  return plan;
}

Plan QuietPlan(uint64_t seed, bool file_sink, bool separate_committer) {
  core::Random random(1);
  Plan plan;
  plan.seed = seed;
  plan.file_sink = file_sink;
  plan.separate_committer = separate_committer;
  for (int i = 0; i < 200; ++i) {
    plan.records.push_back(
        absl::StrCat("{\"k\":\"key", random.Uniform(12), "\",\"n\":", i, "}"));
  }
  core::ConnectorSpec& spec =
      plan.specs.emplace_back(DrawSpec(random, file_sink));
  spec.shards = 3;
  core::ConnectorLimits& limits = spec.limits;
  limits = core::ConnectorLimits{};
  limits.chunk_bytes = 128;
  limits.shard_queue_chunks = 2;
  limits.step_bytes = 256;
  limits.step_bytes_max = 512;
  limits.step_linger = absl::Milliseconds(10);
  return plan;
}

uint32_t Plan::shards_max() const {
  uint32_t most = 0;
  for (const core::ConnectorSpec& spec : specs) {
    most = std::max(most, spec.shards);
  }
  return most;
}

std::string ConnectorName(uint32_t index) {
  return index == 0 ? kConnector : absl::StrCat(kConnector, "-", index);
}

std::string InputOf(const std::string& connector) {
  return absl::StrCat("/data/", connector, "/in.ndjson");
}

std::string DeadLettersOf(const std::string& connector) {
  return absl::StrCat("/data/", connector, "/dead");
}

core::ConnectorSpec SpecOf(const Plan& plan, size_t index,
                           const std::string& connector) {
  core::ConnectorSpec spec = plan.specs[index];
  spec.name = connector;
  auto source = std::make_shared<core::FileSourceConfig>(
      static_cast<const core::FileSourceConfig&>(*spec.source));
  source->path = InputOf(connector);
  spec.source = source;
  if (plan.file_sink) {
    auto sink = std::make_shared<core::FileSinkConfig>(
        static_cast<const core::FileSinkConfig&>(*spec.sink));
    sink->path = absl::StrCat("/data/", connector, "/out");
    spec.sink = sink;
  }
  if (spec.dead_letter != nullptr) {
    auto letters = std::make_shared<core::DeadLetterFileConfig>(
        static_cast<const core::DeadLetterFileConfig&>(*spec.dead_letter));
    letters->path = DeadLettersOf(connector);
    spec.dead_letter = letters;
  }
  return spec;
}

std::string SpecBytes(size_t index) { return absl::StrCat("spec ", index); }

size_t SpecIndex(const std::string& spec_bytes) {
  size_t index = 0;
  CHECK(absl::SimpleAtoi(spec_bytes.substr(5), &index)) << spec_bytes;
  return index;
}

bool MakesSameSteps(const core::ConnectorSpec& a,
                    const core::ConnectorSpec& b) {
  return a.shards == b.shards && a.limits.chunk_bytes == b.limits.chunk_bytes &&
         KeyOf(a) == KeyOf(b);
}

bool IsMalformed(const std::string& text) { return text.front() != '{'; }

bool IsRefused(const Plan& plan, const std::string& text) {
  constexpr uint64_t kWhole = 1'000'000;
  return core::Checksum64(text) % kWhole <
         static_cast<uint64_t>(plan.refused_share * kWhole);
}

core::ShardIndex ShardOf(const std::string& text,
                         const core::ConnectorSpec& spec) {
  core::Record record;
  record.value = text;
  // As NdjsonConfig::key finds it in the records that DrawRecords makes, whose
  // values are plain words and numbers.
  const std::string name = absl::StrCat("\"", KeyOf(spec), "\":");
  if (const size_t at = text.find(name); at != std::string::npos) {
    const size_t begin =
        text[at + name.size()] == '"' ? at + name.size() + 1 : at + name.size();
    const std::string key =
        text.substr(begin, text.find_first_of("\",}", begin) - begin);
    record.meta.has_key_hash = true;
    record.meta.key_hash = core::KeyHash(key);
  }
  return core::KeyHashRouter().Route(record, spec.shards);
}

std::string Tampered(const std::string& input, const core::StepResult& step,
                     core::Random& random) {
  const auto position =
      core::FilePosition::Parse(step.resume.seek().value_or(""));
  CHECK(position.ok()) << position.status();
  const uint64_t start = position->start;
  const uint64_t length = position->end - start;
  std::vector<std::string> lines =
      absl::StrSplit(input.substr(start, length), '\n', absl::SkipEmpty());
  // What stands in a line that is no record no hash would tell.
  std::vector<std::string*> records;
  for (std::string& line : lines) {
    if (!IsMalformed(line)) records.push_back(&line);
  }
  CHECK(!records.empty());
  std::string& line = *records[random.Uniform(records.size())];
  switch (random.Uniform(3)) {
    case 0:
      // A blank line is no record.
      line.assign(line.size(), ' ');
      break;
    case 1:
      if (*records.front() != *records.back()) {
        std::swap(*records.front(), *records.back());
        break;
      }
      [[fallthrough]];
    default: {
      // Still a record, with another number, key or text.
      char& byte = line[line.find_last_of("0123456789x")];
      byte = byte == '7' ? '8' : '7';
    }
  }
  // Where the next step begins, it still does.
  return absl::StrCat(input.substr(0, start), absl::StrJoin(lines, "\n"), "\n",
                      input.substr(start + length));
}

}  // namespace penstock::simulation
