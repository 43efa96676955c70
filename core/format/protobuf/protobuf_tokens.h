// The values of a Protobuf record for readers of rows.
#pragma once

#include "core/format/protobuf/protobuf_document.h"
#include "core/format/protobuf/protobuf_place.h"
#include "core/format/rows/row_token.h"
#include "core/format/value_text/value_fault.h"
#include "core/record/schema.h"
#include "core/record/value.h"
#include "core/record/value_arena.h"

#include <absl/container/inlined_vector.h>
#include <absl/strings/string_view.h>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace penstock::core {

// Messages are objects, and so are maps; a field that is not there is null, or
// its default if its type cannot tell.
// Requires: the document was read, without a fault.
//
// Threads: thread-compatible. Lifetime: a view of the document.
class ProtobufTokens {
 public:
  explicit ProtobufTokens(const ProtobufDocument& document)
      : places_(document), next_(places_.Root()) {}

  // Of what is not there: where the message is that it would be in.
  uint32_t At() const { return places_.AtOf(next_, at_); }
  RowToken Peek() const { return places_.KindOf(places_.Resolve(next_)); }
  uint32_t Enter();
  bool HasNext(size_t place, uint32_t count);
  absl::string_view TakeName(ValueArena& arena);
  void PassColon() const {}
  absl::string_view TakeValue();
  ValueFault TakeSingle(const Column& column, ValueArena& arena, Value& value,
                        absl::string_view& text);
  ValueFault TakeVariant(ValueArena& arena, Value& value,
                         absl::string_view& text);
  std::optional<absl::string_view> TakeKeyBytes(ValueArena& arena);

 private:
  ProtobufPlaces places_;
  absl::InlinedVector<ProtobufWalk, 4> levels_;
  // The value that comes next, and of a map the key before it.
  ProtobufPlace next_;
  ProtobufPlace key_;
  bool is_at_key_ = false;
  uint32_t at_ = 0;
};

}  // namespace penstock::core
