#include "server/net/open_files.h"

#include "core/base/log.h"

#include <sys/resource.h>
#include <algorithm>

namespace penstock::server {
namespace {

// Beside connections: files, partitions, targets, and what gRPC has itself.
constexpr rlim_t kOthers = 256;
// Where there is no limit: whoever goes through all of them has an end.
constexpr rlim_t kMost = rlim_t{1} << 20;

}  // namespace

size_t RaiseOpenFiles(size_t connections) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = std::max(before, std::min(limit.rlim_max, kMost));
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) limit.rlim_cur = before;
  if (limit.rlim_cur < connections + kOthers) {
    LOG(WARNING).With("open_files_max", limit.rlim_cur)
        << "this process may open fewer files than --connections-max and "
           "--admin-connections-max together, and "
        << kOthers
        << " for everything else: raise its limit (ulimit -Hn; LimitNOFILE in "
           "a unit), or lower the two";
  }
  return limit.rlim_cur;
}

}  // namespace penstock::server
