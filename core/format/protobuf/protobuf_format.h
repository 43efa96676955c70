// The format "protobuf": messages of Protocol Buffers, one a record.
#pragma once

#include "core/contract/message_gate.h"
#include "core/contract/output_target.h"
#include "core/contract/parser.h"
#include "core/contract/row_encoder.h"
#include "core/format/ndjson/key_path.h"
#include "core/format/protobuf/config.h"
#include "core/format/protobuf/protobuf_document.h"
#include "core/format/protobuf/protobuf_schema.h"
#include "core/format/result_builder.h"
#include "core/format/rows/change_columns.h"
#include "core/format/rows/change_reader.h"
#include "core/format/rows/row_reader.h"
#include "core/format/schemas/schema_cache.h"
#include "core/format/schemas/schema_source.h"
#include "core/format/whole_splitter.h"
#include "core/record/schema.h"

#include <absl/container/inlined_vector.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace penstock::core {

// A record is one message, as it stands; its row is read by the schema it was
// written with. Bad records: "bad_frame" (no number of a schema, or no message
// that it has), "unknown_schema" (none that can be used), "syntax",
// "missing_field" (a required one), "too_deep", "record_too_large", those of
// RowReader, and with an envelope "bin_envelope_err". There are no lines.
//
// Bound: RowReader's, ProtobufDocument's, and SchemaCache's.
class ProtobufParser final : public GatedParser {
 public:
  struct Options {
    // From 1.
    size_t record_bytes_max = size_t{16} << 20;
    std::optional<KeyPath> key = {};
    // At least one column.
    Schema schema = {};
    EnvelopeConfig envelope = {};
    ChangeColumns columns = {};
    // Of every record, with the number of its message; null: each says both
    // numbers, and `registry` has the schema.
    std::shared_ptr<const ProtobufSchema> written_with = {};
    uint32_t message = 0;
    SchemaRegistryConfig registry = {};
    MakeSchemaSource make_source = {};
    SchemaLanguage language = {};
  };
  explicit ProtobufParser(Options options);

  ParseResult Parse(const Fragment& fragment) override;
  std::unique_ptr<Splitter> MakeSplitter() const override {
    return std::make_unique<WholeSplitter>();
  }
  std::unique_ptr<Parser> Fork() const override {
    return std::make_unique<ProtobufParser>(options_);
  }
  void SetPosition(uint64_t record_number, uint64_t /*line*/) override {
    progress_.record_number = record_number;
  }
  size_t RecordBytesMax() const override { return options_.record_bytes_max; }
  bool IsText() const override { return false; }
  MessageGate* gate() override { return cache_.get(); }

 private:
  // What a record is written with, and where it begins.
  struct Written {
    const ProtobufSchema* schema = nullptr;
    uint32_t message = 0;
    size_t begin = 0;
  };

  // Adds the record. Returns: what is wrong with it.
  std::optional<ParseError> AddRecord(const Fragment& fragment,
                                      absl::string_view record,
                                      ResultBuilder& result);
  // Returns: why it cannot be known.
  std::optional<ParseError> FindWritten(absl::string_view record,
                                        Written& written) const;

  const Options options_;
  RowReader rows_;
  ChangeReader changes_;
  // Null where there is one schema.
  const std::unique_ptr<SchemaCache> cache_;
  ProtobufDocument document_;
  // Lines are unknown: 0.
  ParseProgress progress_ = {.record_number = 1, .line = 0};
};

// Longer ones than are usual are allocated.
using ProtobufPath = absl::InlinedVector<uint32_t, 8>;

// The path of a message in its file, as Confluent's wire format has it behind
// the number of the schema: how many numbers, then each, as zigzag varints; a 0
// alone is the first message. Sets `at`, where it begins, behind it. Returns:
// false if it is none, or longer than kProtobufDepthMax.
bool ReadMessagePath(absl::string_view record, size_t& at, ProtobufPath& path);

// For the registry of formats. Errors: INVALID_CONFIG.
absl::StatusOr<std::unique_ptr<Parser>> MakeProtobufParser(
    const ComponentConfig& config, const Schema& schema,
    MakeSchemaSource make_source, const ProtobufCompiler& compiler);
// Messages are passed on as they stand. Otherwise a row is a line of JSON, its
// columns as members.
absl::StatusOr<std::unique_ptr<RowEncoder>> MakeProtobufEncoder(
    const ComponentConfig& config, FrameKind frames, const Schema& schema);

}  // namespace penstock::core
