// Records to bytes: what a handoff needs of a format.
#pragma once

#include "core/contract/frame_buffer.h"
#include "core/record/record.h"

#include <absl/status/status.h>

#include <cstddef>
#include <memory>

namespace penstock::core {

class ColumnarEncoder;

// Seed type: `RowEncoder`. One per shard. Threads: confined to its handoff. No
// I/O.
class RowEncoder {
 public:
  virtual ~RowEncoder() = default;

  // Appends one row to `out`. On error `out` may hold a partial row: the
  // caller truncates. Errors: any Status is about this record, except one
  // with Reason::INTERNAL: the encoder is broken for good.
  virtual absl::Status Encode(const Record& record, FrameBuffer& out) = 0;
  // An upper estimate of the encoded size of `payload_bytes` in `records`
  // records, for the budget; besides what comes of values inside of others.
  // `payload_bytes`: with NestedSize::text_bytes.
  virtual size_t EstimateBytes(size_t records, size_t payload_bytes) const = 0;
  // And of each of NestedSize::values, besides its text, at most.
  virtual size_t NestedValueBytes() const { return 0; }
  // A fresh, empty encoder with the same configuration.
  virtual std::unique_ptr<RowEncoder> Clone() const = 0;
  // Null where every row is in `out` when Encode returns.
  virtual ColumnarEncoder* AsColumnar() { return nullptr; }
};

// An encoder whose rows gather inside until a chunk is finished. Encode leaves
// `out` alone, and a row that it refuses leaves nothing inside: what is held
// cannot be rolled back from outside, so that an encoder that holds more after
// a refusal than before is taken for broken.
class ColumnarEncoder : public RowEncoder {
 public:
  // Seed: `buffered_bytes`: bytes held inside. O(1); throws nothing.
  virtual size_t BufferedBytes() const = 0;
  // Seed: `finish_chunk`: emits everything held as exactly one frame, and holds
  // nothing any more. Any error is fatal.
  virtual absl::Status FinishChunk(FrameBuffer& out) = 0;
  ColumnarEncoder* AsColumnar() final { return this; }
};

}  // namespace penstock::core
