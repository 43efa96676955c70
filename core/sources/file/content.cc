#include "core/sources/file/content.h"

#include "core/base/sparse_file.h"
#include "core/base/status_macros.h"

#include <absl/strings/string_view.h>

#include <algorithm>
#include <vector>

namespace penstock::core {
namespace {

constexpr size_t kReadBytes = size_t{1} << 20;

}  // namespace

absl::StatusOr<uint64_t> PlainContent::CountNuls() {
  std::vector<char> some(kReadBytes);
  auto* const sparse = dynamic_cast<SparseFile*>(&file_);
  for (uint64_t nuls = 0;;) {
    if (sparse != nullptr) nuls = sparse->NextData(nuls);
    ASSIGN_OR_RETURN(const size_t got, file_.ReadAt(nuls, some));
    const absl::string_view text(some.data(), got);
    const size_t end = std::min(text.find_first_not_of('\0'), got);
    nuls += end;
    if (end < got || got == 0) return nuls;
  }
}

}  // namespace penstock::core
