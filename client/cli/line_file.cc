#include "client/cli/line_file.h"

#include "core/base/status_macros.h"

#include <absl/strings/strip.h>

#include <cstring>
#include <memory>
#include <span>
#include <vector>

namespace penstock::client {
namespace {

constexpr size_t kReadBytes = size_t{4} << 20;

bool IsBlank(absl::string_view line) {
  return line.find_first_not_of(" \t\r") == absl::string_view::npos;
}

}  // namespace

absl::Status ForEachLine(
    core::Content& content, LineOptions options,
    absl::FunctionRef<void(uint64_t offset, absl::string_view line)> on_line) {
  std::vector<char> bytes(kReadBytes);
  size_t held = 0;
  uint64_t offset = 0;  // Of bytes[0].
  while (true) {
    if (held == bytes.size()) bytes.resize(bytes.size() * 2);
    ASSIGN_OR_RETURN(
        const size_t got,
        content.ReadAt(offset + held, std::span<char>(bytes.data() + held,
                                                      bytes.size() - held)));
    const bool at_end = got == 0;
    held += got;
    size_t begin = 0;
    while (begin < held) {
      const void* newline =
          std::memchr(bytes.data() + begin, '\n', held - begin);
      const bool gives_last =
          at_end && !options.whole_only && !content.DefectAtEnd().has_value();
      if (newline == nullptr && !gives_last) break;
      const size_t end =
          newline == nullptr
              ? held
              : static_cast<size_t>(static_cast<const char*>(newline) -
                                    bytes.data());
      absl::string_view line(bytes.data() + begin, end - begin);
      if (newline != nullptr) absl::ConsumeSuffix(&line, "\r");
      if (!options.skip_blank || !IsBlank(line)) on_line(offset + begin, line);
      begin = newline == nullptr ? held : end + 1;
    }
    if (at_end) return absl::OkStatus();
    std::memmove(bytes.data(), bytes.data() + begin, held - begin);
    offset += begin;
    held -= begin;
  }
}

absl::StatusOr<std::string> LineAt(core::Content& content, uint64_t offset) {
  std::string line;
  char bytes[4096];
  while (true) {
    ASSIGN_OR_RETURN(const size_t got,
                     content.ReadAt(offset + line.size(), bytes));
    if (got == 0) return line;
    const void* newline = std::memchr(bytes, '\n', got);
    if (newline == nullptr) {
      line.append(bytes, got);
      continue;
    }
    line.append(bytes,
                static_cast<size_t>(static_cast<const char*>(newline) - bytes));
    return line;
  }
}

}  // namespace penstock::client
