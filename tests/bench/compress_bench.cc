// gzip over log records: what a file source decodes with, beside isa-l by
// itself, which is given the same pieces.
#include "core/base/check.h"
#include "core/compress/compressor.h"
#include "core/compress/decoder.h"
#include "tests/bench/corpus.h"

#include <absl/strings/string_view.h>
#include <benchmark/benchmark.h>
#include <isa-l/igzip_lib.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace penstock::core {
namespace {

constexpr size_t kPieceBytes = size_t{64} << 10;
constexpr size_t kBlockBytes = size_t{1} << 20;

const std::string& Compressed() {
  static const std::string& compressed = *new std::string([] {
    std::string bytes;
    const auto add = [&bytes](absl::string_view piece) {
      bytes.append(piece.data(), piece.size());
      return absl::OkStatus();
    };
    const std::unique_ptr<Compressor> gzip =
        MakeCompressor(Compression::kGzip, 0);
    gzip->Begin();
    CHECK_OK(gzip->Add(MakeNdjsonCorpus(CorpusBytes(), 42), add));
    CHECK_OK(gzip->End(add));
    return bytes;
  }());
  return compressed;
}

void CountBytes(benchmark::State& state, uint64_t decoded) {
  CHECK_GE(decoded / state.iterations(), CorpusBytes());
  state.SetBytesProcessed(static_cast<int64_t>(decoded));
}

void BM_GzipDecode(benchmark::State& state) {
  const absl::string_view bytes = Compressed();
  std::vector<char> block(kBlockBytes);
  uint64_t decoded = 0;
  for (auto _ : state) {
    const std::unique_ptr<Decoder> decoder = MakeDecoder(Compression::kGzip);
    for (size_t at = 0; at < bytes.size() || !decoder->MayEnd();) {
      const Decoder::Progress progress =
          decoder->Decode(bytes.substr(at, kPieceBytes), block);
      at += progress.consumed;
      decoded += progress.produced;
    }
  }
  CountBytes(state, decoded);
}
BENCHMARK(BM_GzipDecode)->Unit(benchmark::kMillisecond);

void BM_GzipLibrary(benchmark::State& state) {
  const std::string& bytes = Compressed();
  std::vector<char> block(kBlockBytes);
  uint64_t decoded = 0;
  for (auto _ : state) {
    const auto stream = std::make_unique<inflate_state>();
    isal_inflate_init(stream.get());
    stream->crc_flag = ISAL_GZIP;
    for (size_t at = 0; stream->block_state != ISAL_BLOCK_FINISH;) {
      const auto piece =
          static_cast<uint32_t>(std::min(kPieceBytes, bytes.size() - at));
      // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): only read
      auto* const next = const_cast<char*>(bytes.data() + at);
      stream->next_in = reinterpret_cast<uint8_t*>(next);
      stream->avail_in = piece;
      stream->next_out = reinterpret_cast<uint8_t*>(block.data());
      stream->avail_out = kBlockBytes;
      CHECK_EQ(isal_inflate(stream.get()), ISAL_DECOMP_OK);
      at += piece - stream->avail_in;
      decoded += kBlockBytes - stream->avail_out;
    }
  }
  CountBytes(state, decoded);
}
BENCHMARK(BM_GzipLibrary)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace penstock::core
