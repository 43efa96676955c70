// The chunk-invariant, interleaving-invariant hash of a step (design §3).
#pragma once

#include "core/record/record.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace penstock::core {

// What a step's records hash to, and how many they are. Equal iff the same
// records came in the same canonical order.
struct StepHash {
  uint64_t value = 0;
  uint64_t count = 0;
  friend bool operator==(const StepHash&, const StepHash&) = default;
};

// Seed type: the `Xxh3Default` of `InputConsumer::hasher`.
//
// Shape:   XXH3-64 over (partition u32, count u64, digest u64) little endian,
//          partitions ascending. A digest is XXH3-64 over the partition's
//          records in the order added, each framed as op byte, key and value,
//          both as u32 length (0xffffffff = null) and bytes, little endian.
//          Headers and times are not hashed.
// Threads: thread-compatible. Move-only.
// Bound:   one digest state per partition touched by the step.
// Source:  XXH3, github.com/Cyan4973/xxHash; golden values in the tests.
class StepHasher {
 public:
  StepHasher();
  ~StepHasher();
  StepHasher(StepHasher&&) noexcept;
  StepHasher& operator=(StepHasher&&) noexcept;

  // Requires: within one partition, records are added in source order.
  void Add(const Record& record);
  // The hash of everything added so far; adding may go on.
  StepHash Finish() const;

 private:
  struct PartitionDigest;
  PartitionDigest& DigestOf(uint32_t partition);

  // Ascending by partition.
  std::vector<std::unique_ptr<PartitionDigest>> digests_;
  // The partition used last: a batch has one.
  PartitionDigest* last_ = nullptr;
};

}  // namespace penstock::core
