#include "core/format/protobuf/protobuf_document.h"

#include "core/base/json_text.h"

#include <absl/container/inlined_vector.h>

#include <algorithm>
#include <utility>

namespace penstock::core {
namespace {

bool IsMessage(ProtobufType type) {
  return type == ProtobufType::kMessage || type == ProtobufType::kGroup;
}

bool IsPackable(ProtobufType type) {
  return WireOf(type) != ProtobufWire::kSized && !IsMessage(type);
}

size_t FixedBytes(ProtobufWire wire) {
  return wire == ProtobufWire::kFixed64 ? 8 : 4;
}

}  // namespace

bool ProtobufDocument::Fail(ProtobufFault fault, size_t at) {
  fault_ = fault;
  fault_at_ = at;
  return false;
}

ProtobufFault ProtobufDocument::Read(const ProtobufSchema& schema,
                                     uint32_t message, absl::string_view record,
                                     size_t begin, size_t& at) {
  schema_ = &schema;
  root_ = message;
  record_ = record;
  items_.clear();
  found_.clear();
  if (items_.capacity() > kKeptItemsMax) items_ = {};
  if (found_.capacity() > kKeptItemsMax) found_ = {};
  depth_ = 0;
  is_unused_ = false;
  fields_left_ = kFieldsMin + kFieldsPerByte * record.size();
  fault_ = ProtobufFault::kNone;
  items_.push_back({.begin = static_cast<uint32_t>(begin),
                    .size = static_cast<uint32_t>(record.size() - begin)});
  const Range whole{.begin = begin, .end = record.size()};
  if (!ReadMessage(message, {&whole, 1})) {
    at = fault_at_;
    return fault_;
  }
  items_[0].end = static_cast<uint32_t>(items_.size());
  return ProtobufFault::kNone;
}

bool ProtobufDocument::ReadMessage(uint32_t number,
                                   std::span<const Range> pieces) {
  const ProtobufMessage& message = schema_->message(number);
  const size_t begin = pieces.front().begin;
  if (++depth_ > kProtobufDepthMax) return Fail(ProtobufFault::kTooDeep, begin);
  if (message.fields.size() > fields_left_) {
    return Fail(ProtobufFault::kTooMany, begin);
  }
  fields_left_ -= message.fields.size();
  const size_t first = found_.size();
  for (const Range& piece : pieces) {
    if (!Scan(message, piece)) return false;
  }
  if (message.oneofs > 0 && !SettleOneofs(message, first)) return false;
  const auto by_field = [](const Found& one, const Found& other) {
    return one.field < other.field;
  };
  const auto mine = found_.begin() + static_cast<std::ptrdiff_t>(first);
  if (!std::is_sorted(mine, found_.end(), by_field)) {
    std::stable_sort(mine, found_.end(), by_field);
  }
  if (message.has_required && !is_unused_ && !HasRequired(message, first)) {
    return Fail(ProtobufFault::kNoRequired, begin);
  }
  const size_t last = found_.size();
  for (size_t from = first; from < last;) {
    size_t to = from + 1;
    while (to < last && found_[to].field == found_[from].field) ++to;
    if (!AddField(message.fields[found_[from].field], from, to)) return false;
    from = to;
  }
  found_.resize(first);
  --depth_;
  return true;
}

bool ProtobufDocument::AddField(const ProtobufField& field, size_t first,
                                size_t last) {
  const bool is_single = field.shape == ProtobufShape::kSingular;
  if (is_single && IsMessage(field.type)) {
    absl::InlinedVector<Range, 4> pieces;
    for (size_t i = first; i < last; ++i) {
      const Found& one = found_[i];
      pieces.push_back({.begin = one.begin, .end = one.begin + one.size});
    }
    return AddMessage(field, found_[first].field, pieces);
  }
  for (size_t i = is_single ? last - 1 : first; i < last; ++i) {
    // A copy: messages within move found_.
    const Found one = found_[i];
    if (IsMessage(field.type)) {
      const Range piece{.begin = one.begin, .end = one.begin + one.size};
      if (!AddMessage(field, one.field, {&piece, 1})) return false;
      continue;
    }
    items_.push_back({.field = one.field,
                      .begin = one.begin,
                      .size = one.size,
                      .end = static_cast<uint32_t>(items_.size() + 1),
                      .is_packed = one.is_packed});
  }
  return true;
}

bool ProtobufDocument::AddMessage(const ProtobufField& field, uint32_t place,
                                  std::span<const Range> pieces) {
  const size_t item = items_.size();
  const Range& first = pieces.front();
  items_.push_back({.field = place,
                    .begin = static_cast<uint32_t>(first.begin),
                    .size = static_cast<uint32_t>(first.end - first.begin)});
  if (!ReadMessage(field.of, pieces)) return false;
  items_[item].end = static_cast<uint32_t>(items_.size());
  return true;
}

bool ProtobufDocument::Scan(const ProtobufMessage& message, Range piece) {
  size_t at = piece.begin;
  while (at < piece.end) {
    const size_t tag_at = at;
    uint32_t number = 0;
    auto wire = ProtobufWire::kVarint;
    if (!ReadTag(at, piece.end, number, wire)) return false;
    if (wire == ProtobufWire::kEndGroup) {
      return Fail(ProtobufFault::kBadTag, tag_at);
    }
    Range value;
    if (!PassValue(number, wire, at, piece.end, value)) return false;
    if (!AddFound(message, number, wire, value)) return false;
  }
  return true;
}

bool ProtobufDocument::AddFound(const ProtobufMessage& message, uint32_t number,
                                ProtobufWire wire, Range value) {
  const uint32_t place = message.Find(number);
  if (place == ProtobufField::kNone) return true;
  const ProtobufField& field = message.fields[place];
  if (wire != WireOf(field.type)) {
    const bool is_packed = wire == ProtobufWire::kSized &&
                           field.shape == ProtobufShape::kRepeated &&
                           IsPackable(field.type);
    return !is_packed || AddPacked(field, place, value);
  }
  if (field.is_utf8 &&
      !IsUtf8(record_.substr(value.begin, value.end - value.begin))) {
    return Fail(ProtobufFault::kNotUtf8, value.begin);
  }
  if (field.type == ProtobufType::kEnum &&
      schema_->enumeration(field.of).is_closed) {
    size_t at = value.begin;
    uint64_t named = 0;
    ReadVarint(record_, at, named);
    const auto one = static_cast<int32_t>(named);
    if (schema_->enumeration(field.of).Find(one) == nullptr) return true;
  }
  found_.push_back({.field = place,
                    .begin = static_cast<uint32_t>(value.begin),
                    .size = static_cast<uint32_t>(value.end - value.begin)});
  return true;
}

bool ProtobufDocument::AddPacked(const ProtobufField& field, uint32_t place,
                                 Range value) {
  const ProtobufWire wire = WireOf(field.type);
  const size_t size = value.end - value.begin;
  if (size == 0) return true;
  if (wire != ProtobufWire::kVarint) {
    if (size % FixedBytes(wire) != 0) {
      return Fail(ProtobufFault::kBadPacked, value.begin);
    }
  } else {
    const bool is_closed = field.type == ProtobufType::kEnum &&
                           schema_->enumeration(field.of).is_closed;
    const absl::string_view text = record_.substr(0, value.end);
    for (size_t at = value.begin; at < value.end;) {
      const size_t begin = at;
      uint64_t number = 0;
      if (!ReadVarint(text, at, number)) {
        return Fail(ProtobufFault::kBadPacked, begin);
      }
      // One by one, for some may be passed over.
      const Range one{.begin = begin, .end = at};
      if (is_closed && schema_->enumeration(field.of).Find(
                           static_cast<int32_t>(number)) != nullptr) {
        found_.push_back({.field = place,
                          .begin = static_cast<uint32_t>(one.begin),
                          .size = static_cast<uint32_t>(one.end - one.begin)});
      }
    }
    if (is_closed) return true;
  }
  found_.push_back({.field = place,
                    .begin = static_cast<uint32_t>(value.begin),
                    .size = static_cast<uint32_t>(size),
                    .is_packed = true});
  return true;
}

bool ProtobufDocument::ReadTag(size_t& at, size_t end, uint32_t& number,
                               ProtobufWire& wire) {
  const size_t begin = at;
  uint64_t tag = 0;
  if (!ReadVarint(record_.substr(0, end), at, tag, kTagBytesMax)) {
    return Fail(end - begin < kTagBytesMax ? ProtobufFault::kCutOff
                                           : ProtobufFault::kBadTag,
                begin);
  }
  number = static_cast<uint32_t>(tag) >> 3;
  const auto kind = static_cast<uint8_t>(tag & 7);
  if (number == 0 || kind > static_cast<uint8_t>(ProtobufWire::kFixed32)) {
    return Fail(ProtobufFault::kBadTag, begin);
  }
  wire = static_cast<ProtobufWire>(kind);
  return true;
}

bool ProtobufDocument::PassValue(uint32_t number, ProtobufWire wire, size_t& at,
                                 size_t end, Range& value) {
  value.begin = at;
  switch (wire) {
    case ProtobufWire::kVarint: {
      uint64_t ignored = 0;
      if (!ReadVarint(record_.substr(0, end), at, ignored)) {
        return Fail(end - at < kVarintBytesMax ? ProtobufFault::kCutOff
                                               : ProtobufFault::kBadNumber,
                    at);
      }
      break;
    }
    case ProtobufWire::kFixed64:
    case ProtobufWire::kFixed32:
      if (end - at < FixedBytes(wire)) return Fail(ProtobufFault::kCutOff, at);
      at += FixedBytes(wire);
      break;
    case ProtobufWire::kSized: {
      uint64_t size = 0;
      if (!ReadVarint(record_.substr(0, end), at, size, kTagBytesMax)) {
        return Fail(end - at < kTagBytesMax ? ProtobufFault::kCutOff
                                            : ProtobufFault::kBadLength,
                    at);
      }
      if (size > end - at) return Fail(ProtobufFault::kBadLength, value.begin);
      value.begin = at;
      at += size;
      break;
    }
    case ProtobufWire::kBeginGroup:
      return PassGroup(number, at, end, value);
    case ProtobufWire::kEndGroup:
      return Fail(ProtobufFault::kBadTag, at);
  }
  value.end = at;
  return true;
}

bool ProtobufDocument::PassGroup(uint32_t number, size_t& at, size_t end,
                                 Range& value) {
  if (++depth_ > kProtobufDepthMax) return Fail(ProtobufFault::kTooDeep, at);
  value.begin = at;
  while (true) {
    const size_t tag_at = at;
    if (at == end) return Fail(ProtobufFault::kCutOff, at);
    uint32_t inner = 0;
    auto wire = ProtobufWire::kVarint;
    if (!ReadTag(at, end, inner, wire)) return false;
    if (wire == ProtobufWire::kEndGroup) {
      if (inner != number) return Fail(ProtobufFault::kBadTag, tag_at);
      value.end = tag_at;
      --depth_;
      return true;
    }
    Range ignored;
    if (!PassValue(inner, wire, at, end, ignored)) return false;
  }
}

bool ProtobufDocument::CheckUnused(const ProtobufField& field,
                                   const Found& unused) {
  if (!IsMessage(field.type)) return true;
  const bool was_unused = std::exchange(is_unused_, true);
  const size_t items = items_.size();
  const Range piece{.begin = unused.begin, .end = unused.begin + unused.size};
  if (!AddMessage(field, unused.field, {&piece, 1})) return false;
  items_.resize(items);
  is_unused_ = was_unused;
  return true;
}

bool ProtobufDocument::SettleOneofs(const ProtobufMessage& message,
                                    size_t first) {
  // By oneof: the member that counts, and whether what comes before it is gone.
  struct Winner {
    uint32_t field = ProtobufField::kNone;
    bool is_settled = false;
  };
  absl::InlinedVector<Winner, 8> winners(message.oneofs);
  size_t to = found_.size();
  for (size_t from = found_.size(); from > first; --from) {
    const Found one = found_[from - 1];
    const uint32_t oneof = message.fields[one.field].oneof;
    if (oneof != ProtobufField::kNone) {
      Winner& winner = winners[oneof];
      if (winner.field == ProtobufField::kNone) winner.field = one.field;
      winner.is_settled |= winner.field != one.field;
      if (winner.is_settled) {
        if (!CheckUnused(message.fields[one.field], one)) return false;
        continue;
      }
    }
    found_[--to] = one;
  }
  found_.erase(found_.begin() + static_cast<std::ptrdiff_t>(first),
               found_.begin() + static_cast<std::ptrdiff_t>(to));
  return true;
}

bool ProtobufDocument::HasRequired(const ProtobufMessage& message,
                                   size_t first) const {
  size_t at = first;
  for (uint32_t place = 0; place < message.fields.size(); ++place) {
    while (at < found_.size() && found_[at].field < place) ++at;
    const bool is_there = at < found_.size() && found_[at].field == place;
    if (message.fields[place].is_required && !is_there) return false;
  }
  return true;
}

}  // namespace penstock::core
