// Parsers and encoders over 64 MiB of log records, in blocks of 1 MiB: from
// bytes in memory to batches. Beside them what simdjson itself reaches.
#include "core/base/check.h"
#include "core/contract/frame_buffer.h"
#include "core/contract/parser.h"
#include "core/format/json/json_format.h"
#include "core/format/line_encoder.h"
#include "core/format/line_splitter.h"
#include "core/format/msgpack/msgpack_encoder.h"
#include "core/format/msgpack/msgpack_format.h"
#include "core/format/ndjson/ndjson_format.h"
#include "core/format/raw/raw_format.h"
#include "core/record/block.h"
#include "tests/bench/corpus.h"

#include <absl/strings/string_view.h>
#include <benchmark/benchmark.h>
#include <simdjson.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

constexpr size_t kBlockBytes = size_t{1} << 20;

const std::string& Corpus() {
  static const std::string& corpus =
      *new std::string(MakeNdjsonCorpus(CorpusBytes(), 42));
  return corpus;
}

// The corpus with one line in `good_lines` + 1 broken.
std::string DamagedCorpus(size_t good_lines) {
  std::string text = Corpus();
  size_t at = 0;
  for (size_t line = 0; at != std::string::npos && at < text.size(); ++line) {
    if (line % (good_lines + 1) == good_lines) text[at + 1] = 'x';
    at = text.find('\n', at);
    if (at != std::string::npos) ++at;
  }
  return text;
}

// As a file source cuts it.
std::vector<Fragment> MakeFragments(absl::string_view text,
                                    Splitter& splitter) {
  std::vector<Fragment> fragments;
  size_t at = 0;
  while (at < text.size()) {
    auto block = std::make_shared<Block>(kBlockBytes);
    const size_t size = std::min(kBlockBytes, text.size() - at);
    std::memcpy(block->data(), text.data() + at, size);
    splitter.Clear();
    const size_t end = *splitter.Input({block->data(), size});
    fragments.push_back({.block = std::move(block),
                         .begin = 0,
                         .size = static_cast<uint32_t>(end),
                         .partition = 0,
                         .offset = static_cast<int64_t>(at),
                         .is_last = at + end == text.size()});
    at += end;
  }
  return fragments;
}

void Parse(benchmark::State& state, Parser& parser, absl::string_view text) {
  const std::unique_ptr<Splitter> splitter = parser.MakeSplitter();
  const std::vector<Fragment> fragments = MakeFragments(text, *splitter);
  uint64_t records = 0;
  for (auto _ : state) {
    for (Fragment fragment : fragments) {
      while (fragment.size > 0) {
        const ParseResult result = parser.Parse(fragment);
        fragment.RemovePrefix(result.bytes);
        records += result.records;
        benchmark::DoNotOptimize(result.batch.size().bytes);
      }
    }
  }
  state.SetItemsProcessed(static_cast<int64_t>(records));
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) *
                          static_cast<int64_t>(text.size()));
}

void BM_RawParse(benchmark::State& state) {
  RawParser parser(RawConfig{});
  Parse(state, parser, Corpus());
}
BENCHMARK(BM_RawParse)->Unit(benchmark::kMillisecond);

void BM_NdjsonParse(benchmark::State& state) {
  const std::unique_ptr<Parser> parser = *MakeNdjsonParser(NdjsonConfig{});
  Parse(state, *parser, Corpus());
}
BENCHMARK(BM_NdjsonParse)->Unit(benchmark::kMillisecond);

void BM_NdjsonParse_Key(benchmark::State& state, absl::string_view path) {
  NdjsonConfig config;
  config.key = std::string(path);
  Parse(state, **MakeNdjsonParser(config), Corpus());
}
BENCHMARK_CAPTURE(BM_NdjsonParse_Key, user, "user")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_NdjsonParse_Key, nested, "geo.lat")
    ->Unit(benchmark::kMillisecond);

// Eight members of fourteen, as columns of their types.
Schema EightColumns() {
  return {{{.name = "id", .type = SqlType::kBigint, .nullable = false},
           {.name = "ts", .type = SqlType::kTimestamptz, .precision = 9},
           {.name = "service"},
           {.name = "status", .type = SqlType::kInteger},
           {.name = "latency_ms", .type = SqlType::kDouble},
           {.name = "bytes", .type = SqlType::kBigint},
           {.name = "user"},
           {.name = "message"}}};
}

// All of them.
Schema AllColumns() {
  return {{{.name = "id", .type = SqlType::kBigint, .nullable = false},
           {.name = "ts", .type = SqlType::kTimestamptz, .precision = 9},
           {.name = "level"},
           {.name = "service"},
           {.name = "method"},
           {.name = "status", .type = SqlType::kInteger},
           {.name = "latency_ms", .type = SqlType::kDouble},
           {.name = "bytes", .type = SqlType::kBigint},
           {.name = "user"},
           {.name = "ok", .type = SqlType::kBoolean},
           {.name = "message"},
           {.name = "geo",
            .type = SqlType::kStruct,
            .children = {{.name = "lat", .type = SqlType::kDouble},
                         {.name = "lon", .type = SqlType::kDouble}}},
           {.name = "tags",
            .type = SqlType::kArray,
            .children = {{.name = "element"}}}}};
}

