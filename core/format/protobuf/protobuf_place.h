// The values of a Protobuf record, from outside inwards.
#pragma once

#include "core/format/protobuf/protobuf_document.h"
#include "core/format/protobuf/protobuf_schema.h"
#include "core/format/rows/row_token.h"

#include <absl/strings/string_view.h>

#include <cstddef>
#include <cstdint>

namespace penstock::core {

// A field's value, or an element of a repeated one. Requires of all: the
// document has been read.
//
// Threads: thread-compatible. Lifetime: a view of the document.
struct ProtobufPlace {
  static constexpr uint32_t kUnset = UINT32_MAX;

  // Null: the record itself.
  const ProtobufField* field = nullptr;
  // The first of its items; kUnset: there is none. And behind the last.
  uint32_t item = kUnset;
  uint32_t end = 0;
  // Of a scalar: where it begins.
  uint32_t at = 0;
  // Of a repeated field: one element.
  bool is_element = false;
};

// What may be walked through: a message's fields, all that its type has, in the
// order of their numbers; elements; a map's entries as they came, keys perhaps
// twice.
struct ProtobufWalk {
  // Of a message.
  const ProtobufMessage* message = nullptr;
  // Of elements or entries; null: of a message.
  const ProtobufField* field = nullptr;
  // The next item and the one behind the last.
  uint32_t next = 0;
  uint32_t end = 0;
  // Of packed elements: the next one's first byte, and where they end.
  uint32_t packed_at = 0;
  uint32_t packed_end = 0;
};

class ProtobufPlaces {
 public:
  explicit ProtobufPlaces(const ProtobufDocument& document)
      : document_(&document) {}

  const ProtobufDocument& document() const { return *document_; }
  ProtobufPlace Root() const {
    return {.item = 0, .end = document_->item(0).end};
  }

  // What the place stands for: of wrappers, Struct, ListValue and Value what is
  // in them.
  ProtobufPlace Resolve(ProtobufPlace place) const;
  // Of a resolved one. Timestamps and Durations are single.
  RowToken KindOf(const ProtobufPlace& place) const;
  bool IsMap(const ProtobufPlace& place) const;
  // The message of a place that is one.
  const ProtobufMessage& MessageOf(const ProtobufPlace& place) const;

  // Of a resolved array or object.
  ProtobufWalk Walk(const ProtobufPlace& place) const;
  // Moves on. Requires of a message: its fields are asked for in their order.
  // Of a message `value` is its field number `place`; of a map `key`
  // and `value` are the entry's. False: it is at its end.
  bool Next(ProtobufWalk& walk, size_t place, ProtobufPlace& key,
            ProtobufPlace& value) const;

  // Of a single value; unset ones are their defaults.
  // The integer: of floats the bits.
  uint64_t NumberOf(const ProtobufPlace& place) const;
  absl::string_view BytesOf(const ProtobufPlace& place) const;
  // Of an enum; null: it has no name.
  const std::string* SymbolOf(const ProtobufPlace& place) const;
  // Of a Timestamp or Duration.
  void SecondsOf(const ProtobufPlace& place, int64_t& seconds,
                 int32_t& nanos) const;
  // Where it begins in the record; `parent` if it is not there.
  uint32_t AtOf(const ProtobufPlace& place, uint32_t parent) const;

 private:
  // A field of the message at an item, which may be kUnset.
  ProtobufPlace FieldOf(const ProtobufMessage& message, uint32_t item,
                        uint32_t place) const;
  bool IsNull(const ProtobufPlace& place) const;
  // The field whose items, if any, are the next ones before `end`.
  ProtobufPlace TakeField(const ProtobufMessage& message, uint32_t place,
                          uint32_t& next, uint32_t end) const;
  // The next element of a walk that is not at its end.
  ProtobufPlace TakeElement(ProtobufWalk& walk) const;

  const ProtobufDocument* document_;
};

// Whether a message or group is there.
bool IsMessagePlace(const ProtobufPlace& place);

}  // namespace penstock::core
