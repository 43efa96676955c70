#include "core/format/protobuf/protobuf_tokens.h"

#include "core/format/protobuf/protobuf_value.h"
#include "core/format/rows/whole_record.h"

#include <string>
#include <utility>

namespace penstock::core {
uint32_t ProtobufTokens::Enter() {
  at_ = At();
  levels_.push_back(places_.Walk(places_.Resolve(next_)));
  const ProtobufMessage* const message = levels_.back().message;
  return message == nullptr ? 0 : static_cast<uint32_t>(message->fields.size());
}

bool ProtobufTokens::HasNext(size_t place, uint32_t /*count*/) {
  ProtobufWalk& walk = levels_.back();
  if (!places_.Next(walk, place, key_, next_)) {
    levels_.pop_back();
    return false;
  }
  is_at_key_ =
      walk.message == nullptr && walk.field->shape == ProtobufShape::kMap;
  return true;
}

absl::string_view ProtobufTokens::TakeName(ValueArena& arena) {
  if (!std::exchange(is_at_key_, false)) return next_.field->name;
  Value value;
  absl::string_view text;
  const ValueFault fault = ReadProtobufValue(
      places_, key_, EnvelopeTextColumn(), arena, value, text);
  return fault == ValueFault::kNone ? value.AsString() : text;
}

absl::string_view ProtobufTokens::TakeValue() {
  const ProtobufPlace& taken = std::exchange(is_at_key_, false) ? key_ : next_;
  return ProtobufTypeName(places_, places_.Resolve(taken));
}

ValueFault ProtobufTokens::TakeSingle(const Column& column, ValueArena& arena,
                                      Value& value, absl::string_view& text) {
  const ProtobufPlace place =
      places_.Resolve(std::exchange(is_at_key_, false) ? key_ : next_);
  if (places_.KindOf(place) != RowToken::kSingle) {
    text = ProtobufTypeName(places_, place);
    return ValueFault::kNotSingle;
  }
  return ReadProtobufValue(places_, place, column, arena, value, text);
}

ValueFault ProtobufTokens::TakeVariant(ValueArena& arena, Value& value,
                                       absl::string_view& text) {
  text = ProtobufTypeName(places_, places_.Resolve(next_));
  std::string json;
  const ValueFault fault = ProtobufToJson(places_, next_, json);
  if (fault == ValueFault::kNone) value = Value::Variant(arena.Copy(json));
  return fault;
}

std::optional<absl::string_view> ProtobufTokens::TakeKeyBytes(
    ValueArena& arena) {
  return TakeTextOrBytes(*this, arena);
}

}  // namespace penstock::core
