// MessagePack that msgpack-c wrote, from a seed.
#pragma once

#include "core/base/random.h"

#include <cstddef>
#include <string>

namespace penstock::core {

// One value, nested up to `depth_max` levels, of every kind: maps with few
// names, "a", "b" and "c" among them.
std::string RandomMsgpack(Random& random, int depth_max = 3);

// Values one behind the other, some of them damaged, perhaps cut off.
std::string RandomMsgpackStream(Random& random, size_t values);

}  // namespace penstock::core
