#include "core/sources/file/decoded_content.h"

#include "core/base/check.h"
#include "core/base/status_macros.h"

#include <absl/strings/string_view.h>

#include <algorithm>
#include <cstring>

namespace penstock::core {
namespace {

constexpr size_t kInputBytes = size_t{64} << 10;

}  // namespace

DecodedContent::DecodedContent(File& file, Compression compression)
    : file_(file), compression_(compression) {
  Restart();
}

void DecodedContent::Restart() {
  decoder_ = MakeDecoder(compression_);
  input_begin_ = input_end_ = 0;
  file_offset_ = decoded_ = 0;
  last_.clear();
}

absl::StatusOr<size_t> DecodedContent::ReadAt(uint64_t offset,
                                              std::span<char> out) {
  if (offset < decoded_ - last_.size()) Restart();
  RETURN_IF_ERROR(PassTo(offset));
  if (offset > decoded_) return size_t{0};
  // What is known already, then what comes.
  const size_t known =
      std::min(static_cast<size_t>(decoded_ - offset), out.size());
  std::memcpy(out.data(), last_.data() + (last_.size() - (decoded_ - offset)),
              known);
  if (known == out.size()) return known;
  ASSIGN_OR_RETURN(const size_t more, Decode(out.subspan(known)));
  last_.assign(out.data(), known + more);
  return known + more;
}

absl::Status DecodedContent::PassTo(uint64_t offset) {
  std::vector<char> passed;
  while (decoded_ < offset) {
    passed.resize(kInputBytes);
    const std::span<char> out =
        std::span<char>(passed).first(static_cast<size_t>(
            std::min<uint64_t>(passed.size(), offset - decoded_)));
    ASSIGN_OR_RETURN(const size_t got, Decode(out));
    if (got > 0) last_.assign(out.data(), got);
    if (got < out.size()) break;
  }
  return absl::OkStatus();
}

absl::StatusOr<size_t> DecodedContent::Decode(std::span<char> out) {
  size_t size = 0;
  while (size < out.size() && !decoder_->defect().has_value()) {
    const Decoder::Progress progress =
        decoder_->Decode(absl::string_view(input_.data() + input_begin_,
                                           input_end_ - input_begin_),
                         out.subspan(size));
    input_begin_ += progress.consumed;
    size += progress.produced;
    if (progress.consumed > 0 || progress.produced > 0) continue;
    if (decoder_->defect().has_value()) break;
    CHECK_EQ(input_begin_, input_end_) << "a decoder that takes nothing";
    input_.resize(kInputBytes);
    const absl::StatusOr<size_t> got = file_.ReadAt(file_offset_, input_);
    if (!got.ok()) {
      // What was decoded in this call is known to nobody.
      Restart();
      return got.status();
    }
    input_begin_ = 0;
    input_end_ = *got;
    file_offset_ += *got;
    if (*got == 0) break;
  }
  decoded_ += size;
  return size;
}

absl::StatusOr<size_t> DecodedContent::Peek(uint64_t offset,
                                            std::span<char> out) {
  DecodedContent anew(file_, compression_);
  return anew.ReadAt(offset, out);
}

absl::StatusOr<uint64_t> DecodedContent::CountNuls() {
  DecodedContent anew(file_, compression_);
  std::vector<char> some(kInputBytes);
  for (uint64_t nuls = 0;;) {
    ASSIGN_OR_RETURN(const size_t got, anew.Decode(some));
    const absl::string_view text(some.data(), got);
    const size_t end = std::min(text.find_first_not_of('\0'), got);
    nuls += end;
    if (end < got || got == 0) return nuls;
  }
}

absl::StatusOr<uint64_t> DecodedContent::SizeUpTo(uint64_t limit) {
  RETURN_IF_ERROR(PassTo(limit));
  return decoded_;
}

std::optional<Defect> DecodedContent::DefectAtEnd() const {
  if (decoder_->defect().has_value()) return decoder_->defect();
  if (!decoder_->MayEnd()) return decoder_->Truncated();
  return std::nullopt;
}

bool DecodedContent::IsUnfinished() const {
  return !decoder_->defect().has_value() && !decoder_->MayEnd();
}

}  // namespace penstock::core
