#include "core/base/random.h"

#include "core/base/check.h"
#include "core/base/checksum.h"

#include <bit>
#include <random>

namespace penstock::core {
namespace {

// Source: Vigna, https://prng.di.unimi.it/splitmix64.c
uint64_t SplitMix(uint64_t& state) {
  state += 0x9e3779b97f4a7c15;
  uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

}  // namespace

Random::Random(uint64_t seed) {
  for (uint64_t& word : state_) word = SplitMix(seed);
}

uint64_t Random::Next64() {
  const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

uint64_t Random::Uniform(uint64_t bound) {
  CHECK_GT(bound, 0);
  // Values below 2^64 mod bound would make small results likelier.
  const uint64_t biased = (0 - bound) % bound;
  uint64_t value = Next64();
  while (value < biased) value = Next64();
  return value % bound;
}

int64_t Random::UniformIn(int64_t low, int64_t high) {
  CHECK_LE(low, high);
  const uint64_t range =
      static_cast<uint64_t>(high) - static_cast<uint64_t>(low) + 1;
  const uint64_t offset = range == 0 ? Next64() : Uniform(range);
  return static_cast<int64_t>(static_cast<uint64_t>(low) + offset);
}

double Random::Double() {
  return static_cast<double>(Next64() >> 11) * 0x1.0p-53;
}

bool Random::Bernoulli(double p) { return Double() < p; }

Random SeededFromEntropy() {
  std::random_device device;
  std::array<uint64_t, 4> state;
  for (uint64_t& word : state) {
    const uint64_t high = device();
    word = (high << 32) | device();
  }
  // The all-zero state, of probability 2^-256, is the one that must not be.
  state[0] |= 1;
  return Random(state);
}

std::string RandomId(Random& random) {
  const uint64_t high = random.Next64();
  return Hex64(high) + Hex64(random.Next64());
}

}  // namespace penstock::core
