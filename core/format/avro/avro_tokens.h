// The values of an Avro datum for readers of rows.
#pragma once

#include "core/format/avro/avro_cursor.h"
#include "core/format/avro/avro_schema.h"
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
#include <string>

namespace penstock::core {

// Records are objects, and so are maps; a union is what its branch is.
// Requires: CheckAvro calls the datum good.
//
// Threads: thread-compatible. Lifetime: a view of schema and datum.
class AvroTokens {
 public:
  // As AvroCursor.
  AvroTokens(const AvroSchema& schema, absl::string_view datum, size_t begin)
      : cursor_(schema, datum, begin), next_(&schema.root()) {}

  uint32_t At() const { return static_cast<uint32_t>(cursor_.at()); }
  RowToken Peek() const;
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
  // A record, array or map that was entered.
  struct Level {
    const AvroNode* node = nullptr;
    // Of an array or map: how many are left of the block.
    uint64_t left = 0;
  };

  // The key that comes next, of a map or record.
  absl::string_view TakeKey();

  AvroCursor cursor_;
  absl::InlinedVector<Level, 4> levels_;
  // The type of the value that comes next, perhaps a union.
  const AvroNode* next_;
  // Of a record: the field that comes next.
  size_t field_ = 0;
  bool is_at_key_ = false;
};

// Appends the JSON that says the same as the value that comes next, of `node`,
// and passes it. Errors: kIsBinary, kNotUtf8, kNotNumber (no finite one): JSON
// cannot say it; the value is passed all the same.
ValueFault AvroToJson(AvroCursor& cursor, const AvroNode& node,
                      std::string& json);

// What to call a value of `node` in a message.
absl::string_view AvroTypeName(const AvroNode& node);

}  // namespace penstock::core
