// Whether outputs hold exactly the records of the inputs, in order.
#pragma once

#include <absl/strings/string_view.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace penstock::client {

// Something that is not as it should be, and where.
struct Finding {
  enum class Kind { kLost, kDoubled, kForeign, kDisordered };
  Kind kind = Kind::kLost;
  // Lost: the input. Others: the output.
  std::string path;
  uint64_t offset = 0;
};

// Compares records by XXH3-64 of their bytes: two different records are taken
// for equal with a probability of about n² / 2^65 (n = 10^8: 3 in 10,000).
//
// Lifecycle: AddInput…, EndInput, then for each shard BeginShard, AddOutput…,
//            then Finish.
// Threads:   thread-compatible.
// Bound:     20 bytes a record, and `findings_max` findings.
class MultisetCheck {
 public:
  // Of inputs.
  static constexpr size_t kPartitionsMax = size_t{1} << 16;

  explicit MultisetCheck(size_t findings_max) : findings_max_(findings_max) {}

  // In the order of the input. `partition`: index of the input file.
  void AddInput(uint32_t partition, uint64_t offset, absl::string_view record);
  void EndInput();
  void BeginShard();
  void AddOutput(const std::string& path, uint64_t offset,
                 absl::string_view record);

  // Input records that no output had: (partition, offset), ascending. Whether
  // they are lost, or were bad and skipped, the caller can tell.
  struct Missing {
    uint32_t partition = 0;
    uint64_t offset = 0;
  };
  std::vector<Missing> Finish() const;

  uint64_t records_in() const { return entries_.size(); }
  uint64_t records_out() const { return records_out_; }
  uint64_t doubled() const { return doubled_; }
  uint64_t foreign() const { return foreign_; }
  uint64_t disordered() const { return disordered_; }
  const std::vector<Finding>& findings() const { return findings_; }

 private:
  struct Entry {
    uint64_t hash = 0;
    // Position in the order of the input: partition in the upper 16 bits,
    // offset below.
    uint64_t place = 0;
  };

  void Find(Finding::Kind kind, const std::string& path, uint64_t offset);

  const size_t findings_max_;
  std::vector<Entry> entries_;
  // At the first entry of equal records: how many of them outputs had.
  std::vector<uint32_t> used_;
  // Of the shard being read: the highest place of each partition.
  std::vector<uint64_t> last_;
  uint32_t partitions_ = 0;
  uint64_t records_out_ = 0;
  uint64_t doubled_ = 0;
  uint64_t foreign_ = 0;
  uint64_t disordered_ = 0;
  std::vector<Finding> findings_;
};

}  // namespace penstock::client
