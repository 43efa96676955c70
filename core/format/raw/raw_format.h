// The format "raw": one record a line or an input, whatever its bytes.
#pragma once

#include "core/contract/output_target.h"
#include "core/contract/parser.h"
#include "core/contract/row_encoder.h"
#include "core/format/raw/config.h"
#include "core/format/result_builder.h"
#include "core/record/schema.h"

#include <absl/status/statusor.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace penstock::core {

// Empty lines are records. There is no key. The only bad record is one that is
// too long.
class RawParser final : public Parser {
 public:
  explicit RawParser(const RawConfig& config) : config_(config) {}

  ParseResult Parse(const Fragment& fragment) override;
  std::unique_ptr<Splitter> MakeSplitter() const override;
  std::unique_ptr<Parser> Fork() const override {
    return std::make_unique<RawParser>(config_);
  }
  void SetPosition(uint64_t record_number, uint64_t line) override;
  size_t RecordBytesMax() const override { return config_.record_bytes_max; }
  bool TakesMessagesWhole() const override { return true; }

 private:
  const RawConfig config_;
  ParseProgress progress_;
};

// All of an input is a record, unless there is nothing. There is no key, and
// the only bad record is one that is too long.
class BlobParser final : public Parser {
 public:
  explicit BlobParser(const RawConfig& config) : config_(config) {}

  ParseResult Parse(const Fragment& fragment) override;
  std::unique_ptr<Splitter> MakeSplitter() const override;
  std::unique_ptr<Parser> Fork() const override {
    return std::make_unique<BlobParser>(config_);
  }
  void SetPosition(uint64_t record_number, uint64_t line) override;
  size_t RecordBytesMax() const override { return config_.record_bytes_max; }
  bool IsText() const override { return false; }
  bool TakesMessagesWhole() const override { return true; }

 private:
  const RawConfig config_;
  ParseProgress progress_;
};

// For the registry. Errors: INVALID_CONFIG.
absl::StatusOr<std::unique_ptr<Parser>> MakeRawParser(
    const ComponentConfig& config, const Schema& schema = {});
// Encodes the bytes, whatever the columns. Blobs only as messages.
absl::StatusOr<std::unique_ptr<RowEncoder>> MakeRawEncoder(
    const ComponentConfig& config, FrameKind frames, const Schema& schema = {});

}  // namespace penstock::core
