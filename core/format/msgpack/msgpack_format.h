// The format "msgpack": MessagePack values one behind the other.
#pragma once

#include "core/contract/output_target.h"
#include "core/contract/parser.h"
#include "core/contract/row_encoder.h"
#include "core/format/msgpack/config.h"
#include "core/format/msgpack/msgpack_checker.h"
#include "core/format/msgpack/msgpack_scanner.h"
#include "core/format/ndjson/key_path.h"
#include "core/format/result_builder.h"
#include "core/format/rows/change_reader.h"
#include "core/format/rows/row_reader.h"
#include "core/record/record_batch.h"
#include "core/record/schema.h"

#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace penstock::core {

// Cuts behind the last value that is whole.
class MsgpackSplitter final : public Splitter {
 public:
  std::optional<size_t> Input(absl::string_view data) override;
  void Clear() override { scanner_ = {}; }
  // A value says how long it is: none goes on later.
  std::optional<size_t> PassSeam(char /*before*/,
                                 absl::string_view /*behind*/) const override {
    return 0;
  }

 private:
  MsgpackScanner scanner_;
};

// A record is a value as it stands. There are no lines. Bad records: tags
// "syntax" (0xc1, or the input ends inside of it), "too_deep",
// "record_too_large", with columns those of RowReader, and with an envelope, in
// which the record is the row, "bin_envelope_err". Each costs as much as it
// says that it is long.
//
// Bound: RowReader's.
class MsgpackParser final : public Parser {
 public:
  // What is wanted of records.
  struct Options {
    // From 1.
    size_t record_bytes_max = size_t{16} << 20;
    // Where the records' keys are; nullopt: they have none.
    std::optional<KeyPath> key = {};
    // The columns of their rows; empty: they have none.
    Schema schema = {};
    EnvelopeConfig envelope = {};
    ChangeColumns columns = {};
  };
  explicit MsgpackParser(Options options);

  ParseResult Parse(const Fragment& fragment) override;
  std::unique_ptr<Splitter> MakeSplitter() const override {
    return std::make_unique<MsgpackSplitter>();
  }
  std::unique_ptr<Parser> Fork() const override;
  void SetPosition(uint64_t record_number, uint64_t /*line*/) override {
    progress_.record_number = record_number;
  }
  size_t RecordBytesMax() const override { return options_.record_bytes_max; }
  bool IsText() const override { return false; }

 private:
  // The value that `text` is and `verdict` is of; it is not too large.
  void AddValue(const Fragment& fragment, absl::string_view text,
                const MsgpackVerdict& verdict, uint32_t begin,
                ResultBuilder& result);
  // What the envelope `text`, which is good, has in it.
  void AddChange(const Fragment& fragment, absl::string_view text,
                 uint32_t begin, ResultBuilder& result);
  // The record's key, if the value at `at` of it is one.
  void AddKey(absl::string_view text, size_t at, ResultBuilder& result,
              RecordEntry& entry) const;

  const Options options_;
  // Null without columns.
  const std::unique_ptr<RowReader> rows_;
  // Null without an envelope.
  const std::unique_ptr<ChangeReader> changes_;
  // Lines are unknown: 0.
  ParseProgress progress_ = {.record_number = 1, .line = 0};
};

// For the registry. Errors: INVALID_CONFIG.
absl::StatusOr<std::unique_ptr<Parser>> MakeMsgpackParser(
    const ComponentConfig& config, const Schema& schema = {});
// With columns a row is a map of them, otherwise the record's bytes.
absl::StatusOr<std::unique_ptr<RowEncoder>> MakeMsgpackEncoder(
    const ComponentConfig& config, FrameKind frames, const Schema& schema = {});

}  // namespace penstock::core
