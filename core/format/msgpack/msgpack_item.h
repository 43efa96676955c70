// What stands at the beginning of a MessagePack value.
// Source: the MessagePack specification, "Formats"
// (github.com/msgpack/msgpack/blob/master/spec.md, version of 2017-08-09).
#pragma once

#include <absl/strings/string_view.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace penstock::core {

// Deepest nesting of arrays and maps; deeper records are bad.
inline constexpr size_t kMsgpackDepthMax = 256;

enum class MsgpackKind : uint8_t {
  kNil,
  kBool,
  // An integer that is negative, and any other, whatever its format.
  kNegative,
  kUnsigned,
  kFloat32,
  kFloat64,
  kStr,
  kBin,
  kArray,
  kMap,
  kExt,
  // The byte 0xc1, which begins no value.
  kInvalid,
};

// The type of a value, and how long it claims to be. What a claim is worth
// shows only when the bytes are there: nothing is allocated for it.
struct MsgpackHead {
  MsgpackKind kind = MsgpackKind::kNil;
  // kExt: the application's type.
  int8_t ext_type = 0;
  // Bytes of the head; behind it come `payload` bytes, then `values` values.
  uint8_t size = 1;
  uint32_t payload = 0;
  // Of an array, or keys and values of a map.
  uint64_t values = 0;
};

// How many bytes the head has that begins with `first`: 1 to 6.
size_t MsgpackHeadSize(char first);
// Requires: MsgpackHeadSize(*bytes) bytes can be read.
MsgpackHead ReadMsgpackHead(const char* bytes);

// One value, or the beginning of an array or map.
struct MsgpackItem {
  MsgpackKind kind = MsgpackKind::kNil;
  int8_t ext_type = 0;
  bool boolean = false;
  // kArray, kMap: its elements, or its pairs.
  uint32_t count = 0;
  // kNegative, kUnsigned.
  int64_t negative = 0;
  uint64_t number = 0;
  // kFloat32, kFloat64.
  double real = 0;
  // kStr, kBin, kExt.
  absl::string_view bytes;
};

// The text of a boolean or number: integers digit for digit, floats with the
// fewest digits that give them back, "NaN", "Infinity", "-Infinity".
// Lifetime: of `digits`, which it may use. Requires: one of these kinds.
using MsgpackDigits = std::array<char, 32>;
absl::string_view PrintMsgpack(const MsgpackItem& item, MsgpackDigits& digits);

// Reads values that are known to be whole, one after the other.
// Threads: thread-compatible. Lifetime: a view of the text.
class MsgpackCursor {
 public:
  explicit MsgpackCursor(absl::string_view text) : text_(text) {}

  uint32_t At() const { return static_cast<uint32_t>(at_); }
  MsgpackKind PeekKind() const {
    return ReadMsgpackHead(text_.data() + at_).kind;
  }
  // Of an array or map only its head is passed.
  MsgpackItem Take();
  // Passes a value, whatever is in it; its bytes.
  absl::string_view TakeValue();

 private:
  const absl::string_view text_;
  size_t at_ = 0;
};

}  // namespace penstock::core
