// How much there is to read, where that can be known before.
#pragma once

#include "client/pipeline_file.h"
#include "core/base/filesystem.h"

#include <cstdint>

namespace penstock::client {

// Bytes of all inputs of `pipeline`, as they lie here; 0: nobody knows: a
// source has no end, is no file, is compressed, is not there, or is read by a
// worker elsewhere. Blocks: as the disk does.
uint64_t InputBytesOf(core::FileSystem& files, const PipelineFile& pipeline);

}  // namespace penstock::client
