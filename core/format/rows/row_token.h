// What a RowReader asks of the values of a record, whatever their format.
#pragma once

#include "core/format/value_text/value_fault.h"
#include "core/record/schema.h"
#include "core/record/value.h"
#include "core/record/value_arena.h"

#include <absl/strings/string_view.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace penstock::core {

// What stands next.
enum class RowToken : uint8_t {
  kNull,
  // Text, a number or the like.
  kSingle,
  kArray,
  // Members, or keys and values.
  kObject,
};

// The values of one record that is known to be good, one after the other:
//   At           where the next one begins, from the record's first byte
//   Peek         what it is
//   Enter        passes the beginning of an array or object; for HasNext
//   HasNext      whether there is an element or member number `place`, to which
//                it moves; otherwise behind the array or object
//   TakeName     passes a member's name
//   PassColon    passes what stands between a key and its value
//   TakeValue    passes a value of any kind; what to call it in a message
//   TakeSingle   passes a value and makes one for the column of it. On a fault
//                `text` is what to call it, until the next call
//   TakeVariant  likewise
//   TakeKeyBytes passes a value; its text or bytes, as a key has them. nullopt:
//                none is a key
// None is asked beyond the end of the record.
template <typename Tokens>
concept RowTokens = requires(Tokens tokens, const Column& column,
                             ValueArena& arena, Value& value,
                             absl::string_view& text) {
  { tokens.At() } -> std::same_as<uint32_t>;
  { tokens.Peek() } -> std::same_as<RowToken>;
  { tokens.Enter() } -> std::same_as<uint32_t>;
  { tokens.HasNext(size_t{}, uint32_t{}) } -> std::same_as<bool>;
  { tokens.TakeName(arena) } -> std::same_as<absl::string_view>;
  tokens.PassColon();
  { tokens.TakeValue() } -> std::same_as<absl::string_view>;
  { tokens.TakeSingle(column, arena, value, text) } -> std::same_as<ValueFault>;
  { tokens.TakeVariant(arena, value, text) } -> std::same_as<ValueFault>;
  {
    tokens.TakeKeyBytes(arena)
    } -> std::same_as<std::optional<absl::string_view>>;
};

// Whether a number, true or false that is no text can be a value of `type`.
constexpr bool TakesToken(SqlType type) {
  switch (type) {
    case SqlType::kVarbinary:
    case SqlType::kDate:
    case SqlType::kTime:
    case SqlType::kTimestamp:
    case SqlType::kTimestamptz:
    case SqlType::kUuid:
      return false;
    default:
      return true;
  }
}

}  // namespace penstock::core
