// Data of Avro, read by their schema.
// Source: Apache Avro specification 1.11, "Binary Encoding".
#pragma once

#include "core/format/avro/avro_schema.h"

#include <absl/strings/string_view.h>

#include <cstddef>
#include <cstdint>

namespace penstock::core {

enum class AvroFault : uint8_t {
  kNone,
  // The bytes end inside of a value.
  kCutOff,
  // A number of more bytes, or bits, than its type has.
  kBadNumber,
  // A length that is negative or beyond what there is.
  kBadLength,
  kBadBoolean,
  // A union's branch, or an enum's symbol, that the schema does not have.
  kNoBranch,
  kNoSymbol,
  kTooDeep,
  // More values than so many bytes can need: arrays of nothing.
  kTooMany,
  // Bytes behind the datum.
  kTrailingData,
};

// Reads values one after the other. Every read is checked; what it says is
// believed of no length that is not there.
//
// Threads: thread-compatible. Lifetime: a view of schema and datum.
// Bound:   kAvroDepthMax levels; values as many as the datum has bytes, by
//          kValuesPerByte, and kValuesMin; kNothingsMax items that take no
//          byte.
class AvroCursor {
 public:
  static constexpr uint64_t kValuesMin = 65'536;
  static constexpr uint64_t kValuesPerByte = 16;
  // Of all arrays: a row has a value of each.
  static constexpr uint64_t kNothingsMax = 1'024;

  // The first value is at datum[begin]. Requires: begin <= datum.size().
  AvroCursor(const AvroSchema& schema, absl::string_view datum, size_t begin)
      : schema_(schema),
        datum_(datum),
        at_(begin),
        values_left_(kValuesMin + kValuesPerByte * datum.size()) {}

  size_t at() const { return at_; }
  // Why the last call was false.
  AvroFault fault() const { return fault_; }
  const AvroSchema& schema() const { return schema_; }

  // Each reads what its name says and passes it; false: fault() says why not,
  // and at() is where.
  bool ReadInt(int64_t& value);
  bool ReadLong(int64_t& value);
  bool ReadBoolean(bool& value);
  bool ReadFloat(float& value);
  bool ReadDouble(double& value);
  // With its length before it.
  bool ReadBytes(absl::string_view& bytes);
  bool ReadFixed(size_t size, absl::string_view& bytes);
  bool ReadSymbol(const AvroNode& node, size_t& symbol);
  // The next block of an array or map: how many are in it, 0 for the end.
  bool ReadBlock(uint64_t& count);
  // Sets `node` to what it is if it is a union.
  bool ReadBranch(const AvroNode*& node);

  // Passes a value of `node`, whatever is in it.
  bool Pass(const AvroNode& node);

 private:
  bool Fail(AvroFault fault) {
    fault_ = fault;
    return false;
  }
  bool PassSingle(const AvroNode& node);
  bool PassAll(const AvroNode& node, bool has_keys);

  const AvroSchema& schema_;
  const absl::string_view datum_;
  size_t at_;
  size_t depth_ = 0;
  uint64_t values_left_;
  uint64_t nothings_left_ = kNothingsMax;
  AvroFault fault_ = AvroFault::kNone;
};

// Whether datum[begin..] is exactly one value of the schema; sets `at` to the
// byte that is wrong.
AvroFault CheckAvro(const AvroSchema& schema, absl::string_view datum,
                    size_t begin, size_t& at);

}  // namespace penstock::core
