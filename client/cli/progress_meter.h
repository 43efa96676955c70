// How far long work is: rate, and the time that is left.
#pragma once

#include <absl/strings/string_view.h>
#include <absl/time/time.h>

#include <cstdint>
#include <string>

namespace penstock::client {

// "reading: 1.20 GB of 3.40 GB (35%), 350.00 MB/s, about 6s left". Of an
// unknown total (0), and in the first half second, only what is known.
std::string ProgressText(absl::string_view what, uint64_t done, uint64_t total,
                         absl::Duration elapsed);

// A line on stderr that is rewritten four times a second, where that is a
// terminal; otherwise nothing, so that scripts and pipes see no difference.
//
// Owner:     one command. Threads: confined to its thread.
// Lifecycle: the destructor wipes the line out.
class ProgressMeter {
 public:
  // `total`: bytes, 0 if nobody knows.
  ProgressMeter(std::string what, uint64_t total);
  ~ProgressMeter();
  ProgressMeter(const ProgressMeter&) = delete;
  ProgressMeter& operator=(const ProgressMeter&) = delete;

  // So many more bytes are done.
  void Add(uint64_t bytes) {
    done_ += bytes;
    if (is_shown_ && done_ >= look_again_) Show();
  }

 private:
  void Show();

  const std::string what_;
  const uint64_t total_;
  const bool is_shown_;
  const absl::Time started_;
  uint64_t done_ = 0;
  // The clock is not asked before this many.
  uint64_t look_again_ = 0;
  absl::Time shown_ = absl::InfinitePast();
};

}  // namespace penstock::client
