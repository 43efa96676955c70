// The values of a MessagePack record for readers of rows.
#pragma once

#include "core/format/msgpack/msgpack_item.h"
#include "core/format/rows/row_token.h"
#include "core/format/value_text/value_fault.h"
#include "core/record/schema.h"
#include "core/record/value.h"
#include "core/record/value_arena.h"

#include <absl/strings/string_view.h>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace penstock::core {

// Threads: thread-compatible. Lifetime: a view of the record.
class MsgpackTokens {
 public:
  explicit MsgpackTokens(absl::string_view record) : cursor_(record) {}

  uint32_t At() const { return cursor_.At(); }
  RowToken Peek() const;
  // How many it has.
  uint32_t Enter() { return cursor_.Take().count; }
  bool HasNext(size_t place, uint32_t count) const { return place < count; }
  // Empty if it is no string, which no column is called.
  absl::string_view TakeName(ValueArena& arena);
  void PassColon() const {}
  absl::string_view TakeValue();
  ValueFault TakeSingle(const Column& column, ValueArena& arena, Value& value,
                        absl::string_view& text);
  ValueFault TakeVariant(ValueArena& arena, Value& value,
                         absl::string_view& text);
  std::optional<absl::string_view> TakeKeyBytes(ValueArena& arena);

 private:
  // A number, true or false.
  ValueFault TakeToken(const Column& column, const MsgpackItem& item,
                       ValueArena& arena, Value& value,
                       absl::string_view& text);

  MsgpackCursor cursor_;
  // The text of a number.
  MsgpackDigits digits_ = {};
};

}  // namespace penstock::core
