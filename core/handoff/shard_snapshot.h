// What a shard worker shows of itself.
// See core/handoff/README.md.
#pragma once

#include "core/handoff/breaker.h"
#include "core/handoff/histogram.h"
#include "core/handoff/shard_backlog.h"
#include "core/record/step.h"

#include <array>
#include <cstdint>

namespace penstock::core {

inline constexpr double kRowBounds[] = {1,      10,      100,      1'000,
                                        10'000, 100'000, 1'000'000};
// 1 KiB to 256 MiB.
inline constexpr double kByteBounds[] = {1024.0,
                                         4.0 * 1024,
                                         16.0 * 1024,
                                         64.0 * 1024,
                                         256.0 * 1024,
                                         1024.0 * 1024,
                                         4096.0 * 1024,
                                         16.0 * 1024 * 1024,
                                         64.0 * 1024 * 1024,
                                         256.0 * 1024 * 1024};
inline constexpr double kSecondBounds[] = {0.001, 0.0025, 0.005, 0.01, 0.025,
                                           0.05,  0.1,    0.25,  0.5,  1,
                                           2.5,   10,     30,    60};

// Counters since the worker was made, and what is now.
struct ShardSnapshot {
  // Count of steps in the target, as far as its answers came.
  Step progress = 0;
  // Frames of steps held or being written, and how many steps these are.
  uint64_t held_bytes = 0;
  uint64_t held_steps = 0;
  // Steps that the target held at open and that came again.
  uint64_t already_held_steps = 0;
  // Rows confirmed: the target has them, or refused them and they were left
  // out. And how many of these, or of what could not be encoded, have a letter.
  uint64_t rows_written = 0;
  uint64_t rows_refused = 0;
  uint64_t dead_letters = 0;
  uint64_t bytes_written = 0;
  uint64_t commits = 0;
  uint64_t retries = 0;
  // Batches given up with the shard: they may or may not be in the target.
  uint64_t abandoned = 0;
  // Batches being written or waiting to be tried again, and how many may be.
  uint32_t writes_under_way = 0;
  uint32_t writes_max = 0;
  // Of these, whose deadline has passed while a call was running or a commit
  // was not answered; also after Stop. Each may keep a thread.
  uint32_t writes_overdue = 0;
  // Times that the deadline of an attempt has passed.
  uint64_t deadlines_passed = 0;
  // By FlushReason. Like the histograms of batches: of confirmed ones.
  std::array<uint64_t, kFlushReasons> flushes = {};
  Histogram batch_rows{kRowBounds};
  Histogram batch_bytes{kByteBounds};
  // Of each attempt at the target, whatever became of it.
  Histogram write_seconds{kSecondBounds};
  // Of the target; the same for all its shards.
  Breaker::Snapshot breaker;
};

}  // namespace penstock::core
