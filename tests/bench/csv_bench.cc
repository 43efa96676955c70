// CSV over 64 MiB of log records, in blocks of 1 MiB: from bytes in memory to
// typed rows, splitter included. Beside it what two plain readers of the same
// rows take that look at a byte at a time.
#include "core/base/check.h"
#include "core/contract/frame_buffer.h"
#include "core/format/csv/csv_encoder.h"
#include "core/format/csv/csv_format.h"
#include "core/record/block.h"
#include "tests/bench/corpus.h"

#include <absl/strings/string_view.h>
#include <benchmark/benchmark.h>

#include <algorithm>
#include <charconv>
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
      *new std::string(MakeCsvCorpus(CorpusBytes(), 42));
  return corpus;
}

// The readers beside read the same; a timestamp is only a text to them.
Schema Columns() {
  return {{{.name = "id", .type = SqlType::kBigint, .nullable = false},
           {.name = "ts"},
           {.name = "level"},
           {.name = "service"},
           {.name = "method"},
           {.name = "status", .type = SqlType::kInteger},
           {.name = "latency_ms", .type = SqlType::kDouble},
           {.name = "bytes", .type = SqlType::kBigint},
           {.name = "user"},
           {.name = "ok", .type = SqlType::kBoolean},
           {.name = "message"}}};
}

// Reads blocks, splits and parses them, as a file source does. Keeps nothing.
template <typename TakeBatch>
void Read(benchmark::State& state, Parser& parser, TakeBatch take) {
  const std::string& text = Corpus();
  const std::unique_ptr<Splitter> splitter = parser.MakeSplitter();
  const auto block = std::make_shared<Block>(kBlockBytes);
  uint64_t records = 0;
  for (auto _ : state) {
    for (size_t at = 0; at < text.size();) {
      const size_t read = std::min(kBlockBytes, text.size() - at);
      std::memcpy(block->data(), text.data() + at, read);
      splitter->Clear();
      const size_t size = *splitter->Input({block->data(), read});
      Fragment fragment{.block = block,
                        .size = static_cast<uint32_t>(size),
                        .offset = static_cast<int64_t>(at)};
      while (fragment.size > 0) {
        const ParseResult result = parser.Parse(fragment);
        CHECK(result.errors.empty()) << result.errors[0].description;
        records += result.batch.record_count();
        take(result.batch);
        fragment.RemovePrefix(result.bytes);
      }
      at += size;
    }
  }
  state.SetItemsProcessed(static_cast<int64_t>(records));
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) *
                          static_cast<int64_t>(text.size()));
}

void BM_CsvParse_Bytes(benchmark::State& state) {
  Read(state, **MakeCsvParser(CsvConfig{}), [](const RecordBatch& batch) {
    benchmark::DoNotOptimize(batch.size().bytes);
  });
}
BENCHMARK(BM_CsvParse_Bytes)->Unit(benchmark::kMillisecond);

void BM_CsvParse_Rows(benchmark::State& state) {
  Read(state, **MakeCsvParser(CsvConfig{}, Columns()),
       [](const RecordBatch& batch) {
         benchmark::DoNotOptimize(batch.size().bytes);
       });
}
BENCHMARK(BM_CsvParse_Rows)->Unit(benchmark::kMillisecond);

void BM_CsvSplit(benchmark::State& state) {
  const std::unique_ptr<Splitter> splitter =
      (*MakeCsvParser(CsvConfig{}))->MakeSplitter();
  for (auto _ : state) {
    splitter->Clear();
    benchmark::DoNotOptimize(splitter->Input(Corpus()));
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) *
                          static_cast<int64_t>(Corpus().size()));
}
BENCHMARK(BM_CsvSplit)->Unit(benchmark::kMillisecond);

void BM_CsvParseAndEncode_Rows(benchmark::State& state) {
  CsvEncoder encoder(CsvConfig{}, Columns().columns.size());
  FrameBuffer frame(2 * kBlockBytes);
  Read(state, **MakeCsvParser(CsvConfig{}, Columns()),
       [&](const RecordBatch& batch) {
         frame.Truncate(0);
         for (size_t i = 0; i < batch.record_count(); ++i) {
           CHECK_OK(encoder.Encode(batch.At(i), frame));
         }
         benchmark::DoNotOptimize(frame.view().data());
       });
}
BENCHMARK(BM_CsvParseAndEncode_Rows)->Unit(benchmark::kMillisecond);

// --- A byte at a time: RFC 4180 and from_chars, and nothing else. Encodings,
// ranges and bare quotes are not looked at, errors not placed.

// A value of a row: as small as ours.
struct PlainValue {
  union {
    int64_t integer = 0;
    double real;
    const char* text;
  };
  uint32_t size = 0;
  bool is_null = true;
};
static_assert(sizeof(PlainValue) == 16);

