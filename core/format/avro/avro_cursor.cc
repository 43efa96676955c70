#include "core/format/avro/avro_cursor.h"

#include "core/base/byte_order.h"

#include <cstring>

namespace penstock::core {

bool AvroCursor::ReadLong(int64_t& value) {
  uint64_t number = 0;
  const size_t begin = at_;
  for (uint32_t shift = 0; at_ < datum_.size(); shift += 7) {
    const auto byte = static_cast<unsigned char>(datum_[at_++]);
    // The tenth byte has one bit left.
    if (shift == 63 && byte > 1) {
      at_ = begin;
      return Fail(AvroFault::kBadNumber);
    }
    number |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) {
      value =
          static_cast<int64_t>(number >> 1) ^ -static_cast<int64_t>(number & 1);
      return true;
    }
  }
  at_ = begin;
  return Fail(AvroFault::kCutOff);
}

bool AvroCursor::ReadInt(int64_t& value) {
  const size_t begin = at_;
  if (!ReadLong(value)) return false;
  if (value >= INT32_MIN && value <= INT32_MAX) return true;
  at_ = begin;
  return Fail(AvroFault::kBadNumber);
}

bool AvroCursor::ReadBoolean(bool& value) {
  if (at_ == datum_.size()) return Fail(AvroFault::kCutOff);
  const auto byte = static_cast<unsigned char>(datum_[at_]);
  if (byte > 1) return Fail(AvroFault::kBadBoolean);
  ++at_;
  value = byte == 1;
  return true;
}

bool AvroCursor::ReadFloat(float& value) {
  absl::string_view bytes;
  if (!ReadFixed(sizeof(value), bytes)) return false;
  const auto bits = LoadLe<uint32_t>(bytes.data());
  std::memcpy(&value, &bits, sizeof(value));
  return true;
}

bool AvroCursor::ReadDouble(double& value) {
  absl::string_view bytes;
  if (!ReadFixed(sizeof(value), bytes)) return false;
  const auto bits = LoadLe<uint64_t>(bytes.data());
  std::memcpy(&value, &bits, sizeof(value));
  return true;
}

bool AvroCursor::ReadBytes(absl::string_view& bytes) {
  const size_t begin = at_;
  int64_t size = 0;
  if (!ReadLong(size)) return false;
  if (size < 0) {
    at_ = begin;
    return Fail(AvroFault::kBadLength);
  }
  if (ReadFixed(static_cast<size_t>(size), bytes)) return true;
  at_ = begin;
  return Fail(AvroFault::kBadLength);
}

bool AvroCursor::ReadFixed(size_t size, absl::string_view& bytes) {
  if (size > datum_.size() - at_) return Fail(AvroFault::kCutOff);
  bytes = datum_.substr(at_, size);
  at_ += size;
  return true;
}

bool AvroCursor::ReadSymbol(const AvroNode& node, size_t& symbol) {
  const size_t begin = at_;
  int64_t number = 0;
  if (!ReadLong(number)) return false;
  symbol = static_cast<size_t>(number);
  if (number >= 0 && symbol < node.names.size()) return true;
  at_ = begin;
  return Fail(AvroFault::kNoSymbol);
}

bool AvroCursor::ReadBlock(uint64_t& count) {
  const size_t begin = at_;
  int64_t number = 0;
  if (!ReadLong(number)) return false;
  if (number < 0) {
    // The block's bytes come behind the count: they need not be believed.
    int64_t bytes = 0;
    if (!ReadLong(bytes)) return false;
    if (number == INT64_MIN || bytes < 0) {
      at_ = begin;
      return Fail(AvroFault::kBadLength);
    }
    number = -number;
  }
  count = static_cast<uint64_t>(number);
  return true;
}

bool AvroCursor::ReadBranch(const AvroNode*& node) {
  if (node->type != AvroType::kUnion) return true;
  const size_t begin = at_;
  int64_t branch = 0;
  if (!ReadLong(branch)) return false;
  if (branch < 0 || static_cast<uint64_t>(branch) >= node->children.size()) {
    at_ = begin;
    return Fail(AvroFault::kNoBranch);
  }
  node = &schema_.node(node->children[static_cast<size_t>(branch)]);
  return true;
}

bool AvroCursor::Pass(const AvroNode& of) {
  if (values_left_ == 0) return Fail(AvroFault::kTooMany);
  --values_left_;
  const AvroNode* node = &of;
  if (!ReadBranch(node)) return false;
  switch (node->type) {
    case AvroType::kRecord: {
      if (depth_ == kAvroDepthMax) return Fail(AvroFault::kTooDeep);
      ++depth_;
      for (const uint32_t field : node->children) {
        if (!Pass(schema_.node(field))) return false;
      }
      --depth_;
      return true;
    }
    case AvroType::kArray:
      return PassAll(*node, /*has_keys=*/false);
    case AvroType::kMap:
      return PassAll(*node, /*has_keys=*/true);
    default:
      return PassSingle(*node);
  }
}

bool AvroCursor::PassAll(const AvroNode& node, bool has_keys) {
  if (depth_ == kAvroDepthMax) return Fail(AvroFault::kTooDeep);
  ++depth_;
  const AvroNode& item = schema_.node(node.children[0]);
  uint64_t count = 0;
  absl::string_view key;
  do {
    if (!ReadBlock(count)) return false;
    for (uint64_t i = 0; i < count; ++i) {
      const size_t begin = at_;
      if (has_keys && !ReadBytes(key)) return false;
      if (!Pass(item)) return false;
      if (at_ == begin && nothings_left_-- == 0) {
        return Fail(AvroFault::kTooMany);
      }
    }
  } while (count > 0);
  --depth_;
  return true;
}

bool AvroCursor::PassSingle(const AvroNode& node) {
  int64_t number = 0;
  bool boolean = false;
  size_t symbol = 0;
  absl::string_view bytes;
  switch (node.type) {
    case AvroType::kNull:
      return true;
    case AvroType::kBoolean:
      return ReadBoolean(boolean);
    case AvroType::kInt:
      return ReadInt(number);
    case AvroType::kLong:
      return ReadLong(number);
    case AvroType::kFloat:
      return ReadFixed(4, bytes);
    case AvroType::kDouble:
      return ReadFixed(8, bytes);
    case AvroType::kBytes:
    case AvroType::kString:
      return ReadBytes(bytes);
    case AvroType::kFixed:
      return ReadFixed(node.size, bytes);
    case AvroType::kEnum:
      return ReadSymbol(node, symbol);
    case AvroType::kArray:
    case AvroType::kMap:
    case AvroType::kUnion:
    case AvroType::kRecord:
      break;
  }
  return Fail(AvroFault::kNoBranch);
}

AvroFault CheckAvro(const AvroSchema& schema, absl::string_view datum,
                    size_t begin, size_t& at) {
  AvroCursor cursor(schema, datum, begin);
  const bool good = cursor.Pass(schema.root());
  at = cursor.at();
  if (!good) return cursor.fault();
  return at == datum.size() ? AvroFault::kNone : AvroFault::kTrailingData;
}

}  // namespace penstock::core
