#include "core/contract/ft_model.h"

namespace penstock::core {

absl::string_view LevelName(std::optional<FtModel> level) {
  if (!level.has_value()) return "none";
  switch (*level) {
    case FtModel::kAtLeastOnce:
      return "at_least_once";
    case FtModel::kExactlyOnce:
      return "exactly_once";
  }
  return "unknown";
}

}  // namespace penstock::core
