// Where MessagePack values end.
#pragma once

#include <absl/strings/string_view.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace penstock::core {

// Finds the end of each value in a stream of them. It judges none: a byte that
// begins no value is passed like nil, a length is believed, for there is no
// other way to find what comes next.
//
// Owner:   a splitter, or a Parse call. Threads: thread-compatible.
// Bound:   its own size, whatever nests how deep and claims to be how long.
class MsgpackScanner {
 public:
  // Goes on at text[at] until a value ends. Returns where: at the byte behind
  // it. nullopt: not in `text`; the next call goes on at the next one's
  // beginning. Requires: at < text.size().
  std::optional<size_t> Next(absl::string_view text, size_t at);

 private:
  // Values that are still to come before this one ends, none if none has begun;
  // at most 2^64 - 1, which no stream holds.
  uint64_t values_left_ = 0;
  uint32_t payload_left_ = 0;
  // A head that a text's end cut off.
  size_t head_size_ = 0;
  std::array<char, 6> head_ = {};
};

}  // namespace penstock::core
