// Delivery levels.
#pragma once

#include <absl/strings/string_view.h>

#include <cstdint>
#include <optional>

namespace penstock::core {

// Seed type: `FtModel`. A level is `std::optional<FtModel>`: nullopt ("none") <
// kAtLeastOnce < kExactlyOnce, which is also how std::optional compares.
enum class FtModel : uint8_t { kAtLeastOnce, kExactlyOnce };

// "none", "at_least_once", "exactly_once".
absl::string_view LevelName(std::optional<FtModel> level);

}  // namespace penstock::core
