// The version of these programs.
#pragma once

namespace penstock::core {

// That of project() in the CMakeLists.txt at the top, and nowhere else.
// Lifetime: static.
extern const char kVersion[];

}  // namespace penstock::core
