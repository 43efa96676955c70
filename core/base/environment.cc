#include "core/base/environment.h"

#include <cstdlib>

namespace penstock::core {

std::optional<std::string> GetEnv(const std::string& name) {
  const char* const value = std::getenv(name.c_str());
  if (value == nullptr) return std::nullopt;
  return std::string(value);
}

}  // namespace penstock::core
