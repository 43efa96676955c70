// Schemas of Protobuf, by the library: what core, which knows none, is given.
#pragma once

#include "core/format/protobuf/protobuf_schema.h"

#include <google/protobuf/descriptor.h>

#include <memory>

namespace penstock::server {

// Threads: what it has may be called on any thread.
core::ProtobufCompiler MakeProtobufCompiler();

// The table of a file's messages and of all that they refer to.
std::shared_ptr<const core::ProtobufSchema> TabulateProtobuf(
    const google::protobuf::FileDescriptor& file);

}  // namespace penstock::server
