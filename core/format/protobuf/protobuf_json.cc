#include "core/format/protobuf/protobuf_time.h"
#include "core/format/protobuf/protobuf_value.h"
#include "core/format/rows/typed_value.h"

#include <absl/container/flat_hash_map.h>
#include <absl/strings/escaping.h>
#include <absl/strings/str_cat.h>

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <string>
#include <utility>

namespace penstock::core {
namespace {

template <typename Real>
void AppendReal(Real real, std::string& json) {
  if (std::isnan(real)) {
    json += "\"NaN\"";
  } else if (std::isinf(real)) {
    json += real < 0 ? "\"-Infinity\"" : "\"Infinity\"";
  } else {
    std::array<char, 32> digits;
    const std::to_chars_result end =
        std::to_chars(digits.data(), digits.data() + digits.size(), real);
    json.append(digits.data(), end.ptr);
  }
}

ValueFault AppendTime(const ProtobufPlaces& places, const ProtobufPlace& place,
                      std::string& json) {
  int64_t seconds = 0;
  int32_t nanos = 0;
  places.SecondsOf(place, seconds, nanos);
  const bool is_moment =
      places.MessageOf(place).well_known == ProtobufWellKnown::kTimestamp;
  bool is_good = true;
  json += '"';
  if (!is_moment) {
    is_good = PrintProtobufDuration(seconds, nanos, json);
  } else if ((is_good = IsProtobufTimestamp(seconds, nanos))) {
    PrintProtobufTimestamp(seconds, nanos, json);
  }
  json += '"';
  return is_good ? ValueFault::kNone : ValueFault::kOutOfRange;
}

ValueFault AppendSingle(const ProtobufPlaces& places,
                        const ProtobufPlace& place, std::string& json) {
  if (IsMessagePlace(place)) return AppendTime(places, place, json);
  switch (place.field->type) {
    case ProtobufType::kString:
      return AppendTextJson(places.BytesOf(place), json);
    case ProtobufType::kBytes:
      json += '"';
      json += absl::Base64Escape(places.BytesOf(place));
      json += '"';
      return ValueFault::kNone;
    case ProtobufType::kDouble:
      AppendReal(std::bit_cast<double>(places.NumberOf(place)), json);
      return ValueFault::kNone;
    case ProtobufType::kFloat:
      AppendReal(
          std::bit_cast<float>(static_cast<uint32_t>(places.NumberOf(place))),
          json);
      return ValueFault::kNone;
    case ProtobufType::kBool:
      json += places.NumberOf(place) != 0 ? "true" : "false";
      return ValueFault::kNone;
    case ProtobufType::kEnum: {
      const std::string* const symbol = places.SymbolOf(place);
      if (symbol != nullptr) return AppendTextJson(*symbol, json);
      absl::StrAppend(&json, static_cast<int64_t>(places.NumberOf(place)));
      return ValueFault::kNone;
    }
    case ProtobufType::kUint32:
    case ProtobufType::kUint64:
    case ProtobufType::kFixed32:
    case ProtobufType::kFixed64:
      absl::StrAppend(&json, places.NumberOf(place));
      return ValueFault::kNone;
    default:
      absl::StrAppend(&json, static_cast<int64_t>(places.NumberOf(place)));
      return ValueFault::kNone;
  }
}

// The name that a map's key is in JSON, with its quotes.
ValueFault AppendKey(const ProtobufPlaces& places, const ProtobufPlace& key,
                     std::string& json) {
  if (key.field->type == ProtobufType::kString) {
    return AppendSingle(places, key, json);
  }
  json += '"';
  const ValueFault fault = AppendSingle(places, key, json);
  json += '"';
  return fault;
}

ValueFault AppendMap(const ProtobufPlaces& places, const ProtobufPlace& place,
                     std::string& json) {
  // Of equal keys the last one counts.
  absl::flat_hash_map<std::string, size_t> last;
  ProtobufPlace key;
  ProtobufPlace value;
  ValueFault fault = ValueFault::kNone;
  ProtobufWalk walk = places.Walk(place);
  for (size_t i = 0; places.Next(walk, i, key, value); ++i) {
    std::string name;
    fault = FirstFault(fault, AppendKey(places, key, name));
    last[name] = i;
  }
  json += '{';
  bool is_first = true;
  walk = places.Walk(place);
  for (size_t i = 0; places.Next(walk, i, key, value); ++i) {
    std::string name;
    AppendKey(places, key, name);
    if (last[name] != i) continue;
    if (!std::exchange(is_first, false)) json += ',';
    absl::StrAppend(&json, name, ":");
    fault = FirstFault(fault, ProtobufToJson(places, value, json));
  }
  json += '}';
  return fault;
}

ValueFault AppendArray(const ProtobufPlaces& places, const ProtobufPlace& place,
                       std::string& json) {
  ProtobufPlace key;
  ProtobufPlace value;
  ValueFault fault = ValueFault::kNone;
  ProtobufWalk walk = places.Walk(place);
  json += '[';
  for (size_t i = 0; places.Next(walk, i, key, value); ++i) {
    if (i > 0) json += ',';
    fault = FirstFault(fault, ProtobufToJson(places, value, json));
  }
  json += ']';
  return fault;
}

ValueFault AppendMessage(const ProtobufPlaces& places,
                         const ProtobufPlace& place, std::string& json) {
  ProtobufPlace key;
  ProtobufPlace value;
  ValueFault fault = ValueFault::kNone;
  ProtobufWalk walk = places.Walk(place);
  bool is_first = true;
  json += '{';
  for (size_t i = 0; places.Next(walk, i, key, value); ++i) {
    const bool is_unset =
        value.item == ProtobufPlace::kUnset && value.field->has_presence;
    if (is_unset) continue;
    if (!std::exchange(is_first, false)) json += ',';
    fault = FirstFault(fault, AppendTextJson(value.field->name, json));
    json += ':';
    fault = FirstFault(fault, ProtobufToJson(places, value, json));
  }
  json += '}';
  return fault;
}

}  // namespace

ValueFault ProtobufToJson(const ProtobufPlaces& places, const ProtobufPlace& of,
                          std::string& json) {
  const ProtobufPlace place = places.Resolve(of);
  switch (places.KindOf(place)) {
    case RowToken::kNull:
      json += "null";
      return ValueFault::kNone;
    case RowToken::kSingle:
      return AppendSingle(places, place, json);
    case RowToken::kArray:
      return AppendArray(places, place, json);
    case RowToken::kObject:
      return places.IsMap(place) ? AppendMap(places, place, json)
                                 : AppendMessage(places, place, json);
  }
  return ValueFault::kNone;
}

}  // namespace penstock::core
