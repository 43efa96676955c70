// Files with holes: ranges that were never written and are NUL bytes.
#pragma once

#include <cstdint>

namespace penstock::core {

// What a File may be besides, found by dynamic_cast: a disk that tells where
// there is something.
// Threads: as File. Blocks: as the disk does.
class SparseFile {
 public:
  virtual ~SparseFile() = default;
  // Where at or behind `offset` the next byte may be that is not NUL; the
  // file's size if there is none. `offset` itself if that is not known.
  virtual uint64_t NextData(uint64_t offset) = 0;
};

}  // namespace penstock::core
