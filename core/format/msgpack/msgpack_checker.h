// Whether a record is one good MessagePack value, and where its key is.
#pragma once

#include "core/format/ndjson/key_path.h"

#include <absl/strings/string_view.h>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace penstock::core {

enum class MsgpackFault : uint8_t {
  kNone,
  // The byte 0xc1 where a value must begin.
  kSyntax,
  // The text ends inside of the value.
  kCutOff,
  // Something stands behind the value.
  kTrailingData,
  kTooDeep,
};

struct MsgpackVerdict {
  MsgpackFault fault = MsgpackFault::kNone;
  // Of the byte that is wrong, from the text's first byte; otherwise, and if
  // something stands behind the value, where it ends.
  size_t position = 0;
  // Where the value at the key's path begins. Of equal names the last one
  // counts, whatever it holds. Also if something stands behind the value.
  std::optional<size_t> key;
};

// Looks at `text` once. Names are strings; arrays are not entered for a key.
// Bound: kMsgpackDepthMax levels; nothing recursive.
MsgpackVerdict CheckMsgpack(absl::string_view text, const KeyPath* key);

}  // namespace penstock::core
