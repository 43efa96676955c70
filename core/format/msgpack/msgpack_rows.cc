#include "core/format/msgpack/msgpack_rows.h"

#include "core/base/json_text.h"
#include "core/format/msgpack/msgpack_item.h"
#include "core/format/msgpack/msgpack_json.h"
#include "core/format/msgpack/msgpack_row_tokens.h"
#include "core/format/rows/row_reader_inl.h"
#include "core/format/value_text/value_text.h"

#include <string>

namespace penstock::core {
namespace {

absl::string_view NameOf(MsgpackKind kind) {
  switch (kind) {
    case MsgpackKind::kNil:
      return "nil";
    case MsgpackKind::kBool:
      return "a boolean";
    case MsgpackKind::kNegative:
    case MsgpackKind::kUnsigned:
    case MsgpackKind::kFloat32:
    case MsgpackKind::kFloat64:
      return "a number";
    case MsgpackKind::kStr:
      return "a string";
    case MsgpackKind::kBin:
      return "bytes";
    case MsgpackKind::kArray:
      return "an array";
    case MsgpackKind::kMap:
      return "a map";
    case MsgpackKind::kExt:
      return "an extension";
    case MsgpackKind::kInvalid:
      break;
  }
  return "nothing";
}

// Whether the value of such a column may view the text that it is made of.
bool ViewsText(SqlType type) {
  return type == SqlType::kDecimal || type == SqlType::kVarchar;
}

ValueFault TakeBytes(const Column& column, absl::string_view bytes,
                     Value& value) {
  if (column.type == SqlType::kVarbinary) {
    if (column.precision > 0 && bytes.size() > column.precision) {
      return ValueFault::kTooLong;
    }
    value = Value::Binary(bytes);
    return ValueFault::kNone;
  }
  if (column.type == SqlType::kUuid) {
    if (bytes.size() != 16) return ValueFault::kNotUuid;
    value = Value::Uuid(bytes);
    return ValueFault::kNone;
  }
  return ValueFault::kIsBinary;
}

ValueFault TakeTimestamp(const Column& column, absl::string_view bytes,
                         Value& value) {
  Value moment;
  const ValueFault fault = ReadMsgpackMoment(bytes, column.precision, moment);
  if (fault == ValueFault::kNotTimestamp) return fault;
  if (column.type != SqlType::kTimestamptz) {
    return column.type == SqlType::kTimestamp ? ValueFault::kHasZone
                                              : ValueFault::kIsExtension;
  }
  if (fault == ValueFault::kNone) value = moment;
  return fault;
}

}  // namespace

RowToken MsgpackTokens::Peek() const {
  switch (cursor_.PeekKind()) {
    case MsgpackKind::kNil:
      return RowToken::kNull;
    case MsgpackKind::kArray:
      return RowToken::kArray;
    case MsgpackKind::kMap:
      return RowToken::kObject;
    default:
      return RowToken::kSingle;
  }
}

absl::string_view MsgpackTokens::TakeName(ValueArena& /*arena*/) {
  if (cursor_.PeekKind() == MsgpackKind::kStr) return cursor_.Take().bytes;
  cursor_.TakeValue();
  return {};
}

absl::string_view MsgpackTokens::TakeValue() {
  const MsgpackKind kind = cursor_.PeekKind();
  cursor_.TakeValue();
  return NameOf(kind);
}

ValueFault MsgpackTokens::TakeSingle(const Column& column, ValueArena& arena,
                                     Value& value, absl::string_view& text) {
  const MsgpackKind kind = cursor_.PeekKind();
  text = NameOf(kind);
  if (kind == MsgpackKind::kArray || kind == MsgpackKind::kMap) {
    cursor_.TakeValue();
    return ValueFault::kNotSingle;
  }
  const MsgpackItem item = cursor_.Take();
  switch (kind) {
    case MsgpackKind::kNil:
      return ValueFault::kNull;
    case MsgpackKind::kStr:
      if (!IsUtf8(item.bytes)) return ValueFault::kNotUtf8;
      text = item.bytes;
      return ParseValueText(column, text, arena, value);
    case MsgpackKind::kBin:
      return TakeBytes(column, item.bytes, value);
    case MsgpackKind::kExt:
      return item.ext_type == kMsgpackMoment
                 ? TakeTimestamp(column, item.bytes, value)
                 : ValueFault::kIsExtension;
    default:
      return TakeToken(column, item, arena, value, text);
  }
}

ValueFault MsgpackTokens::TakeToken(const Column& column,
                                    const MsgpackItem& item, ValueArena& arena,
                                    Value& value, absl::string_view& text) {
  const bool is_real =
      item.kind == MsgpackKind::kFloat32 || item.kind == MsgpackKind::kFloat64;
  if (is_real && column.type == SqlType::kDouble) {
    value = Value::Double(item.real);
    return ValueFault::kNone;
  }
  text = PrintMsgpack(item, digits_);
  if (!TakesToken(column.type)) return ValueFault::kNotText;
  if (!ViewsText(column.type)) {
    return ParseValueText(column, text, arena, value);
  }
  return ParseValueText(column, arena.Copy(text), arena, value);
}

ValueFault MsgpackTokens::TakeVariant(ValueArena& arena, Value& value,
                                      absl::string_view& text) {
  text = NameOf(cursor_.PeekKind());
  std::string json;
  const ValueFault fault = MsgpackToJson(cursor_.TakeValue(), json);
  if (fault == ValueFault::kNone) value = Value::Variant(arena.Copy(json));
  return fault;
}

std::optional<absl::string_view> MsgpackTokens::TakeKeyBytes(
    ValueArena& arena) {
  switch (cursor_.PeekKind()) {
    case MsgpackKind::kStr:
    case MsgpackKind::kBin:
      return cursor_.Take().bytes;
    case MsgpackKind::kBool:
    case MsgpackKind::kNegative:
    case MsgpackKind::kUnsigned:
    case MsgpackKind::kFloat32:
    case MsgpackKind::kFloat64:
      return arena.Copy(PrintMsgpack(cursor_.Take(), digits_));
    case MsgpackKind::kNil:
    case MsgpackKind::kArray:
    case MsgpackKind::kMap:
    case MsgpackKind::kExt:
    case MsgpackKind::kInvalid:
      break;
  }
  cursor_.TakeValue();
  return std::nullopt;
}

bool ReadPackedRow(RowReader& reader, absl::string_view record,
                   ValueArena& arena) {
  return reader.Read(MsgpackTokens(record), arena);
}

// Source: the MessagePack specification, "Timestamp extension type".
ValueFault ReadMsgpackMoment(absl::string_view bytes, uint32_t decimals,
                             Value& value) {
  uint64_t number = 0;
  const auto read = [&](size_t begin, size_t size) {
    number = 0;
    for (const char byte : bytes.substr(begin, size)) {
      number = number << 8 | static_cast<unsigned char>(byte);
    }
    return number;
  };
  int64_t seconds = 0;
  uint64_t nanos = 0;
  if (bytes.size() == 4) {
    seconds = static_cast<int64_t>(read(0, 4));
  } else if (bytes.size() == 8) {
    nanos = read(0, 8) >> 34;
    seconds = static_cast<int64_t>(number & ((uint64_t{1} << 34) - 1));
  } else if (bytes.size() == 12) {
    nanos = read(0, 4);
    seconds = static_cast<int64_t>(read(4, 8));
  } else {
    return ValueFault::kNotTimestamp;
  }
  if (nanos > 999'999'999) return ValueFault::kNotTimestamp;
  uint64_t unit = 1;
  for (uint32_t i = decimals; i < 9; ++i) unit *= 10;
  if (nanos % unit != 0) return ValueFault::kTooManyDecimals;
  // The least and the greatest number mean infinity.
  constexpr int64_t kSecondsMax = INT64_MAX / 1'000'000 - 1;
  if (seconds > kSecondsMax || seconds < -kSecondsMax) {
    return ValueFault::kOutOfRange;
  }
  value = Value::Timestamptz(
      seconds * 1'000'000 + static_cast<int64_t>(nanos / 1'000),
      static_cast<uint32_t>(nanos % 1'000));
  return ValueFault::kNone;
}

}  // namespace penstock::core
