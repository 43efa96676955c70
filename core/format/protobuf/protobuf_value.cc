#include "core/format/protobuf/protobuf_value.h"

#include "core/format/protobuf/protobuf_time.h"
#include "core/format/rows/typed_value.h"

#include <absl/strings/str_cat.h>

#include <bit>
#include <string>

namespace penstock::core {
namespace {

ValueFault FromMessage(const ProtobufPlaces& places, const ProtobufPlace& place,
                       const Column& column, ValueArena& arena, Value& value,
                       absl::string_view& text) {
  int64_t seconds = 0;
  int32_t nanos = 0;
  places.SecondsOf(place, seconds, nanos);
  text = ProtobufTypeName(places, place);
  if (places.MessageOf(place).well_known == ProtobufWellKnown::kDuration) {
    std::string printed;
    if (!PrintProtobufDuration(seconds, nanos, printed)) {
      return ValueFault::kOutOfRange;
    }
    return ValueOfText(column, printed, arena, value, text);
  }
  if (!IsProtobufTimestamp(seconds, nanos)) return ValueFault::kOutOfRange;
  return ValueOfTime(column,
                     Value::Timestamptz(seconds * 1'000'000 + nanos / 1'000,
                                        static_cast<uint32_t>(nanos % 1'000)),
                     arena, value, text);
}

ValueFault FromSigned(int64_t number, const Column& column, ValueArena& arena,
                      Value& value, absl::string_view& text) {
  if (column.type == SqlType::kBigint) {
    value = Value::Int64(number);
    return ValueFault::kNone;
  }
  return ValueOfToken(column, absl::StrCat(number), arena, value, text);
}

}  // namespace

absl::string_view ProtobufTypeName(const ProtobufPlaces& places,
                                   const ProtobufPlace& place) {
  switch (places.KindOf(place)) {
    case RowToken::kNull:
      return "null";
    case RowToken::kArray:
      return "a repeated field";
    case RowToken::kObject:
      return places.IsMap(place) ? "a map" : "a message";
    case RowToken::kSingle:
      break;
  }
  if (IsMessagePlace(place)) {
    return places.MessageOf(place).well_known == ProtobufWellKnown::kTimestamp
               ? "a Timestamp"
               : "a Duration";
  }
  switch (place.field->type) {
    case ProtobufType::kBool:
      return "a boolean";
    case ProtobufType::kEnum:
      return "a symbol";
    case ProtobufType::kString:
      return "a string";
    case ProtobufType::kBytes:
      return "bytes";
    default:
      return "a number";
  }
}

ValueFault ReadProtobufValue(const ProtobufPlaces& places,
                             const ProtobufPlace& place, const Column& column,
                             ValueArena& arena, Value& value,
                             absl::string_view& text) {
  if (IsMessagePlace(place)) {
    return FromMessage(places, place, column, arena, value, text);
  }
  switch (place.field->type) {
    case ProtobufType::kString:
      text = ProtobufTypeName(places, place);
      return ValueOfString(column, places.BytesOf(place), arena, value, text);
    case ProtobufType::kBytes:
      text = ProtobufTypeName(places, place);
      return ValueOfBytes(column, places.BytesOf(place), arena, value, text);
    case ProtobufType::kDouble:
      return ValueOfReal(column, std::bit_cast<double>(places.NumberOf(place)),
                         arena, value, text);
    case ProtobufType::kFloat:
      return ValueOfReal(
          column,
          std::bit_cast<float>(static_cast<uint32_t>(places.NumberOf(place))),
          arena, value, text);
    case ProtobufType::kBool:
      return ValueOfToken(column,
                          places.NumberOf(place) != 0 ? "true" : "false", arena,
                          value, text);
    case ProtobufType::kEnum: {
      const std::string* const symbol = places.SymbolOf(place);
      if (symbol != nullptr && !IsIntegerType(column.type)) {
        // The schema may be gone before the row is.
        return ValueOfText(column, *symbol, arena, value, text);
      }
      return FromSigned(static_cast<int64_t>(places.NumberOf(place)), column,
                        arena, value, text);
    }
    case ProtobufType::kUint32:
    case ProtobufType::kUint64:
    case ProtobufType::kFixed32:
    case ProtobufType::kFixed64:
      return ValueOfToken(column, absl::StrCat(places.NumberOf(place)), arena,
                          value, text);
    default:
      return FromSigned(static_cast<int64_t>(places.NumberOf(place)), column,
                        arena, value, text);
  }
}

}  // namespace penstock::core
