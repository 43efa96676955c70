// Records as MessagePack.
#pragma once

#include "core/contract/frame_buffer.h"
#include "core/contract/output_target.h"
#include "core/contract/row_encoder.h"
#include "core/format/change_form.h"
#include "core/record/schema.h"

#include <absl/status/status.h>

#include <cstddef>
#include <memory>
#include <optional>

namespace penstock::core {

// Without columns a row is the record's value as it stands. With columns it is
// a map of their names and values, in their order; what is null is left out.
//
//   boolean, integers           themselves, integers as short as they can be
//   real, double                float 32, float 64
//   varchar, varbinary          str, bin
//   decimal, date, time,
//   timestamp                   str, as ParseValueText takes them
//   timestamptz                 the extension -1; str where it is infinite
//   uuid                        bin of 16 bytes
//   array, map, struct          array; maps, a struct's by names
//   variant                     str: the JSON text
// So a MsgpackParser with the same columns makes the same row of it, but for
// variants: to it they are strings of JSON.
// For a sink of messages a row is the message's value, and a deletion is one
// without value. Holds nothing.
class MsgpackEncoder final : public RowEncoder {
 public:
  MsgpackEncoder(Schema schema, FrameKind frames,
                 OpColumn op_column = std::nullopt);

  // Errors: AppendDeletion's; in concatenated frames CheckRowForm's,
  // UNSUPPORTED for a record without columns whose value is null,
  // MALFORMED_FRAME for one that is no MessagePack.
  absl::Status Encode(const Record& record, FrameBuffer& out) override;
  size_t EstimateBytes(size_t records, size_t payload_bytes) const override;
  size_t NestedValueBytes() const override { return nested_bytes_; }
  std::unique_ptr<RowEncoder> Clone() const override {
    return std::make_unique<MsgpackEncoder>(schema_, frames_, op_column_);
  }

 private:
  absl::Status EncodeBytes(const Record& record, FrameBuffer& out) const;

  const Schema schema_;
  const FrameKind frames_;
  const OpColumn op_column_;
  // See EstimateBytes: of a record, besides its text, and of each value inside
  // of others.
  size_t record_bytes_ = 5;
  size_t nested_bytes_ = 0;
  // A message's value.
  FrameBuffer value_;
};

}  // namespace penstock::core
