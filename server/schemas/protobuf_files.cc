#include "server/schemas/protobuf_files.h"

#include "core/base/error.h"

#include <absl/strings/str_cat.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <map>
#include <utility>

namespace penstock::server {
namespace {

using google::protobuf::DescriptorPool;

// Of the schema itself: no import can have it.
constexpr char kName[] = "the schema";

// What a registry annotates schemas with.
constexpr absl::string_view kMeta = R"(syntax = "proto3";
package confluent;
import "google/protobuf/descriptor.proto";
message Meta {
  string doc = 1;
  map<string, string> params = 2;
  repeated string tags = 3;
}
extend google.protobuf.FileOptions { Meta file_meta = 1088; }
extend google.protobuf.MessageOptions { Meta message_meta = 1088; }
extend google.protobuf.FieldOptions { Meta field_meta = 1088; }
extend google.protobuf.EnumOptions { Meta enum_meta = 1088; }
extend google.protobuf.EnumValueOptions { Meta enum_value_meta = 1088; }
)";
constexpr absl::string_view kDecimal = R"(syntax = "proto3";
package confluent.type;
message Decimal {
  bytes value = 1;
  uint32 precision = 2;
  int32 scale = 3;
}
)";

bool IsOfLibrary(const std::string& name) {
  return DescriptorPool::generated_pool()->FindFileByName(name) != nullptr &&
         name.rfind("google/protobuf/", 0) == 0;
}

int NestingOf(absl::string_view text) {
  int depth = 0;
  int deepest = 0;
  for (const char c : text) {
    if (c == '{') deepest = std::max(deepest, ++depth);
    if (c == '}') --depth;
  }
  return deepest;
}

}  // namespace

class ProtobufFiles::Texts final
    : public google::protobuf::compiler::SourceTree {
 public:
  explicit Texts(const core::RegisteredSchema& schema) {
    texts_["confluent/meta.proto"] = std::string(kMeta);
    texts_["confluent/type/decimal.proto"] = std::string(kDecimal);
    for (const core::ReferredSchema& one : schema.references) {
      texts_[one.name] = one.text;
    }
    texts_[kName] = schema.text;
  }

  google::protobuf::io::ZeroCopyInputStream* Open(
      const std::string& name) override {
    const auto found = texts_.find(name);
    if (found == texts_.end() || IsOfLibrary(name)) return nullptr;
    return new google::protobuf::io::ArrayInputStream(
        found->second.data(), static_cast<int>(found->second.size()));
  }
  std::string GetLastErrorMessage() override {
    return "it is among no references of the schema";
  }

 private:
  std::map<std::string, std::string> texts_;
};

// Keeps the first one: the others follow from it.
class ProtobufFiles::Errors final
    : public google::protobuf::compiler::MultiFileErrorCollector {
 public:
  void AddError(const std::string& file, int line, int /*column*/,
                const std::string& message) override {
    if (!first_.empty()) return;
    first_ = line < 0 ? absl::StrCat(file, ": ", message)
                      : absl::StrCat(file, ", line ", line + 1, ": ", message);
  }
  const std::string& first() const { return first_; }

 private:
  std::string first_;
};

ProtobufFiles::ProtobufFiles(const core::RegisteredSchema& schema)
    : texts_(std::make_unique<Texts>(schema)),
      errors_(std::make_unique<Errors>()),
      library_(std::make_unique<google::protobuf::DescriptorPoolDatabase>(
          *DescriptorPool::generated_pool())),
      database_(std::make_unique<
                google::protobuf::compiler::SourceTreeDescriptorDatabase>(
          texts_.get(), library_.get())) {
  database_->RecordErrorsTo(errors_.get());
  pool_ = std::make_unique<DescriptorPool>(
      database_.get(), database_->GetValidationErrorCollector());
  pool_->EnforceWeakDependencies(true);
  file_ = pool_->FindFileByName(kName);
}

ProtobufFiles::~ProtobufFiles() = default;

absl::StatusOr<std::unique_ptr<ProtobufFiles>> ProtobufFiles::Parse(
    const core::RegisteredSchema& schema) {
  const auto bad = [](absl::string_view problem) {
    return core::MakeError(core::Reason::INVALID_CONFIG,
                           absl::StrCat("the Protobuf schema: ", problem));
  };
  size_t bytes = schema.text.size();
  int nesting = NestingOf(schema.text);
  for (const core::ReferredSchema& one : schema.references) {
    bytes += one.text.size();
    nesting = std::max(nesting, NestingOf(one.text));
  }
  if (bytes > core::kSchemaTextBytesMax) {
    return bad(absl::StrCat("it is longer than ", core::kSchemaTextBytesMax,
                            " bytes"));
  }
  if (nesting > kNestingMax) {
    return bad(absl::StrCat("more than ", kNestingMax,
                            " braces are within each other"));
  }
  auto files = std::unique_ptr<ProtobufFiles>(new ProtobufFiles(schema));
  if (files->file_ == nullptr || !files->errors_->first().empty()) {
    return bad(files->errors_->first());
  }
  return files;
}

}  // namespace penstock::server
