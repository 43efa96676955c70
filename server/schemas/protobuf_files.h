// Files of .proto, found by the names that imports have.
#pragma once

#include "core/format/schemas/schema_source.h"

#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>
#include <google/protobuf/compiler/importer.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor_database.h>

#include <memory>
#include <string>

namespace penstock::server {

// A schema and what it imports, parsed and linked: its references; what the
// library itself has (google/protobuf/*.proto), whatever references say; and
// what every registry of Confluent's kind has (confluent/meta.proto,
// confluent/type/decimal.proto).
//
// Threads: thread-compatible. Bound: kSchemaTextBytesMax of text, kNestingMax
// braces within each other, which the library's parser would recurse into.
class ProtobufFiles {
 public:
  static constexpr int kNestingMax = 100;

  // Errors: INVALID_CONFIG: it is no schema, or imports what is not there.
  static absl::StatusOr<std::unique_ptr<ProtobufFiles>> Parse(
      const core::RegisteredSchema& schema);
  ~ProtobufFiles();

  // The file of the schema itself.
  const google::protobuf::FileDescriptor& file() const { return *file_; }

 private:
  class Texts;
  class Errors;

  explicit ProtobufFiles(const core::RegisteredSchema& schema);

  std::unique_ptr<Texts> texts_;
  std::unique_ptr<Errors> errors_;
  std::unique_ptr<google::protobuf::DescriptorPoolDatabase> library_;
  std::unique_ptr<google::protobuf::compiler::SourceTreeDescriptorDatabase>
      database_;
  std::unique_ptr<google::protobuf::DescriptorPool> pool_;
  const google::protobuf::FileDescriptor* file_ = nullptr;
};

}  // namespace penstock::server
