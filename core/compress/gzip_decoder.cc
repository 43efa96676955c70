#include "core/compress/gzip_decoder.h"

#include "core/base/check.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <limits>

namespace penstock::core {
namespace {

// The largest window, and gzip's header rather than zlib's.
constexpr int kWindowBits = 15 + 16;

uInt Clamp(size_t size) {
  return static_cast<uInt>(
      std::min<size_t>(size, std::numeric_limits<uInt>::max()));
}

}  // namespace

GzipDecoder::GzipDecoder() {
  CHECK_EQ(inflateInit2(&stream_, kWindowBits), Z_OK) << "out of memory";
}

GzipDecoder::~GzipDecoder() { inflateEnd(&stream_); }

Decoder::Progress GzipDecoder::Decode(absl::string_view in,
                                      std::span<char> out) {
  if (defect_.has_value() || in.empty() || out.empty()) return {};
  if (state_ != State::kInMember) {
    const size_t zeros = std::min(in.find_first_not_of('\0'), in.size());
    if (zeros > 0 && has_member_) {
      state_ = State::kPadding;
      return {.consumed = zeros, .produced = 0};
    }
    if (!BeginMember(in[0])) return {};
  }
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): zlib only reads
  auto* const next = const_cast<char*>(in.data());
  stream_.next_in = reinterpret_cast<Bytef*>(next);
  stream_.avail_in = Clamp(in.size());
  stream_.next_out = reinterpret_cast<Bytef*>(out.data());
  stream_.avail_out = Clamp(out.size());
  const uInt given = stream_.avail_in;
  const uInt room = stream_.avail_out;
  const int result = inflate(&stream_, Z_NO_FLUSH);
  if (result == Z_STREAM_END) {
    state_ = State::kBetween;
    has_member_ = true;
  } else if (result != Z_OK && result != Z_BUF_ERROR) {
    Fail("gzip_corrupt",
         stream_.msg != nullptr ? stream_.msg : "it cannot be decoded");
  }
  return {.consumed = given - stream_.avail_in,
          .produced = room - stream_.avail_out};
}

bool GzipDecoder::BeginMember(char first) {
  if (state_ == State::kBetween && first == '\x1f') {
    CHECK_EQ(inflateReset(&stream_), Z_OK);
    state_ = State::kInMember;
    return true;
  }
  if (has_member_) {
    Fail("gzip_trailing_garbage",
         "behind its last member there are bytes that are no gzip");
  } else {
    Fail("gzip_corrupt", "it does not begin like gzip");
  }
  return false;
}

void GzipDecoder::Fail(const char* tag, const char* description) {
  defect_ = Defect{
      .tag = tag,
      .description = absl::StrCat("the gzip file is damaged: ", description)};
}

Defect GzipDecoder::Truncated() const {
  return {.tag = "gzip_truncated",
          .description =
              "the gzip file ends within a member: it was cut off, "
              "or is still being written"};
}

}  // namespace penstock::core
