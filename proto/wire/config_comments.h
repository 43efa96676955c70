// What spec.proto says of its fields and messages, for people who ask a worker.
#pragma once

#include <string>

namespace google::protobuf {
class Descriptor;
class FieldDescriptor;
}  // namespace google::protobuf

namespace penstock::wire {

// The comment above it, in one line; empty for what is not of spec.proto.
std::string CommentOf(const google::protobuf::Descriptor& message);
std::string CommentOf(const google::protobuf::FieldDescriptor& field);

// What a comment says behind "Default:", up to the end of that sentence; empty
// if it says nothing.
std::string DefaultIn(const std::string& comment);

}  // namespace penstock::wire
