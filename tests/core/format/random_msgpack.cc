#include "tests/core/format/random_msgpack.h"

#include <absl/strings/string_view.h>
#include <msgpack.hpp>

#include <algorithm>
#include <array>
#include <cstdint>

namespace penstock::core {
namespace {

using Packer = msgpack::packer<msgpack::sbuffer>;

constexpr std::array<const char*, 6> kNames = {"a", "b",  "c",
                                               "",  "ab", "\xc3\xa9"};

void PackText(Random& random, Packer& packer) {
  // Every length of a length.
  constexpr std::array<uint32_t, 8> kSizes = {0, 1, 3, 7, 31, 32, 255, 256};
  const std::string text(kSizes[random.Uniform(kSizes.size())], 'x');
  const auto size = static_cast<uint32_t>(text.size());
  switch (random.Uniform(3)) {
    case 0:
      packer.pack_bin(size).pack_bin_body(text.data(), size);
      break;
    case 1:
      packer.pack_ext(size, static_cast<int8_t>(random.Uniform(256) - 128))
          .pack_ext_body(text.data(), size);
      break;
    default:
      packer.pack_str(size).pack_str_body(text.data(), size);
  }
}

void PackNumber(Random& random, Packer& packer) {
  const uint64_t bits = random.Uniform(UINT64_MAX) >> random.Uniform(64);
  switch (random.Uniform(4)) {
    case 0:
      packer.pack(static_cast<float>(bits) / 4);
      break;
    case 1:
      packer.pack(static_cast<double>(bits) / 8);
      break;
    case 2:
      packer.pack(-static_cast<int64_t>(bits >> 1));
      break;
    default:
      packer.pack(bits);
  }
}

void PackValue(Random& random, int depth_max, Packer& packer) {
  const uint64_t kind = random.Uniform(depth_max > 0 ? 8 : 5);
  if (kind == 0) {
    packer.pack_nil();
  } else if (kind == 1) {
    packer.pack(random.Bernoulli(0.5));
  } else if (kind == 2) {
    PackText(random, packer);
  } else if (kind < 5) {
    PackNumber(random, packer);
  } else if (kind == 5) {
    const auto count = static_cast<uint32_t>(random.Uniform(20));
    packer.pack_array(count);
    for (uint32_t i = 0; i < count; ++i) {
      PackValue(random, depth_max - 1, packer);
    }
  } else {
    const auto count = static_cast<uint32_t>(random.Uniform(5));
    packer.pack_map(count);
    for (uint32_t i = 0; i < count; ++i) {
      if (random.Bernoulli(0.9)) {
        packer.pack(kNames[random.Uniform(kNames.size())]);
      } else {
        PackValue(random, 0, packer);
      }
      PackValue(random, depth_max - 1, packer);
    }
  }
}

}  // namespace

std::string RandomMsgpack(Random& random, int depth_max) {
  msgpack::sbuffer packed;
  Packer packer(packed);
  PackValue(random, depth_max, packer);
  return {packed.data(), packed.size()};
}

std::string RandomMsgpackStream(Random& random, size_t values) {
  std::string text;
  // A damaged length may take all that follows: few values are tried often.
  const bool is_damaged = values < 100;
  for (size_t i = 0; i < values; ++i) {
    std::string value = RandomMsgpack(random);
    if (is_damaged && random.Bernoulli(0.1)) {
      value[random.Uniform(value.size())] =
          static_cast<char>(random.Uniform(256));
    }
    if (random.Bernoulli(0.05)) value += '\xc1';
    text += value;
  }
  if (random.Bernoulli(0.2)) {
    text.resize(text.size() - std::min<size_t>(text.size(), random.Uniform(3)));
  }
  return text;
}

}  // namespace penstock::core
