// What both ends of a connection set as a pair (`protocol.md` rules 9, 17).
#pragma once

namespace penstock::wire {

// The client pings an idle connection this often, and gives it up when no
// answer comes within the timeout …
inline constexpr int kKeepaliveTimeMs = 30'000;
inline constexpr int kKeepaliveTimeoutMs = 10'000;
// … and the server takes pings that come no faster than this. It pings, too.
inline constexpr int kPingIntervalMinMs = 20'000;
static_assert(kPingIntervalMinMs < kKeepaliveTimeMs);

// Longest message that either end takes, in bytes; fragments are far below.
inline constexpr int kMessageBytesMax = 4 << 20;
// Longest metadata, in bytes; StatusToProto stays below half of it.
inline constexpr int kMetadataBytesMax = 16 << 10;

}  // namespace penstock::wire
