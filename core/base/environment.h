// The process environment; the only place that reads it.
#pragma once

#include <optional>
#include <string>

namespace penstock::core {

// nullopt: not set. An empty value is a value.
// Requires: no thread changes the environment at the same time.
std::optional<std::string> GetEnv(const std::string& name);

}  // namespace penstock::core
