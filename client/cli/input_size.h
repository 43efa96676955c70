// How much there is to read, where that can be known before.
#pragma once

#include "client/pipeline_file.h"
#include "core/base/clock.h"
#include "core/base/filesystem.h"

#include <cstdint>

namespace penstock::client {

// Bytes of all inputs of `pipeline`, as they lie here; 0: nobody knows: a
// source has no end, is no file of lines, is compressed, is not there, or is
// read by a worker elsewhere; or there is more to look at than it would be
// worth. Blocks: as the disk does, for about a second.
uint64_t InputBytesOf(core::FileSystem& files, const core::Clock& clock,
                      const PipelineFile& pipeline);

}  // namespace penstock::client
