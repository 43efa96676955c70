// Records of any format as a sink of bytes gets them, for verification.
#pragma once

#include "core/contract/component.h"
#include "core/contract/parser.h"
#include "core/contract/row_encoder.h"
#include "core/record/schema.h"
#include "core/sinks/file/file_sink_reader.h"
#include "core/sources/file/content.h"

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <cstdint>
#include <memory>
#include <string>

namespace penstock::client {

// How a connector reads its records and writes them. What it writes is read
// again on both sides: of two records that are equal in the output, in whatever
// way they were written in the input, the bytes are equal then.
//
// Owner: a comparison. Threads: thread-compatible. Bound: a block.
class RecordFormat {
 public:
  // Errors: UNSUPPORTED for formats that are not read from what they wrote;
  // those of the format.
  static absl::StatusOr<RecordFormat> Make(const core::ComponentConfig& config,
                                           const core::Schema& schema);

  // Calls `on_record` with what is written of each good record of an input, and
  // the offset of the record in it. `whole_only`: a last record without its end
  // is none: the rest of it may come.
  // Returns: how many were skipped, as bad or because they cannot be written.
  // Errors: those of the file.
  absl::StatusOr<uint64_t> ForEachInput(
      core::Content& content, bool whole_only,
      absl::FunctionRef<void(uint64_t offset, absl::string_view record)>
          on_record);
  // The same of the records of a shard; `offset`: in the file `path`.
  absl::Status ForEachOutput(
      core::FileSinkLines& bytes,
      absl::FunctionRef<void(const std::string& path, uint64_t offset,
                             absl::string_view record)>
          on_record);

 private:
  RecordFormat() = default;

  // Of inputs, of outputs.
  std::unique_ptr<core::Parser> parser_;
  std::unique_ptr<core::RowEncoder> encoder_;
  std::unique_ptr<core::Parser> written_;
};

}  // namespace penstock::client