void BM_NdjsonParse_Rows(benchmark::State& state, const Schema& schema) {
  const std::unique_ptr<Parser> parser =
      *MakeNdjsonParser(NdjsonConfig{}, schema);
  Parse(state, *parser, Corpus());
}
BENCHMARK_CAPTURE(BM_NdjsonParse_Rows, eight, EightColumns())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_NdjsonParse_Rows, all, AllColumns())
    ->Unit(benchmark::kMillisecond);

// The same bytes as a stream of values.
void BM_JsonParse(benchmark::State& state) {
  const std::unique_ptr<Parser> parser = *MakeJsonParser(JsonConfig{});
  Parse(state, *parser, Corpus());
}
BENCHMARK(BM_JsonParse)->Unit(benchmark::kMillisecond);

void BM_JsonSplit(benchmark::State& state) {
  JsonSplitter splitter;
  for (auto _ : state) {
    splitter.Clear();
    benchmark::DoNotOptimize(splitter.Input(Corpus()));
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) *
                          static_cast<int64_t>(Corpus().size()));
}
BENCHMARK(BM_JsonSplit)->Unit(benchmark::kMillisecond);

// The rows of the first block, as an encoder gets them.
ParseResult RowsToEncode() {
  const std::unique_ptr<Parser> parser =
      *MakeNdjsonParser(NdjsonConfig{}, AllColumns());
  LineSplitter splitter;
  return parser->Parse(MakeFragments(Corpus(), splitter).front());
}

// The same records as maps, as many bytes of them.
const std::string& MsgpackCorpus() {
  static const std::string& corpus = *new std::string([] {
    const ParseResult rows = RowsToEncode();
    MsgpackEncoder encoder(AllColumns(), FrameKind::kConcatenated);
    FrameBuffer frame;
    while (frame.size() < CorpusBytes()) {
      for (size_t i = 0; i < rows.batch.record_count(); ++i) {
        CHECK_OK(encoder.Encode(rows.batch.At(i), frame));
      }
    }
    return std::string(frame.view());
  }());
  return corpus;
}

void BM_MsgpackParse(benchmark::State& state, const Schema& schema) {
  const std::unique_ptr<Parser> parser =
      *MakeMsgpackParser(MsgpackConfig{}, schema);
  Parse(state, *parser, MsgpackCorpus());
}
BENCHMARK_CAPTURE(BM_MsgpackParse, bytes, Schema())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_MsgpackParse, rows, AllColumns())
    ->Unit(benchmark::kMillisecond);

void BM_MsgpackEncode(benchmark::State& state) {
  const ParseResult rows = RowsToEncode();
  MsgpackEncoder encoder(AllColumns(), FrameKind::kConcatenated);
  FrameBuffer frame(4 * kBlockBytes);
  for (auto _ : state) {
    frame.Truncate(0);
    for (size_t i = 0; i < rows.batch.record_count(); ++i) {
      CHECK_OK(encoder.Encode(rows.batch.At(i), frame));
    }
    benchmark::DoNotOptimize(frame.view().data());
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) *
                          static_cast<int64_t>(rows.records));
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) *
                          static_cast<int64_t>(frame.size()));
}
BENCHMARK(BM_MsgpackEncode)->Unit(benchmark::kMicrosecond);

void BM_NdjsonParse_OneBadLineAfter(benchmark::State& state) {
  const std::unique_ptr<Parser> parser = *MakeNdjsonParser(NdjsonConfig{});
  Parse(state, *parser, DamagedCorpus(static_cast<size_t>(state.range(0))));
}
BENCHMARK(BM_NdjsonParse_OneBadLineAfter)
    ->ArgName("good")
    ->Arg(0)
    ->Arg(10)
    ->Arg(1000)
    ->Unit(benchmark::kMillisecond);

void BM_LineEncode(benchmark::State& state) {
  RawParser parser(RawConfig{});
  LineSplitter splitter;
  const Fragment fragment = MakeFragments(Corpus(), splitter).front();
  const ParseResult parsed = parser.Parse(fragment);
  LineEncoder encoder;
  FrameBuffer frame(2 * kBlockBytes);
  for (auto _ : state) {
    frame.Truncate(0);
    for (size_t i = 0; i < parsed.batch.record_count(); ++i) {
      CHECK_OK(encoder.Encode(parsed.batch.At(i), frame));
    }
    benchmark::DoNotOptimize(frame.view().data());
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) *
                          static_cast<int64_t>(parsed.records));
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) *
                          int64_t{fragment.size});
}
BENCHMARK(BM_LineEncode)->Unit(benchmark::kMicrosecond);

// --- What simdjson reaches on the same bytes, line by line.

