#include "tests/server/schemas/protobuf_record.h"

#include "core/base/check.h"
#include "core/format/protobuf/protobuf_document.h"
#include "core/format/protobuf/protobuf_place.h"
#include "core/format/protobuf/protobuf_value.h"
#include "server/schemas/protobuf_compiler.h"
#include "server/schemas/protobuf_files.h"

#include <absl/strings/str_cat.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/util/json_util.h>

#include <set>
#include <utility>

namespace penstock::server {
namespace {

using google::protobuf::FileDescriptor;
using google::protobuf::FileDescriptorSet;

// Those that a file needs come before it.
void AddFiles(const FileDescriptor& file, std::set<std::string>& done,
              FileDescriptorSet& set) {
  if (!done.insert(file.name()).second) return;
  for (int i = 0; i < file.dependency_count(); ++i) {
    AddFiles(*file.dependency(i), done, set);
  }
  file.CopyTo(set.add_file());
}

}  // namespace

class ProtobufText::Parts {
 public:
  Parts(const std::string& text, const std::string& message)
      : files(*ProtobufFiles::Parse({.text = text, .type = "PROTOBUF"})),
        schema(TabulateProtobuf(files->file())),
        number(schema->FindByName(message).value()),
        descriptor(files->file().pool()->FindMessageTypeByName(message)) {
    config.message = message;
    std::set<std::string> done;
    FileDescriptorSet set;
    AddFiles(files->file(), done, set);
    config.descriptor_set = set.SerializeAsString();
  }

  const std::unique_ptr<ProtobufFiles> files;
  const std::shared_ptr<const core::ProtobufSchema> schema;
  const uint32_t number;
  const google::protobuf::Descriptor* const descriptor;
  core::ProtobufConfig config;
  google::protobuf::DynamicMessageFactory factory;
};

ProtobufText::ProtobufText(const std::string& text, const std::string& message)
    : parts_(std::make_unique<Parts>(text, message)) {}

ProtobufText::~ProtobufText() = default;

std::unique_ptr<google::protobuf::Message> ProtobufText::NewMessage() {
  return std::unique_ptr<google::protobuf::Message>(
      parts_->factory.GetPrototype(parts_->descriptor)->New());
}

std::string ProtobufText::FromJson(const std::string& json) {
  const auto message = NewMessage();
  const auto read =
      google::protobuf::util::JsonStringToMessage(json, message.get());
  CHECK(read.ok()) << read.ToString() << ": " << json;
  return message->SerializePartialAsString();
}

std::unique_ptr<core::Parser> ProtobufText::MakeParser(
    std::vector<core::Column> columns, core::EnvelopeConfig envelope,
    std::optional<std::string> key) const {
  core::ProtobufConfig config = parts_->config;
  config.envelope = std::move(envelope);
  config.key = std::move(key);
  return *core::MakeProtobufParser(config, {std::move(columns)}, nullptr,
                                   MakeProtobufCompiler());
}

std::string ProtobufText::ToJson(absl::string_view record) const {
  core::ProtobufDocument document;
  size_t at = 0;
  const core::ProtobufFault fault =
      document.Read(*parts_->schema, parts_->number, record, 0, at);
  if (fault != core::ProtobufFault::kNone) {
    return absl::StrCat("fault ", static_cast<int>(fault));
  }
  const core::ProtobufPlaces places(document);
  std::string json;
  const core::ValueFault value = ProtobufToJson(places, places.Root(), json);
  if (value == core::ValueFault::kNone) return json;
  return absl::StrCat("value fault ", static_cast<int>(value));
}

bool ProtobufText::IsGood(const std::string& record) {
  const auto message = NewMessage();
  google::protobuf::io::CodedInputStream input(
      reinterpret_cast<const uint8_t*>(record.data()),
      static_cast<int>(record.size()));
  // As deep as ours: the message itself counts there, too.
  input.SetRecursionLimit(static_cast<int>(core::kProtobufDepthMax) - 1);
  return message->ParseFromCodedStream(&input) && input.ConsumedEntireMessage();
}

}  // namespace penstock::server
