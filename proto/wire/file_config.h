// The configuration of the source "file" <-> its message.
#pragma once

#include "core/sources/file/config.h"
#include "proto/penstock/v1/spec.pb.h"
#include "proto/wire/violations.h"

#include <memory>
#include <string>

namespace penstock::wire {

// What is wrong goes into `violations`, below `path`. The path itself is the
// caller's to check, and the size of blocks to set.
std::shared_ptr<core::FileSourceConfig> FileFromProto(
    const v1::FileSource& message, std::string path, Violations& violations);

// A field that has its default is left out: a spec that was stored before the
// field was there stays the same.
v1::FileSource FileToProto(const core::FileSourceConfig& config);

}  // namespace penstock::wire
