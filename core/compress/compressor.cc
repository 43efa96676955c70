#include "core/compress/compressor.h"

#include "core/base/check.h"
#include "core/base/status_macros.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace penstock::core {
namespace {

constexpr CompressionLevels kGzipLevels = {
    .lowest = 1, .highest = 9, .by_default = 6};
// Measured: level 3 takes 3 MiB, 9 takes 16, 12 takes 52, 19 takes 89.
constexpr CompressionLevels kZstdLevels = {
    .lowest = 1, .highest = 12, .by_default = 3};

// Keeps what is compressed until a block of it is full.
// Owner: a compressor. Threads: thread-compatible. Bound: one block.
class OutputBlock {
 public:
  char* free() { return block_.data() + used_; }
  size_t free_bytes() const { return block_.size() - used_; }
  void Take(size_t bytes) { used_ += bytes; }
  void Clear() { used_ = 0; }
  bool IsFull() const { return used_ == block_.size(); }

  absl::Status Flush(Compressor::Output output) {
    const size_t used = std::exchange(used_, 0);
    if (used == 0) return absl::OkStatus();
    return output(absl::string_view(block_).substr(0, used));
  }

 private:
  std::string block_ = std::string(Compressor::kOutputBlockBytes, '\0');
  size_t used_ = 0;
};

class GzipCompressor final : public Compressor {
 public:
  explicit GzipCompressor(int level) {
    // Source: zlib.h, deflateInit2: 15 window bits, 16 more for gzip.
    CHECK_EQ(deflateInit2(&stream_, level, Z_DEFLATED, 15 + 16, 8,
                          Z_DEFAULT_STRATEGY),
             Z_OK)
        << "out of memory";
  }
  GzipCompressor(const GzipCompressor&) = delete;
  GzipCompressor& operator=(const GzipCompressor&) = delete;
  ~GzipCompressor() override { deflateEnd(&stream_); }

  void Begin() override {
    CHECK_EQ(deflateReset(&stream_), Z_OK);
    block_.Clear();
  }

  absl::Status Add(absl::string_view bytes, Output output) override {
    constexpr size_t kPieceMax = std::numeric_limits<uInt>::max() / 2;
    while (!bytes.empty()) {
      const absl::string_view piece = bytes.substr(0, kPieceMax);
      bytes.remove_prefix(piece.size());
      // zlib reads from it only.
      stream_.next_in =
          reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));
      stream_.avail_in = static_cast<uInt>(piece.size());
      while (stream_.avail_in > 0) {
        Deflate(Z_NO_FLUSH);
        if (block_.IsFull()) {
          RETURN_IF_ERROR(block_.Flush(output));
        }
      }
    }
    return absl::OkStatus();
  }

  absl::Status End(Output output) override {
    stream_.avail_in = 0;
    while (Deflate(Z_FINISH) != Z_STREAM_END) {
      RETURN_IF_ERROR(block_.Flush(output));
    }
    return block_.Flush(output);
  }

  uint64_t MemoryBytes() const override {
    // Source: zconf.h, memory of deflate for 15 window bits and level 8.
    return (uint64_t{1} << 17) + (uint64_t{1} << 17) + kOutputBlockBytes;
  }

 private:
  int Deflate(int flush) {
    const size_t room = block_.free_bytes();
    stream_.next_out = reinterpret_cast<Bytef*>(block_.free());
    stream_.avail_out = static_cast<uInt>(room);
    const int result = deflate(&stream_, flush);
    CHECK_NE(result, Z_STREAM_ERROR);
    block_.Take(room - stream_.avail_out);
    return result;
  }

  z_stream stream_ = {};
  OutputBlock block_;
};

class ZstdCompressor final : public Compressor {
 public:
  explicit ZstdCompressor(int level) : context_(ZSTD_createCCtx()) {
    CHECK(context_ != nullptr);
    Set(ZSTD_c_compressionLevel, level);
    Set(ZSTD_c_checksumFlag, 1);
  }

  void Begin() override {
    CHECK(!ZSTD_isError(
        ZSTD_CCtx_reset(context_.get(), ZSTD_reset_session_only)));
    block_.Clear();
  }

  absl::Status Add(absl::string_view bytes, Output output) override {
    ZSTD_inBuffer in = {bytes.data(), bytes.size(), 0};
    while (in.pos < in.size) {
      Compress(in, ZSTD_e_continue);
      if (block_.IsFull()) {
        RETURN_IF_ERROR(block_.Flush(output));
      }
    }
    return absl::OkStatus();
  }

  absl::Status End(Output output) override {
    ZSTD_inBuffer in = {nullptr, 0, 0};
    while (Compress(in, ZSTD_e_end) != 0) RETURN_IF_ERROR(block_.Flush(output));
    return block_.Flush(output);
  }

  uint64_t MemoryBytes() const override {
    return ZSTD_sizeof_CCtx(context_.get()) + kOutputBlockBytes;
  }

 private:
  struct Free {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  };

  void Set(ZSTD_cParameter parameter, int value) {
    const size_t result =
        ZSTD_CCtx_setParameter(context_.get(), parameter, value);
    CHECK(!ZSTD_isError(result)) << ZSTD_getErrorName(result);
  }

  // Returns: how much there still is to be flushed.
  size_t Compress(ZSTD_inBuffer& in, ZSTD_EndDirective how) {
    ZSTD_outBuffer out = {block_.free(), block_.free_bytes(), 0};
    const size_t left = ZSTD_compressStream2(context_.get(), &out, &in, how);
    CHECK(!ZSTD_isError(left)) << ZSTD_getErrorName(left);
    block_.Take(out.pos);
    return left;
  }

  const std::unique_ptr<ZSTD_CCtx, Free> context_;
  OutputBlock block_;
};

}  // namespace

CompressionLevels LevelsOf(Compression compression) {
  CHECK(compression != Compression::kNone);
  return compression == Compression::kGzip ? kGzipLevels : kZstdLevels;
}

std::unique_ptr<Compressor> MakeCompressor(Compression compression, int level) {
  if (level == 0) level = LevelsOf(compression).by_default;
  CHECK(compression != Compression::kNone);
  if (compression == Compression::kGzip) {
    return std::make_unique<GzipCompressor>(level);
  }
  return std::make_unique<ZstdCompressor>(level);
}

}  // namespace penstock::core
