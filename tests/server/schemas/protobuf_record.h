// Records of Protobuf, made by the library of a .proto file's text.
#pragma once

#include "core/contract/parser.h"
#include "core/format/protobuf/protobuf_format.h"
#include "core/record/schema.h"

#include <absl/strings/string_view.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/message.h>

#include <memory>
#include <string>
#include <vector>

namespace penstock::server {

// A file, as the library has it and as a parser.
//
// Threads: thread-compatible.
class ProtobufText {
 public:
  // `message`: by its name with its package. CHECKs that both are good.
  ProtobufText(const std::string& text, const std::string& message);
  ~ProtobufText();

  // An empty message of the file.
  std::unique_ptr<google::protobuf::Message> NewMessage();
  // The bytes of a message in JSON, as proto3 has it.
  std::string FromJson(const std::string& json);
  // Of the bare message.
  std::unique_ptr<core::Parser> MakeParser(
      std::vector<core::Column> columns, core::EnvelopeConfig envelope = {},
      std::optional<std::string> key = {}) const;
  // The JSON of a record; "fault" and which, where it is bad.
  std::string ToJson(absl::string_view record) const;
  // The same, as the library reads it: whether it is good.
  bool IsGood(const std::string& record);

 private:
  class Parts;

  const std::unique_ptr<Parts> parts_;
};

}  // namespace penstock::server