// The rows of a block, of the columns above.
class PlainRows {
 public:
  void Clear() { values_.clear(); }
  // Lifetime: text stays where it is.
  void Add(size_t column, const char* begin, const char* end, bool is_quoted) {
    PlainValue value;
    value.is_null = begin == end && !is_quoted;
    if (value.is_null) {
    } else if (column == 0 || column == 5 || column == 7) {
      CHECK(std::from_chars(begin, end, value.integer).ptr == end);
    } else if (column == 9) {
      value.integer = *begin == 't' ? 1 : 0;
    } else if (column == 6) {
      CHECK(std::from_chars(begin, end, value.real).ptr == end);
    } else {
      value.text = begin;
      value.size = static_cast<uint32_t>(end - begin);
    }
    values_.push_back(value);
  }
  const std::vector<PlainValue>& values() const { return values_; }

 private:
  std::vector<PlainValue> values_;
};

enum class PlainState { kField, kOutside, kInside, kClosing };

// As most are written: what is in a field is gathered byte by byte. Returns:
// where the last whole record ends.
size_t ReadByCopying(absl::string_view text, std::vector<char>& bytes,
                     PlainRows& rows) {
  rows.Clear();
  // Never moves, so that text stays where it is.
  bytes.clear();
  bytes.reserve(text.size());
  PlainState state = PlainState::kField;
  size_t column = 0;
  size_t begin = 0;
  size_t record_end = 0;
  bool is_quoted = false;
  const auto end_field = [&] {
    rows.Add(column++, bytes.data() + begin, bytes.data() + bytes.size(),
             is_quoted);
    begin = bytes.size();
    is_quoted = false;
    state = PlainState::kField;
  };
  for (size_t at = 0; at < text.size(); ++at) {
    const char byte = text[at];
    if (state == PlainState::kInside) {
      if (byte == '"') {
        state = PlainState::kClosing;
      } else {
        bytes.push_back(byte);
      }
    } else if (byte == ',') {
      end_field();
    } else if (byte == '\n') {
      end_field();
      column = 0;
      record_end = at + 1;
    } else if (byte == '"' && state != PlainState::kOutside) {
      if (state == PlainState::kClosing) bytes.push_back(byte);
      is_quoted = true;
      state = PlainState::kInside;
    } else {
      bytes.push_back(byte);
      state = PlainState::kOutside;
    }
  }
  return record_end;
}

// The same with fields that are views of the text; only escaped ones are
// copied.
size_t ReadByViews(absl::string_view text, std::vector<char>& bytes,
                   PlainRows& rows) {
  rows.Clear();
  bytes.clear();
  bytes.reserve(text.size());
  PlainState state = PlainState::kField;
  size_t column = 0;
  const char* begin = text.data();
  size_t record_end = 0;
  bool is_quoted = false;
  bool has_escapes = false;
  const auto end_field = [&](const char* end) {
    if (has_escapes) {
      const size_t copy = bytes.size();
      for (const char* at = begin; at < end; ++at) {
        bytes.push_back(*at);
        if (*at == '"') ++at;
      }
      begin = bytes.data() + copy;
      end = bytes.data() + bytes.size();
    }
    rows.Add(column++, begin, end, is_quoted);
    is_quoted = has_escapes = false;
    state = PlainState::kField;
  };
  for (const char& byte : text) {
    if (state == PlainState::kInside) {
      if (byte == '"') state = PlainState::kClosing;
      continue;
    }
    if (state == PlainState::kField) begin = &byte;
    if (byte == ',' || byte == '\n') {
      end_field(state == PlainState::kClosing ? &byte - 1 : &byte);
      if (byte == ',') continue;
      column = 0;
      record_end = static_cast<size_t>(&byte - text.data()) + 1;
    } else if (byte == '"' && state == PlainState::kField) {
      is_quoted = true;
      begin = &byte + 1;
      state = PlainState::kInside;
    } else if (byte == '"' && state == PlainState::kClosing) {
      has_escapes = true;
      state = PlainState::kInside;
    } else {
      state = PlainState::kOutside;
    }
  }
  return record_end;
}

template <typename ReadBlock>
void ReadPlain(benchmark::State& state, ReadBlock read_block) {
  const std::string& text = Corpus();
  const auto block = std::make_unique<char[]>(kBlockBytes);
  std::vector<char> bytes;
  PlainRows rows;
  uint64_t values = 0;
  for (auto _ : state) {
    for (size_t at = 0; at < text.size();) {
      const size_t read = std::min(kBlockBytes, text.size() - at);
      std::memcpy(block.get(), text.data() + at, read);
      at += read_block(absl::string_view(block.get(), read), bytes, rows);
      values += rows.values().size();
      benchmark::DoNotOptimize(rows.values().data());
    }
  }
  state.SetItemsProcessed(
      static_cast<int64_t>(values / Columns().columns.size()));
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) *
                          static_cast<int64_t>(text.size()));
}

void BM_PlainCsv_RowsByCopying(benchmark::State& state) {
  ReadPlain(state, ReadByCopying);
}
BENCHMARK(BM_PlainCsv_RowsByCopying)->Unit(benchmark::kMillisecond);

void BM_PlainCsv_RowsByViews(benchmark::State& state) {
  ReadPlain(state, ReadByViews);
}
BENCHMARK(BM_PlainCsv_RowsByViews)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace penstock::core
