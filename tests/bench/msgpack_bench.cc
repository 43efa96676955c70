// MessagePack over 64 MiB of log records: what finds the ends of values and
// checks them here, beside msgpack-c's parser with a visitor that does nothing.
#include "core/base/check.h"
#include "core/contract/frame_buffer.h"
#include "core/format/msgpack/msgpack_checker.h"
#include "core/format/msgpack/msgpack_encoder.h"
#include "core/format/msgpack/msgpack_scanner.h"
#include "core/format/ndjson/ndjson_format.h"
#include "core/record/block.h"
#include "tests/bench/corpus.h"

#include <absl/strings/string_view.h>
#include <benchmark/benchmark.h>
#include <msgpack.hpp>

#include <cstring>
#include <memory>
#include <string>

namespace penstock::core {
namespace {

Schema Columns() {
  return {{{.name = "id", .type = SqlType::kBigint, .nullable = false},
           {.name = "ts", .type = SqlType::kTimestamptz, .precision = 9},
           {.name = "level"},
           {.name = "service"},
           {.name = "status", .type = SqlType::kInteger},
           {.name = "latency_ms", .type = SqlType::kDouble},
           {.name = "bytes", .type = SqlType::kBigint},
           {.name = "user"},
           {.name = "ok", .type = SqlType::kBoolean},
           {.name = "message"},
           {.name = "tags",
            .type = SqlType::kArray,
            .children = {{.name = "element"}}}}};
}

const std::string& Corpus() {
  static const std::string& corpus = *new std::string([] {
    const std::string text = MakeNdjsonCorpus(size_t{1} << 20, 42);
    auto block = std::make_shared<Block>(text.size());
    std::memcpy(block->data(), text.data(), text.size());
    const ParseResult rows =
        (*MakeNdjsonParser(NdjsonConfig{}, Columns()))
            ->Parse({.block = std::move(block),
                     .size = static_cast<uint32_t>(text.size()),
                     .is_last = true});
    MsgpackEncoder encoder(Columns(), FrameKind::kConcatenated);
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

template <typename PassValue>
void PassAll(benchmark::State& state, PassValue pass) {
  const std::string& text = Corpus();
  for (auto _ : state) {
    for (size_t at = 0; at < text.size();) at = pass(text, at);
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) *
                          static_cast<int64_t>(text.size()));
}

void BM_Msgpack_Check(benchmark::State& state) {
  PassAll(state, [](absl::string_view text, size_t at) {
    return at + CheckMsgpack(text.substr(at), nullptr).position;
  });
}
BENCHMARK(BM_Msgpack_Check)->Unit(benchmark::kMillisecond);

void BM_Msgpack_Scan(benchmark::State& state) {
  MsgpackScanner scanner;
  PassAll(state, [&](absl::string_view text, size_t at) {
    return *scanner.Next(text, at);
  });
}
BENCHMARK(BM_Msgpack_Scan)->Unit(benchmark::kMillisecond);

void BM_Msgpackc_NullVisitor(benchmark::State& state) {
  PassAll(state, [](absl::string_view text, size_t at) {
    msgpack::null_visitor visitor;
    CHECK(msgpack::parse(text.data(), text.size(), at, visitor));
    return at;
  });
}
BENCHMARK(BM_Msgpackc_NullVisitor)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace penstock::core
