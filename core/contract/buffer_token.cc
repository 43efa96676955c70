#include "core/contract/buffer_token.h"

#include "core/base/checksum.h"

#include <absl/strings/str_cat.h>

namespace penstock::core {

std::string BufferToken(const OutputOpen& open, ShardIndex shard, ChunkId id,
                        absl::string_view buffer) {
  return absl::StrCat(open.incarnation, "/", open.connector, "/", shard, "/",
                      id.step, "/", id.index, "/", Hex64(Checksum64(buffer)));
}

}  // namespace penstock::core
