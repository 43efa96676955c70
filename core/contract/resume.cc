#include "core/contract/resume.h"

#include <utility>

namespace penstock::core {

Resume Resume::MetadataOnly(std::string seek, std::optional<uint64_t> hash) {
  if (!hash.has_value()) return Resume(Seek{.seek = std::move(seek)});
  return Resume(Replay{.seek = std::move(seek),
                       .replay = std::string(kMsgpackNil),
                       .hash = *hash});
}

Resume Resume::DataOnly(const std::function<std::string()>& replay,
                        std::optional<uint64_t> hash) {
  if (!hash.has_value()) return Resume(Seek{.seek = std::string(kJsonNull)});
  return Resume(Replay{
      .seek = std::string(kJsonNull), .replay = replay(), .hash = *hash});
}

std::optional<absl::string_view> Resume::seek() const {
  if (const Seek* seek = std::get_if<Seek>(&kind_)) return seek->seek;
  if (const Replay* replay = std::get_if<Replay>(&kind_)) return replay->seek;
  return std::nullopt;
}

FtModel Resume::FaultTolerance() const {
  return std::holds_alternative<Replay>(kind_) ? FtModel::kExactlyOnce
                                               : FtModel::kAtLeastOnce;
}

}  // namespace penstock::core
