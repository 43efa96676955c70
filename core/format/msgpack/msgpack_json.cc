#include "core/format/msgpack/msgpack_json.h"

#include "core/base/json_text.h"
#include "core/format/msgpack/msgpack_item.h"

#include <absl/strings/str_cat.h>

#include <cmath>
#include <cstdint>
#include <vector>

namespace penstock::core {
namespace {

// An array or map that is open.
struct Level {
  bool is_map = false;
  // Values to come, of a map keys, too.
  uint64_t left = 0;
  bool is_first = true;
};

// All but arrays and maps.
ValueFault AppendSingle(const MsgpackItem& item, std::string& json) {
  switch (item.kind) {
    case MsgpackKind::kNil:
      json += "null";
      return ValueFault::kNone;
    case MsgpackKind::kFloat32:
    case MsgpackKind::kFloat64:
      if (!std::isfinite(item.real)) return ValueFault::kNotNumber;
      [[fallthrough]];
    case MsgpackKind::kBool:
    case MsgpackKind::kNegative:
    case MsgpackKind::kUnsigned: {
      MsgpackDigits digits;
      absl::StrAppend(&json, PrintMsgpack(item, digits));
      return ValueFault::kNone;
    }
    case MsgpackKind::kStr:
      if (!IsUtf8(item.bytes)) return ValueFault::kNotUtf8;
      AppendJsonString(item.bytes, json);
      return ValueFault::kNone;
    case MsgpackKind::kBin:
      return ValueFault::kIsBinary;
    default:
      return ValueFault::kIsExtension;
  }
}

// What stands before the next value in `level`, and counts it.
bool BeginValue(Level& level, bool is_string, std::string& json) {
  const bool is_name = level.is_map && level.left % 2 == 0;
  if (is_name && !is_string) return false;
  if (level.is_map && !is_name) {
    json += ':';
  } else if (!level.is_first) {
    json += ',';
  }
  level.is_first = false;
  --level.left;
  return true;
}

}  // namespace

ValueFault MsgpackToJson(absl::string_view value, std::string& json) {
  MsgpackCursor cursor(value);
  std::vector<Level> levels;
  do {
    const MsgpackItem item = cursor.Take();
    if (!levels.empty() &&
        !BeginValue(levels.back(), item.kind == MsgpackKind::kStr, json)) {
      return ValueFault::kNotObject;
    }
    const bool is_map = item.kind == MsgpackKind::kMap;
    if (is_map || item.kind == MsgpackKind::kArray) {
      json += is_map ? '{' : '[';
      levels.push_back(
          {.is_map = is_map, .left = uint64_t{item.count} * (is_map ? 2 : 1)});
    } else {
      const ValueFault fault = AppendSingle(item, json);
      if (fault != ValueFault::kNone) return fault;
    }
    for (; !levels.empty() && levels.back().left == 0; levels.pop_back()) {
      json += levels.back().is_map ? '}' : ']';
    }
  } while (!levels.empty());
  return ValueFault::kNone;
}

}  // namespace penstock::core
