// YAML to a protobuf message, by reflection. Internal to client/.
#pragma once

#include "proto/wire/violations.h"

#include <absl/container/flat_hash_map.h>
#include <absl/strings/string_view.h>

#include <string>

namespace google::protobuf {
class Message;
}  // namespace google::protobuf

namespace penstock::client::internal {

// Where in a text each field was written.
class FieldLines {
 public:
  void Set(std::string path, int line);
  // The line of `path`, or of the nearest field that it is in; from 1.
  int Of(absl::string_view path) const;

 private:
  absl::flat_hash_map<std::string, int> lines_;
};

// Fills in `message` from the one document in `text`, as far as it is right;
// what is wrong goes to `violations`, each named by its path from the root
// (`connectors[0].sink.file.path`). Syntax errors and a wrong root have an
// empty path.
void ReadYaml(absl::string_view text, google::protobuf::Message& message,
              FieldLines& lines, wire::Violations& violations);

}  // namespace penstock::client::internal
