#include "core/format/protobuf/protobuf_schema.h"

#include <algorithm>

namespace penstock::core {

uint32_t ProtobufMessage::Find(uint32_t number) const {
  // Mostly they are numbered from 1.
  if (number - 1 < fields.size() && fields[number - 1].number == number) {
    return number - 1;
  }
  const auto found =
      std::lower_bound(fields.begin(), fields.end(), number,
                       [](const ProtobufField& field, uint32_t wanted) {
                         return field.number < wanted;
                       });
  if (found == fields.end() || found->number != number) {
    return ProtobufField::kNone;
  }
  return static_cast<uint32_t>(found - fields.begin());
}

const std::string* ProtobufEnum::Find(int32_t number) const {
  const auto found = std::lower_bound(
      values.begin(), values.end(), number,
      [](const auto& value, int32_t wanted) { return value.first < wanted; });
  if (found == values.end() || found->first != number) return nullptr;
  return &found->second;
}

std::optional<uint32_t> ProtobufSchema::FindByPath(
    std::span<const uint32_t> path) const {
  const std::vector<uint32_t>* among = &roots_;
  std::optional<uint32_t> found;
  for (const uint32_t place : path) {
    if (place >= among->size()) return std::nullopt;
    found = (*among)[place];
    among = &messages_[*found].nested;
  }
  return found;
}

std::optional<uint32_t> ProtobufSchema::FindByName(
    absl::string_view name) const {
  for (size_t i = 0; i < messages_.size(); ++i) {
    if (messages_[i].name == name) return static_cast<uint32_t>(i);
  }
  return std::nullopt;
}

size_t ProtobufSchema::MemoryBytes() const {
  size_t bytes = sizeof(ProtobufSchema) + roots_.capacity() * sizeof(uint32_t);
  for (const ProtobufMessage& message : messages_) {
    bytes += sizeof(message) + message.name.capacity() +
             message.fields.capacity() * sizeof(ProtobufField) +
             message.nested.capacity() * sizeof(uint32_t);
    for (const ProtobufField& field : message.fields) {
      bytes += field.name.capacity();
    }
  }
  for (const ProtobufEnum& one : enums_) {
    bytes += sizeof(one) + one.values.capacity() * sizeof(one.values[0]);
    for (const auto& value : one.values) bytes += value.second.capacity();
  }
  return bytes;
}

}  // namespace penstock::core
