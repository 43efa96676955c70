// The lines of a fragment, one after the other.
#pragma once

#include <absl/strings/string_view.h>

#include <cstdint>
#include <cstring>

namespace penstock::core {

// A line inside a text. Offsets are from the start of the text.
struct Line {
  uint32_t begin = 0;
  // Behind the last byte of the line, without its line end.
  uint32_t end = 0;
  // Behind its line end: where the next line begins.
  uint32_t next = 0;
};

// Finds the line that begins at `begin`. It ends at LF or with the text; with
// `strip_cr` one CR before the LF belongs to the line end. A CR elsewhere is a
// byte like any other.
// Requires: begin < text.size() < 2^32.
inline Line LineAt(absl::string_view text, uint32_t begin, bool strip_cr) {
  const char* const from = text.data() + begin;
  const void* const newline = std::memchr(from, '\n', text.size() - begin);
  Line line{.begin = begin};
  if (newline == nullptr) {
    line.end = static_cast<uint32_t>(text.size());
    line.next = line.end;
    return line;
  }
  line.end =
      static_cast<uint32_t>(static_cast<const char*>(newline) - text.data());
  line.next = line.end + 1;
  if (strip_cr && line.end > begin && text[line.end - 1] == '\r') --line.end;
  return line;
}

}  // namespace penstock::core
