// Random numbers from a seed; the only source of randomness.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace penstock::core {

// xoshiro256**, seeded through splitmix64. Equal seeds give equal sequences on
// every platform, for ever: simulations are replayed by seed. Not for secrets.
// Source:  Blackman and Vigna, "Scrambled Linear Pseudorandom Number
//          Generators", 2018; https://prng.di.unimi.it/xoshiro256starstar.c
// Threads: thread-compatible.
class Random {
 public:
  explicit Random(uint64_t seed);

  uint64_t Next64();
  // Uniform in [0, bound), without bias. Requires: bound > 0.
  uint64_t Uniform(uint64_t bound);
  // Uniform in [low, high], both inclusive. Requires: low <= high.
  int64_t UniformIn(int64_t low, int64_t high);
  // Uniform in [0, 1), 53 bits.
  double Double();
  // True with probability `p`; never for p <= 0, always for p >= 1.
  bool Bernoulli(double p);
  // A generator whose sequence is independent of what follows in this one.
  Random Fork() { return Random(Next64()); }

 private:
  friend Random SeededFromEntropy();
  explicit Random(const std::array<uint64_t, 4>& state) : state_(state) {}

  // Never all zero.
  std::array<uint64_t, 4> state_;
};

// All 256 bits of its state come from the operating system.
Random SeededFromEntropy();

// 128 random bits as 32 lower-case hexadecimal digits.
std::string RandomId(Random& random);

}  // namespace penstock::core
