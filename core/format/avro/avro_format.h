// The format "avro": messages of one datum each.
#pragma once

#include "core/contract/message_gate.h"
#include "core/contract/output_target.h"
#include "core/contract/parser.h"
#include "core/contract/row_encoder.h"
#include "core/format/avro/avro_schema.h"
#include "core/format/avro/config.h"
#include "core/format/ndjson/key_path.h"
#include "core/format/result_builder.h"
#include "core/format/rows/change_columns.h"
#include "core/format/rows/change_reader.h"
#include "core/format/rows/row_reader.h"
#include "core/format/schemas/schema_cache.h"
#include "core/format/schemas/schema_source.h"
#include "core/format/whole_splitter.h"
#include "core/record/schema.h"

#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace penstock::core {

// A message is one record, as it stands, and one datum; its row is read by the
// schema it was written with. Bad records: "bad_frame" (no number of a schema),
// "unknown_schema" (none that can be used), "syntax", "trailing_data",
// "too_deep", "record_too_large", those of RowReader, and with an envelope
// "bin_envelope_err". There are no lines.
//
// Bound: RowReader's, and SchemaCache's.
class AvroParser final : public GatedParser {
 public:
  struct Options {
    // From 1.
    size_t record_bytes_max = size_t{16} << 20;
    std::optional<KeyPath> key = {};
    // At least one column.
    Schema schema = {};
    EnvelopeConfig envelope = {};
    ChangeColumns columns = {};
    // Of every message; null: each says its number, and `registry` has it.
    std::shared_ptr<const AvroSchema> written_with = {};
    SchemaRegistryConfig registry = {};
    MakeSchemaSource make_source = {};
  };
  explicit AvroParser(Options options);

  ParseResult Parse(const Fragment& fragment) override;
  std::unique_ptr<Splitter> MakeSplitter() const override {
    return std::make_unique<WholeSplitter>();
  }
  std::unique_ptr<Parser> Fork() const override {
    return std::make_unique<AvroParser>(options_);
  }
  void SetPosition(uint64_t record_number, uint64_t /*line*/) override {
    progress_.record_number = record_number;
  }
  size_t RecordBytesMax() const override { return options_.record_bytes_max; }
  bool IsText() const override { return false; }
  MessageGate* gate() override { return cache_.get(); }

 private:
  // Adds the record that `message` is. Returns: what is wrong with it.
  std::optional<ParseError> AddMessage(const Fragment& fragment,
                                       absl::string_view message,
                                       ResultBuilder& result);
  // The schema of a message, or why there is none.
  const AvroSchema* FindSchema(absl::string_view message,
                               std::optional<ParseError>& error) const;

  const Options options_;
  RowReader rows_;
  ChangeReader changes_;
  // Null where there is one schema.
  const std::unique_ptr<SchemaCache> cache_;
  // Lines are unknown: 0.
  ParseProgress progress_ = {.record_number = 1, .line = 0};
};

// For the registry of formats. `make_source`: asks a registry of schemas.
// Errors: INVALID_CONFIG.
absl::StatusOr<std::unique_ptr<Parser>> MakeAvroParser(
    const ComponentConfig& config, const Schema& schema,
    MakeSchemaSource make_source);
// Messages are passed on as they stand. Otherwise a row is a line of JSON, its
// columns as members: what is read with the schema needs none.
absl::StatusOr<std::unique_ptr<RowEncoder>> MakeAvroEncoder(
    const ComponentConfig& config, FrameKind frames, const Schema& schema);

}  // namespace penstock::core
