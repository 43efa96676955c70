// Writes data of Avro, as the specification has them.
#pragma once

#include <absl/strings/string_view.h>

#include <cstdint>
#include <cstring>
#include <string>

namespace penstock::core {

// Values one behind the other, in the order of the schema.
class AvroBytes {
 public:
  AvroBytes& Long(int64_t value) {
    auto zigzag = (static_cast<uint64_t>(value) << 1) ^
                  static_cast<uint64_t>(value >> 63);
    while (zigzag >= 0x80) {
      bytes_ += static_cast<char>(zigzag | 0x80);
      zigzag >>= 7;
    }
    bytes_ += static_cast<char>(zigzag);
    return *this;
  }
  AvroBytes& Text(absl::string_view text) {
    Long(static_cast<int64_t>(text.size()));
    bytes_.append(text.data(), text.size());
    return *this;
  }
  AvroBytes& Raw(absl::string_view bytes) {
    bytes_.append(bytes.data(), bytes.size());
    return *this;
  }
  AvroBytes& Boolean(bool value) {
    bytes_ += value ? '\x01' : '\0';
    return *this;
  }
  template <typename Real>
  AvroBytes& Float(Real value) {
    char raw[sizeof(value)];
    std::memcpy(raw, &value, sizeof(value));
    bytes_.append(raw, sizeof(value));
    return *this;
  }
  // As a registry's users write it.
  std::string Framed(uint32_t id) const {
    std::string framed(1, '\0');
    for (int shift = 24; shift >= 0; shift -= 8) {
      framed += static_cast<char>(id >> shift);
    }
    return framed + bytes_;
  }
  const std::string& text() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace penstock::core
