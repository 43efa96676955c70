#include "core/format/msgpack/msgpack_encoder.h"

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/base/status_macros.h"
#include "core/contract/message_frame.h"
#include "core/format/msgpack/msgpack_checker.h"
#include "core/format/rows/column_bytes.h"
#include "core/format/value_text/value_print.h"
#include "core/record/value.h"

#include <absl/strings/string_view.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

// A byte, then `size` bytes of `number`, the most significant first.
void AppendHead(unsigned first, uint64_t number, size_t size,
                FrameBuffer& out) {
  char* const to = out.Reserve(1 + size);
  to[0] = static_cast<char>(first);
  for (size_t i = 0; i < size; ++i) {
    to[size - i] = static_cast<char>(number >> (8 * i) & 0xff);
  }
  out.Commit(1 + size);
}

// The shortest of the formats for lengths of 8, 16 and 32 bits; 0: there is no
// such format.
void AppendLength(uint64_t length, unsigned of_8, unsigned of_16,
                  unsigned of_32, FrameBuffer& out) {
  if (length <= UINT8_MAX && of_8 != 0) return AppendHead(of_8, length, 1, out);
  if (length <= UINT16_MAX) return AppendHead(of_16, length, 2, out);
  CHECK_LE(length, uint64_t{UINT32_MAX});
  AppendHead(of_32, length, 4, out);
}

void AppendStr(absl::string_view text, FrameBuffer& out) {
  if (text.size() < 32) {
    AppendHead(0xa0 | static_cast<unsigned>(text.size()), 0, 0, out);
  } else {
    AppendLength(text.size(), 0xd9, 0xda, 0xdb, out);
  }
  out.Append(text);
}

void AppendBin(absl::string_view bytes, FrameBuffer& out) {
  AppendLength(bytes.size(), 0xc4, 0xc5, 0xc6, out);
  out.Append(bytes);
}

void AppendArrayHead(size_t count, FrameBuffer& out) {
  if (count < 16) {
    return AppendHead(0x90 | static_cast<unsigned>(count), 0, 0, out);
  }
  AppendLength(count, 0, 0xdc, 0xdd, out);
}

void AppendMapHead(size_t pairs, FrameBuffer& out) {
  if (pairs < 16) {
    return AppendHead(0x80 | static_cast<unsigned>(pairs), 0, 0, out);
  }
  AppendLength(pairs, 0, 0xde, 0xdf, out);
}

void AppendUnsigned(uint64_t number, FrameBuffer& out) {
  if (number < 0x80) {
    return AppendHead(static_cast<unsigned>(number), 0, 0, out);
  }
  if (number > UINT32_MAX) return AppendHead(0xcf, number, 8, out);
  AppendLength(number, 0xcc, 0xcd, 0xce, out);
}

void AppendSigned(int64_t number, FrameBuffer& out) {
  if (number >= 0) return AppendUnsigned(static_cast<uint64_t>(number), out);
  const auto bits = static_cast<uint64_t>(number);
  if (number >= -32) {
    return AppendHead(static_cast<unsigned>(bits & 0xff), 0, 0, out);
  }
  if (number >= INT8_MIN) return AppendHead(0xd0, bits, 1, out);
  if (number >= INT16_MIN) return AppendHead(0xd1, bits, 2, out);
  if (number >= INT32_MIN) return AppendHead(0xd2, bits, 4, out);
  AppendHead(0xd3, bits, 8, out);
}

void AppendReal(SqlType type, double real, FrameBuffer& out) {
  if (type == SqlType::kReal) {
    const auto bits = std::bit_cast<uint32_t>(static_cast<float>(real));
    return AppendHead(0xca, bits, 4, out);
  }
  AppendHead(0xcb, std::bit_cast<uint64_t>(real), 8, out);
}

void AppendText(const Value& value, FrameBuffer& out) {
  std::string text;
  PrintValue(value, text);
  AppendStr(text, out);
}

// The shortest of the extension's three formats.
// Source: the MessagePack specification, "Timestamp extension type".
void AppendTimestamptz(const Value& value, FrameBuffer& out) {
  constexpr int64_t kMicros = 1'000'000;
  const int64_t micros = value.AsTimestamptz();
  if (micros == Value::kInfinity || micros == Value::kMinusInfinity) {
    return AppendText(value, out);
  }
  int64_t seconds = micros / kMicros;
  int64_t rest = micros % kMicros;
  if (rest < 0) {
    rest += kMicros;
    --seconds;
  }
  const uint64_t nanos = static_cast<uint64_t>(rest) * 1'000 + value.nanos();
  const auto bits = static_cast<uint64_t>(seconds);
  constexpr unsigned kType = 0xff;
  if (bits >> 34 != 0) {
    AppendHead(0xc7, 12, 1, out);
    AppendHead(kType, nanos, 4, out);
    // The first byte of the seconds stands for a head's.
    AppendHead(static_cast<unsigned>(bits >> 56), bits, 7, out);
  } else if (nanos != 0 || bits > UINT32_MAX) {
    AppendHead(0xd7, kType, 1, out);
    const uint64_t both = nanos << 34 | bits;
    AppendHead(static_cast<unsigned>(both >> 56), both, 7, out);
  } else {
    AppendHead(0xd6, kType, 1, out);
    AppendHead(static_cast<unsigned>(bits >> 24), bits, 3, out);
  }
}

