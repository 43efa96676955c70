// How many bytes an encoder makes of a batch, at most.
#pragma once

#include "core/contract/row_encoder.h"
#include "core/record/nested_size.h"
#include "core/record/record_batch.h"

#include <cstdint>

namespace penstock::core {

// Not less than what Encode appends for its records (INV-6). `sizer`: of their
// schema.
inline uint64_t EstimateBatch(const RowEncoder& encoder,
                              const NestedSizer& sizer,
                              const RecordBatch& batch) {
  const NestedSize nested = sizer.Of(batch);
  return encoder.EstimateBytes(batch.size().records,
                               batch.size().bytes + nested.text_bytes) +
         nested.values * encoder.NestedValueBytes();
}

}  // namespace penstock::core
