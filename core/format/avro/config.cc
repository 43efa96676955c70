#include "core/format/avro/config.h"

#include "core/base/error.h"
#include "core/format/avro/avro_schema.h"

#include <absl/strings/str_cat.h>

#include <string>

namespace penstock::core {
namespace {

absl::Status Bad(absl::string_view field, absl::string_view problem) {
  const std::string name = absl::StrCat("format.avro", field);
  return MakeError(Reason::INVALID_CONFIG, absl::StrCat(name, ": ", problem),
                   {{"field", name}});
}

}  // namespace

absl::Status CheckAvroConfig(const AvroConfig& config) {
  if (config.schema.has_value() == config.registry.has_value()) {
    return Bad("", "give one of schema and registry");
  }
  if (config.registry.has_value()) {
    return CheckSchemaRegistry(*config.registry, "format.avro.registry");
  }
  const absl::Status read = AvroSchema::Parse(*config.schema).status();
  return read.ok() ? read : Bad(".schema", read.message());
}

}  // namespace penstock::core
