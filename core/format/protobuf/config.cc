#include "core/format/protobuf/config.h"

#include "core/base/error.h"

#include <absl/strings/str_cat.h>

namespace penstock::core {
namespace {

absl::Status Bad(absl::string_view field, absl::string_view problem) {
  const std::string name = absl::StrCat("format.protobuf", field);
  return MakeError(Reason::INVALID_CONFIG, absl::StrCat(name, ": ", problem),
                   {{"field", name}});
}

}  // namespace

absl::Status CheckProtobufConfig(const ProtobufConfig& config) {
  if (config.registry.has_value() == !config.descriptor_set.empty()) {
    return Bad("", "give one of registry and descriptor_set");
  }
  if (config.registry.has_value()) {
    if (!config.message.empty()) {
      return Bad(".message",
                 "goes with descriptor_set; with a registry each record names "
                 "its message");
    }
    return CheckSchemaRegistry(*config.registry, "format.protobuf.registry");
  }
  if (config.message.empty()) {
    return Bad(".message",
               "is missing: which message of descriptor_set the records are, "
               "as `package.Name`");
  }
  if (config.descriptor_set.size() > ProtobufConfig::kDescriptorSetBytesMax) {
    return Bad(
        ".descriptor_set",
        absl::StrCat("is longer than ", ProtobufConfig::kDescriptorSetBytesMax,
                     " bytes; leave out --include_source_info, and "
                     "files that the message does not need"));
  }
  return absl::OkStatus();
}

}  // namespace penstock::core
