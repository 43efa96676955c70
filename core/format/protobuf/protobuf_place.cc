#include "core/format/protobuf/protobuf_place.h"

#include "core/format/protobuf/protobuf_wire.h"

namespace penstock::core {
namespace {

constexpr uint32_t kUnset = ProtobufPlace::kUnset;

// Of a number in packed ones, which are known to be whole.
size_t ValueBytes(absl::string_view record, ProtobufWire wire, size_t at) {
  if (wire == ProtobufWire::kFixed64) return 8;
  if (wire == ProtobufWire::kFixed32) return 4;
  const size_t begin = at;
  uint64_t ignored = 0;
  ReadVarint(record, at, ignored);
  return at - begin;
}

bool IsRepeated(const ProtobufPlace& place) {
  return place.field != nullptr && !place.is_element &&
         place.field->shape != ProtobufShape::kSingular;
}

}  // namespace

bool IsMessagePlace(const ProtobufPlace& place) {
  if (place.field == nullptr) return true;
  return !IsRepeated(place) && (place.field->type == ProtobufType::kMessage ||
                                place.field->type == ProtobufType::kGroup);
}

const ProtobufMessage& ProtobufPlaces::MessageOf(
    const ProtobufPlace& place) const {
  return document_->schema().message(place.field == nullptr ? document_->root()
                                                            : place.field->of);
}

ProtobufPlace ProtobufPlaces::TakeField(const ProtobufMessage& message,
                                        uint32_t place, uint32_t& next,
                                        uint32_t end) const {
  ProtobufPlace found{.field = &message.fields[place]};
  while (next < end && document_->item(next).field <= place) {
    const ProtobufItem& item = document_->item(next);
    if (item.field == place && found.item == kUnset) {
      found.item = next;
      found.at = item.begin;
    }
    next = item.end;
  }
  found.end = next;
  return found;
}

ProtobufPlace ProtobufPlaces::FieldOf(const ProtobufMessage& message,
                                      uint32_t item, uint32_t place) const {
  if (item == kUnset) return {.field = &message.fields[place]};
  uint32_t next = item + 1;
  return TakeField(message, place, next, document_->item(item).end);
}

bool ProtobufPlaces::IsNull(const ProtobufPlace& place) const {
  if (place.item != kUnset || place.field == nullptr) return false;
  return !IsRepeated(place) && place.field->has_presence;
}

ProtobufPlace ProtobufPlaces::Resolve(ProtobufPlace place) const {
  while (IsMessagePlace(place) && !IsNull(place)) {
    const ProtobufMessage& message = MessageOf(place);
    switch (message.well_known) {
      case ProtobufWellKnown::kWrapper:
      case ProtobufWellKnown::kStruct:
      case ProtobufWellKnown::kListValue:
        place = FieldOf(message, place.item, 0);
        break;
      case ProtobufWellKnown::kValue: {
        // Its one oneof; null if nothing is set.
        const uint32_t inner = place.item + 1;
        const bool is_set =
            place.item != kUnset && inner < document_->item(place.item).end;
        if (!is_set) return {.field = &message.fields[0]};
        place = FieldOf(message, place.item, document_->item(inner).field);
        break;
      }
      default:
        return place;
    }
  }
  return place;
}

bool ProtobufPlaces::IsMap(const ProtobufPlace& place) const {
  return IsRepeated(place) && place.field->shape == ProtobufShape::kMap;
}

RowToken ProtobufPlaces::KindOf(const ProtobufPlace& place) const {
  if (IsNull(place)) return RowToken::kNull;
  if (IsMap(place)) return RowToken::kObject;
  if (IsRepeated(place)) return RowToken::kArray;
  if (IsMessagePlace(place)) {
    const ProtobufWellKnown kind = MessageOf(place).well_known;
    return kind == ProtobufWellKnown::kTimestamp ||
                   kind == ProtobufWellKnown::kDuration
               ? RowToken::kSingle
               : RowToken::kObject;
  }
  const bool is_null_value =
      place.field->type == ProtobufType::kEnum &&
      document_->schema().enumeration(place.field->of).is_null;
  return is_null_value ? RowToken::kNull : RowToken::kSingle;
}

ProtobufWalk ProtobufPlaces::Walk(const ProtobufPlace& place) const {
  ProtobufWalk walk;
  if (IsRepeated(place)) {
    walk.field = place.field;
  } else {
    walk.message = &MessageOf(place);
  }
  if (place.item == kUnset) return walk;
  walk.next = IsRepeated(place) ? place.item : place.item + 1;
  walk.end = place.end;
  return walk;
}

ProtobufPlace ProtobufPlaces::TakeElement(ProtobufWalk& walk) const {
  const ProtobufItem& item = document_->item(walk.next);
  ProtobufPlace element{.field = walk.field,
                        .item = walk.next,
                        .end = item.end,
                        .at = item.begin,
                        .is_element = true};
  if (!item.is_packed) {
    walk.next = item.end;
    return element;
  }
  if (walk.packed_at == 0) walk.packed_at = item.begin;
  element.at = walk.packed_at;
  walk.packed_at += static_cast<uint32_t>(
      ValueBytes(document_->record(), WireOf(walk.field->type), element.at));
  if (walk.packed_at == item.begin + item.size) {
    walk.packed_at = 0;
    walk.next = item.end;
  }
  return element;
}

bool ProtobufPlaces::Next(ProtobufWalk& walk, size_t place, ProtobufPlace& key,
                          ProtobufPlace& value) const {
  if (walk.field == nullptr) {
    if (place == walk.message->fields.size()) return false;
    value = TakeField(*walk.message, static_cast<uint32_t>(place), walk.next,
                      walk.end);
    return true;
  }
  if (walk.next == walk.end) return false;
  value = TakeElement(walk);
  if (walk.field->shape == ProtobufShape::kMap) {
    const ProtobufMessage& entry = MessageOf(value);
    const uint32_t item = value.item;
    key = FieldOf(entry, item, 0);
    value = FieldOf(entry, item, 1);
  }
  return true;
}

uint64_t ProtobufPlaces::NumberOf(const ProtobufPlace& place) const {
  if (place.item == kUnset) return 0;
  const absl::string_view record = document_->record();
  const ProtobufType type = place.field->type;
  switch (WireOf(type)) {
    case ProtobufWire::kFixed64:
      return ReadFixed<uint64_t>(record, place.at);
    case ProtobufWire::kFixed32: {
      const auto number = ReadFixed<uint32_t>(record, place.at);
      if (type != ProtobufType::kSfixed32) return number;
      return static_cast<uint64_t>(
          static_cast<int64_t>(static_cast<int32_t>(number)));
    }
    default:
      break;
  }
  size_t at = place.at;
  uint64_t number = 0;
  ReadVarint(record, at, number);
  switch (type) {
    case ProtobufType::kBool:
      return number != 0 ? 1 : 0;
    case ProtobufType::kUint32:
      return static_cast<uint32_t>(number);
    case ProtobufType::kInt32:
    case ProtobufType::kEnum:
      return static_cast<uint64_t>(
          static_cast<int64_t>(static_cast<int32_t>(number)));
    case ProtobufType::kSint32:
      return static_cast<uint64_t>(FromZigzag(static_cast<uint32_t>(number)));
    case ProtobufType::kSint64:
      return static_cast<uint64_t>(FromZigzag(number));
    default:
      return number;
  }
}

absl::string_view ProtobufPlaces::BytesOf(const ProtobufPlace& place) const {
  if (place.item == kUnset) return "";
  return document_->record().substr(place.at, document_->item(place.item).size);
}

const std::string* ProtobufPlaces::SymbolOf(const ProtobufPlace& place) const {
  return document_->schema()
      .enumeration(place.field->of)
      .Find(static_cast<int32_t>(NumberOf(place)));
}

void ProtobufPlaces::SecondsOf(const ProtobufPlace& place, int64_t& seconds,
                               int32_t& nanos) const {
  const ProtobufMessage& message = MessageOf(place);
  seconds = static_cast<int64_t>(NumberOf(FieldOf(message, place.item, 0)));
  nanos = static_cast<int32_t>(NumberOf(FieldOf(message, place.item, 1)));
}

uint32_t ProtobufPlaces::AtOf(const ProtobufPlace& place,
                              uint32_t parent) const {
  if (place.item == kUnset) return parent;
  return place.field == nullptr ? document_->item(0).begin : place.at;
}

}  // namespace penstock::core
