#include "core/sources/file/stream_file.h"

#include "core/base/error.h"
#include "core/base/status_macros.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <cstring>
#include <optional>

namespace penstock::core {
namespace {

absl::Status NotWritten() {
  return MakeError(Reason::INTERNAL, "a stream is only read");
}

}  // namespace

absl::StatusOr<size_t> StreamFile::ReadAt(uint64_t offset,
                                          std::span<char> out) {
  if (offset < begin_ || offset > end()) {
    return MakeError(Reason::INTERNAL,
                     absl::StrCat("a stream is read at ", offset,
                                  ", but holds ", begin_, " to ", end()));
  }
  const auto from = static_cast<size_t>(offset - begin_);
  size_t size = std::min(kept_.size() - from, out.size());
  std::memcpy(out.data(), kept_.data() + from, size);
  while (size < out.size() && !has_ended_) {
    ASSIGN_OR_RETURN(const std::optional<size_t> got,
                     input_.Read(out.subspan(size)));
    if (!got.has_value()) break;
    has_ended_ = *got == 0;
    kept_.append(out.data() + size, *got);
    size += *got;
  }
  return size;
}

void StreamFile::LetGo(uint64_t offset) {
  const uint64_t to = std::clamp(offset, begin_, end());
  kept_.erase(0, static_cast<size_t>(to - begin_));
  begin_ = to;
}

absl::StatusOr<FileStat> StreamFile::Stat() {
  return FileStat{.size = end(), .type = FileType::kOther};
}

absl::Status StreamFile::Append(absl::string_view /*bytes*/) {
  return NotWritten();
}
absl::Status StreamFile::Sync() { return NotWritten(); }
absl::Status StreamFile::Truncate(uint64_t /*size*/) { return NotWritten(); }

}  // namespace penstock::core