void AppendValue(const Column& column, const Value& value, FrameBuffer& out);

// The members that are not null, by the names of their columns.
void AppendMembers(const std::vector<Column>& columns,
                   std::span<const Value> values, FrameBuffer& out) {
  CHECK_EQ(columns.size(), values.size());
  size_t count = 0;
  for (const Value& value : values) count += value.is_null() ? 0 : 1;
  AppendMapHead(count, out);
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].is_null()) continue;
    AppendStr(columns[i].name, out);
    AppendValue(columns[i], values[i], out);
  }
}

void AppendElements(const Column& column, const Value& value,
                    FrameBuffer& out) {
  if (value.kind() == ValueKind::kArray) {
    const std::span<const Value> elements = value.AsArray();
    AppendArrayHead(elements.size(), out);
    for (const Value& element : elements) {
      AppendValue(column.children[0], element, out);
    }
    return;
  }
  const std::span<const Value> pairs = value.AsMap();
  AppendMapHead(pairs.size() / 2, out);
  for (size_t i = 0; i < pairs.size(); ++i) {
    AppendValue(column.children[i % 2], pairs[i], out);
  }
}

// Nests as deep as the schema does.
void AppendValue(const Column& column, const Value& value, FrameBuffer& out) {
  switch (value.kind()) {
    case ValueKind::kNull:
      return AppendHead(0xc0, 0, 0, out);
    case ValueKind::kBool:
      return AppendHead(value.AsBool() ? 0xc3 : 0xc2, 0, 0, out);
    case ValueKind::kInt64:
      return AppendSigned(value.AsInt64(), out);
    case ValueKind::kUint64:
      return AppendUnsigned(value.AsUint64(), out);
    case ValueKind::kDouble:
      return AppendReal(column.type, value.AsDouble(), out);
    case ValueKind::kDecimal:
      return AppendStr(value.AsDecimal(), out);
    case ValueKind::kString:
      return AppendStr(value.AsString(), out);
    case ValueKind::kVariant:
      return AppendStr(value.AsVariant(), out);
    case ValueKind::kBinary:
      return AppendBin(value.AsBinary(), out);
    case ValueKind::kUuid:
      return AppendBin(value.AsUuid(), out);
    case ValueKind::kDate:
    case ValueKind::kTime:
    case ValueKind::kTimestamp:
      return AppendText(value, out);
    case ValueKind::kTimestamptz:
      return AppendTimestamptz(value, out);
    case ValueKind::kArray:
    case ValueKind::kMap:
      return AppendElements(column, value, out);
    case ValueKind::kStruct:
      return AppendMembers(column.children, value.AsStruct(), out);
  }
}

// A member with its name, besides the text that came: of a time that was a few
// bytes, or of a number that is text now, there is more.
size_t OwnBytes(const Column& column) {
  constexpr size_t kHeadBytes = 5;
  constexpr size_t kTimeBytes = 40;
  constexpr size_t kOtherBytes = 16;
  const bool is_time =
      column.type >= SqlType::kDate && column.type <= SqlType::kTimestamptz;
  return 2 * kHeadBytes + column.name.size() +
         (is_time ? kTimeBytes : kOtherBytes);
}

}  // namespace

MsgpackEncoder::MsgpackEncoder(Schema schema, FrameKind frames,
                               OpColumn op_column)
    : schema_(std::move(schema)), frames_(frames), op_column_(op_column) {
  const ColumnBytes bytes = ColumnBytesOf(schema_, OwnBytes);
  record_bytes_ += bytes.record;
  nested_bytes_ = bytes.nested;
}

absl::Status MsgpackEncoder::Encode(const Record& record, FrameBuffer& out) {
  if (frames_ == FrameKind::kMessages) {
    if (record.meta.op == Op::kDelete) return AppendDeletion(record, out);
    if (schema_.IsEmpty()) {
      AppendMessage(record.key, record.value, {}, out);
    } else {
      value_.Truncate(0);
      AppendMembers(schema_.columns, record.row, value_);
      AppendMessage(record.key, value_.view(), {}, out);
    }
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(CheckRowForm(record, op_column_));
  if (schema_.IsEmpty()) return EncodeBytes(record, out);
  AppendMembers(schema_.columns, record.row, out);
  return absl::OkStatus();
}

absl::Status MsgpackEncoder::EncodeBytes(const Record& record,
                                         FrameBuffer& out) const {
  if (!record.value.has_value()) {
    return MakeError(Reason::UNSUPPORTED,
                     "encode a record as MessagePack: its value is null, which "
                     "would be a record of its own; choose another format");
  }
  if (CheckMsgpack(*record.value, nullptr).fault != MsgpackFault::kNone) {
    return MakeError(Reason::MALFORMED_FRAME,
                     "encode a record as MessagePack: its value is none; read "
                     "it in the format msgpack, or declare its columns");
  }
  out.Append(*record.value);
  return absl::OkStatus();
}

size_t MsgpackEncoder::EstimateBytes(size_t records,
                                     size_t payload_bytes) const {
  constexpr size_t kMessageBytes = 12;
  const size_t each = frames_ == FrameKind::kMessages ? kMessageBytes : 0;
  if (schema_.IsEmpty()) return records * each + payload_bytes;
  return records * (each + record_bytes_) + payload_bytes;
}

}  // namespace penstock::core
