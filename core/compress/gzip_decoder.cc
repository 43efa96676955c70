#include "core/compress/gzip_decoder.h"

#include <absl/strings/str_cat.h>
#include <isa-l/igzip_lib.h>

#include <algorithm>
#include <cstdint>
#include <limits>

namespace penstock::core {
namespace {

uint32_t Clamp(size_t size) {
  return static_cast<uint32_t>(
      std::min<size_t>(size, std::numeric_limits<uint32_t>::max()));
}

const char* DescriptionOf(int result) {
  switch (result) {
    case ISAL_INVALID_BLOCK:
      return "an invalid block";
    case ISAL_INVALID_SYMBOL:
      return "an invalid symbol";
    case ISAL_INVALID_LOOKBACK:
      return "an invalid distance";
    case ISAL_INVALID_WRAPPER:
      return "an invalid header";
    case ISAL_UNSUPPORTED_METHOD:
      return "an unknown compression method";
    case ISAL_INCORRECT_CHECKSUM:
      return "a wrong checksum or length";
    default:
      return "it cannot be decoded";
  }
}

}  // namespace

GzipDecoder::GzipDecoder() : stream_(std::make_unique<inflate_state>()) {
  isal_inflate_init(stream_.get());
  // With gzip's header and trailer, which are checked.
  stream_->crc_flag = ISAL_GZIP;
}

GzipDecoder::~GzipDecoder() = default;

Decoder::Progress GzipDecoder::Decode(absl::string_view in,
                                      std::span<char> out) {
  if (defect_.has_value() || out.empty()) return {};
  if (found_.has_value()) return {.consumed = 0, .produced = TakeHeld(out)};
  if (state_ != State::kInMember) {
    if (in.empty()) return {};
    const size_t zeros = std::min(in.find_first_not_of('\0'), in.size());
    if (zeros > 0 && has_member_) {
      state_ = State::kPadding;
      return {.consumed = zeros, .produced = 0};
    }
    if (!BeginMember(in[0])) return {};
  }
  // Inside of a member it may hold output without wanting more input.
  inflate_state& stream = *stream_;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): isa-l only reads
  auto* const next = const_cast<char*>(in.data());
  stream.next_in = reinterpret_cast<uint8_t*>(next);
  stream.avail_in = Clamp(in.size());
  stream.next_out = reinterpret_cast<uint8_t*>(out.data());
  stream.avail_out = Clamp(out.size());
  const uint32_t given = stream.avail_in;
  const uint32_t room = stream.avail_out;
  const int result = isal_inflate(&stream);
  if (result < ISAL_DECOMP_OK) {
    Find("gzip_corrupt", DescriptionOf(result));
  } else if (stream.block_state == ISAL_BLOCK_FINISH) {
    state_ = State::kBetween;
    has_member_ = true;
  }
  return {.consumed = given - stream.avail_in,
          .produced = room - stream.avail_out};
}

bool GzipDecoder::BeginMember(char first) {
  if (state_ == State::kBetween && first == '\x1f') {
    isal_inflate_reset(stream_.get());
    state_ = State::kInMember;
    return true;
  }
  if (has_member_) {
    Find("gzip_trailing_garbage",
         "behind its last member there are bytes that are no gzip");
  } else {
    Find("gzip_corrupt", "it does not begin like gzip");
  }
  return false;
}

void GzipDecoder::Find(const char* tag, const char* description) {
  found_ = Defect{
      .tag = tag,
      .description = absl::StrCat("the gzip file is damaged: ", description)};
  TakeHeld({});
}

size_t GzipDecoder::TakeHeld(std::span<char> out) {
  inflate_state& stream = *stream_;
  const int32_t held = stream.tmp_out_valid - stream.tmp_out_processed;
  const size_t size =
      std::min(out.size(), static_cast<size_t>(std::max<int32_t>(held, 0)));
  std::copy_n(stream.tmp_out_buffer + stream.tmp_out_processed, size,
              out.data());
  stream.tmp_out_processed += static_cast<int32_t>(size);
  if (stream.tmp_out_processed >= stream.tmp_out_valid) defect_ = found_;
  return size;
}

Defect GzipDecoder::Truncated() const {
  return {.tag = "gzip_truncated",
          .description =
              "the gzip file ends within a member: it was cut off, "
              "or is still being written"};
}

}  // namespace penstock::core
