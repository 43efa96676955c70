#include "core/format/msgpack/msgpack_scanner.h"

#include "core/base/check.h"
#include "core/format/msgpack/msgpack_item.h"

#include <algorithm>

namespace penstock::core {

std::optional<size_t> MsgpackScanner::Next(absl::string_view text, size_t at) {
  DCHECK_LT(at, text.size());
  if (values_left_ == 0 && payload_left_ == 0) values_left_ = 1;
  while (true) {
    const size_t passed = std::min<size_t>(payload_left_, text.size() - at);
    at += passed;
    payload_left_ -= static_cast<uint32_t>(passed);
    if (payload_left_ > 0) return std::nullopt;
    if (values_left_ == 0) return at;
    if (at == text.size()) return std::nullopt;
    const char first = head_size_ > 0 ? head_[0] : text[at];
    const size_t wanted = MsgpackHeadSize(first);
    const char* bytes = text.data() + at;
    if (head_size_ > 0 || text.size() - at < wanted) {
      while (head_size_ < wanted && at < text.size()) {
        head_[head_size_++] = text[at++];
      }
      if (head_size_ < wanted) return std::nullopt;
      bytes = head_.data();
      head_size_ = 0;
    } else {
      at += wanted;
    }
    const MsgpackHead head = ReadMsgpackHead(bytes);
    payload_left_ = head.payload;
    const uint64_t others = values_left_ - 1;
    values_left_ = others + std::min(head.values, UINT64_MAX - others);
  }
}

}  // namespace penstock::core
