#include "core/compress/decoder.h"

#include "core/base/check.h"
#include "core/compress/gzip_decoder.h"
#include "core/compress/zstd_decoder.h"

namespace penstock::core {

std::unique_ptr<Decoder> MakeDecoder(Compression compression) {
  CHECK(compression != Compression::kNone);
  if (compression == Compression::kGzip) return std::make_unique<GzipDecoder>();
  return std::make_unique<ZstdDecoder>();
}

}  // namespace penstock::core
