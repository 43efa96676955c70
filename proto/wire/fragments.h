// Things too long for one message: cut into fragments, put together again.
// See `protocol.md` rule 9.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace penstock::v1 {
class Fragment;
class PartRef;
}  // namespace penstock::v1

namespace penstock::wire {

// Length of the fragments that we send.
inline constexpr size_t kFragmentBytes = size_t{256} << 10;

// Names a whole by length in bytes and XXH3-64.
struct Part {
  uint64_t length = 0;
  uint64_t hash = 0;
  friend bool operator==(const Part&, const Part&) = default;
};
Part PartOf(absl::string_view whole);
v1::PartRef ToProto(const Part& part);
Part FromProto(const v1::PartRef& part);

// The piece of `whole` that begins at `offset`, at most `bytes_max` long;
// empty at the end. Requires: offset <= whole.size().
v1::Fragment FragmentAt(absl::string_view whole, uint64_t offset,
                        size_t bytes_max = kFragmentBytes);

// Puts one whole together.
//
// Threads:   thread-compatible.
// Lifecycle: Add each fragment in order, then Finish once.
// Bound:     min(announced length, `bytes_max`); it grows with what has come,
//            never ahead by what was announced.
class FragmentAssembler {
 public:
  // Most that we take of one thing: replay data of a step is cut at 16 MiB, a
  // position of 100,000 files is about as long.
  static constexpr uint64_t kWholeBytesMax = uint64_t{64} << 20;

  explicit FragmentAssembler(Part announced,
                             uint64_t bytes_max = kWholeBytesMax);

  // Errors: MALFORMED_FRAME (gap, overlap, longer than announced; metadata
  // "offset"), RECORD_TOO_LARGE (announced above `bytes_max`).
  absl::Status Add(const v1::Fragment& fragment);
  bool complete() const { return whole_.size() == announced_.length; }
  uint64_t offset() const { return whole_.size(); }
  // Errors: MALFORMED_FRAME (shorter than announced, or another hash).
  absl::StatusOr<std::string> Finish() &&;

 private:
  const Part announced_;
  const uint64_t bytes_max_;
  std::string whole_;
};

}  // namespace penstock::wire
