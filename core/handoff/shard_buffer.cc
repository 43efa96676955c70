#include "core/handoff/shard_buffer.h"

#include <exception>

namespace penstock::core {

absl::Status EncoderThrew(Reason reason) {
  constexpr absl::string_view kWhat = "the encoder threw: ";
  try {
    throw;
  } catch (const std::exception& error) {
    return MakeError(reason, absl::StrCat(kWhat, error.what()));
  } catch (...) {
    return MakeError(
        reason, absl::StrCat(kWhat, "something that is no std::exception"));
  }
}

absl::Status CannotEncode(const absl::Status& status, const RecordMeta& meta,
                          ShardIndex shard) {
  return WithContext(
      status,
      absl::StrCat("while encoding the record at offset ", meta.offset,
                   " of partition ", meta.partition, " for shard ", shard));
}

absl::Status NoSuchShard(ShardIndex shard, uint32_t shards) {
  return MakeError(Reason::INTERNAL, absl::StrCat("the router named shard ",
                                                  shard, " of ", shards));
}

absl::Status QueueClosed() {
  return MakeError(Reason::SHUTTING_DOWN,
                   "a shard queue is closed: nobody takes its chunks");
}

}  // namespace penstock::core
