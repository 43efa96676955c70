#include "core/compress/zstd_decoder.h"

#include "core/base/check.h"

#include <absl/strings/str_cat.h>
#include <zstd_errors.h>

namespace penstock::core {
namespace {

// What the library takes without being told otherwise: 128 MiB.
constexpr int kWindowLogMax = 27;

}  // namespace

ZstdDecoder::ZstdDecoder() : context_(ZSTD_createDCtx()) {
  CHECK(context_ != nullptr) << "out of memory";
  const size_t result = ZSTD_DCtx_setParameter(
      context_.get(), ZSTD_d_windowLogMax, kWindowLogMax);
  CHECK(ZSTD_isError(result) == 0) << ZSTD_getErrorName(result);
}

Decoder::Progress ZstdDecoder::Decode(absl::string_view in,
                                      std::span<char> out) {
  if (defect_.has_value() || out.empty()) return {};
  // Inside of a frame it may hold output without wanting more input.
  if (in.empty() && !is_in_frame_) return {};
  ZSTD_inBuffer from{.src = in.data(), .size = in.size(), .pos = 0};
  ZSTD_outBuffer to{.dst = out.data(), .size = out.size(), .pos = 0};
  const size_t result = ZSTD_decompressStream(context_.get(), &to, &from);
  if (ZSTD_isError(result) != 0) {
    const bool is_garbage =
        has_frame_ && !is_in_frame_ &&
        ZSTD_getErrorCode(result) == ZSTD_error_prefix_unknown;
    defect_ =
        Defect{.tag = is_garbage ? "zstd_trailing_garbage" : "zstd_corrupt",
               .description =
                   absl::StrCat("the zstd file is damaged: ",
                                is_garbage ? "behind its last frame there are "
                                             "bytes that are no zstd"
                                           : ZSTD_getErrorName(result))};
    return {.consumed = from.pos, .produced = to.pos};
  }
  is_in_frame_ = result != 0;
  if (!is_in_frame_) has_frame_ = true;
  return {.consumed = from.pos, .produced = to.pos};
}

Defect ZstdDecoder::Truncated() const {
  return {.tag = "zstd_truncated",
          .description =
              "the zstd file ends within a frame: it was cut off, "
              "or is still being written"};
}

}  // namespace penstock::core