// Calls `parse(line)` for every line; bytes behind the text may be read.
template <typename ParseLine>
void ForEachLine(benchmark::State& state, ParseLine parse) {
  const simdjson::padded_string text(Corpus());
  const char* const end = text.data() + text.size();
  for (auto _ : state) {
    for (const char* at = text.data(); at < end;) {
      const void* const found =
          std::memchr(at, '\n', static_cast<size_t>(end - at));
      const auto size =
          static_cast<size_t>(static_cast<const char*>(found) - at);
      parse(absl::string_view(at, size));
      at += size + 1;
    }
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) *
                          static_cast<int64_t>(text.size()));
}

// What `read` takes of each line's document.
template <typename Read>
void OnDemand(benchmark::State& state, const Read& read) {
  simdjson::ondemand::parser parser;
  ForEachLine(state, [&](absl::string_view line) {
    simdjson::ondemand::document document;
    CHECK_EQ(parser
                 .iterate(line.data(), line.size(),
                          line.size() + simdjson::SIMDJSON_PADDING)
                 .get(document),
             simdjson::SUCCESS);
    read(document);
  });
}

void BM_Simdjson_OnDemandThreeFields(benchmark::State& state) {
  OnDemand(state, [](simdjson::ondemand::document& document) {
    uint64_t id = 0;
    std::string_view service;
    double latency = 0;
    CHECK_EQ(document["id"].get(id), simdjson::SUCCESS);
    CHECK_EQ(document["service"].get(service), simdjson::SUCCESS);
    CHECK_EQ(document["latency_ms"].get(latency), simdjson::SUCCESS);
    benchmark::DoNotOptimize(id + service.size() +
                             static_cast<uint64_t>(latency));
  });
}
BENCHMARK(BM_Simdjson_OnDemandThreeFields)->Unit(benchmark::kMillisecond);

// Reads fields in the order in which they stand, and adds them up. A timestamp
// is only a text to it.
class FieldSum {
 public:
  explicit FieldSum(simdjson::ondemand::object object)
      : object_(std::move(object)) {}

  template <typename Number>
  void AddNumber(const char* name) {
    Number number{};
    CHECK_EQ(object_.find_field(name).get(number), simdjson::SUCCESS);
    sum_ += static_cast<uint64_t>(number);
  }
  void AddText(const char* name) { AddText(object_.find_field(name)); }
  void AddArray(const char* name) {
    for (auto element : object_.find_field(name)) AddText(std::move(element));
  }
  FieldSum Inner(const char* name) {
    return FieldSum(object_.find_field(name).get_object());
  }
  uint64_t sum() const { return sum_; }

 private:
  // Null is one, too.
  void AddText(simdjson::simdjson_result<simdjson::ondemand::value> value) {
    std::string_view text;
    if (value.get(text) == simdjson::SUCCESS) sum_ += text.size();
  }

  simdjson::ondemand::object object_;
  uint64_t sum_ = 0;
};

void BM_Simdjson_OnDemandEightFields(benchmark::State& state) {
  OnDemand(state, [](simdjson::ondemand::document& document) {
    FieldSum fields(document.get_object());
    fields.AddNumber<uint64_t>("id");
    fields.AddText("ts");
    fields.AddText("service");
    fields.AddNumber<int64_t>("status");
    fields.AddNumber<double>("latency_ms");
    fields.AddNumber<int64_t>("bytes");
    fields.AddText("user");
    fields.AddText("message");
    benchmark::DoNotOptimize(fields.sum());
  });
}
BENCHMARK(BM_Simdjson_OnDemandEightFields)->Unit(benchmark::kMillisecond);

void BM_Simdjson_OnDemandAllFields(benchmark::State& state) {
  OnDemand(state, [](simdjson::ondemand::document& document) {
    FieldSum fields(document.get_object());
    fields.AddNumber<uint64_t>("id");
    fields.AddText("ts");
    fields.AddText("level");
    fields.AddText("service");
    fields.AddText("method");
    fields.AddNumber<int64_t>("status");
    fields.AddNumber<double>("latency_ms");
    fields.AddNumber<int64_t>("bytes");
    fields.AddText("user");
    fields.AddNumber<bool>("ok");
    fields.AddText("message");
    FieldSum geo = fields.Inner("geo");
    geo.AddNumber<double>("lat");
    geo.AddNumber<double>("lon");
    fields.AddArray("tags");
    benchmark::DoNotOptimize(fields.sum() + geo.sum());
  });
}
BENCHMARK(BM_Simdjson_OnDemandAllFields)->Unit(benchmark::kMillisecond);

void BM_Simdjson_Dom(benchmark::State& state) {
  simdjson::dom::parser parser;
  ForEachLine(state, [&parser](absl::string_view line) {
    CHECK_EQ(parser.parse(line.data(), line.size(), false).error(),
             simdjson::SUCCESS);
  });
}
BENCHMARK(BM_Simdjson_Dom)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace penstock::core
