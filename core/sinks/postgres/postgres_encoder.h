// Rows of a plan as COPY takes them.
#pragma once

#include "core/contract/row_encoder.h"
#include "core/sinks/postgres/row_plan.h"

#include <absl/status/status.h>

#include <cstddef>
#include <memory>

namespace penstock::core {

// Refuses here, record by record, what the column could not hold exactly, so
// that it costs no round trip; what only the server knows (a constraint) it
// says at the end of the batch.
class PostgresEncoder final : public RowEncoder {
 public:
  // Shared by: the target, its endpoints and encoders.
  explicit PostgresEncoder(std::shared_ptr<const RowPlan> plan);

  // Errors: ROW_REFUSED, UNSUPPORTED: a deletion or an update where rows are
  // only added.
  absl::Status Encode(const Record& record, FrameBuffer& out) override;
  size_t EstimateBytes(size_t records, size_t payload_bytes) const override;
  size_t NestedValueBytes() const override { return nested_bytes_; }
  std::unique_ptr<RowEncoder> Clone() const override;

 private:
  absl::Status EncodeBinary(const Record& record, FrameBuffer& out) const;
  absl::Status EncodeText(const Record& record, FrameBuffer& out) const;
  absl::Status CheckRecord(const Record& record) const;

  const std::shared_ptr<const RowPlan> plan_;
  // See EstimateBytes: at most so many for each record, for each byte of it,
  // and for each value inside of others.
  const size_t record_bytes_;
  const size_t payload_factor_;
  const size_t nested_bytes_;
};

}  // namespace penstock::core
