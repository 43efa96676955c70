#include "tests/support/compress.h"

#include "core/base/check.h"

#include <zlib.h>
#include <zstd.h>

namespace penstock::core {

std::string Gzip(absl::string_view text) {
  z_stream stream = {};
  CHECK_EQ(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8,
                        Z_DEFAULT_STRATEGY),
           Z_OK);
  std::string in(text);
  std::string out(deflateBound(&stream, in.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  CHECK_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string Zstd(absl::string_view text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  const size_t size =
      ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3);
  CHECK(ZSTD_isError(size) == 0) << ZSTD_getErrorName(size);
  out.resize(size);
  return out;
}

}  // namespace penstock::core
