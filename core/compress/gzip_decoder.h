// Decodes gzip (RFC 1952).
#pragma once

#include "core/compress/decoder.h"

#include <absl/strings/string_view.h>

#include <memory>
#include <optional>
#include <span>

// isa-l's, whose headers stay out of ours.
struct inflate_state;

namespace penstock::core {

//   between members ──1f──▶ in a member ──its end──▶ between members
//      │      └──00──▶ padding (only 00 may follow)
//      └──other──▶ defect
//
// Zero bytes behind the last member are padding and mean nothing, as for gzip
// itself. By isa-l: see deploy/adr/2026-11-30-gzip-is-read-by-isa-l.md.
class GzipDecoder final : public Decoder {
 public:
  GzipDecoder();
  GzipDecoder(const GzipDecoder&) = delete;
  GzipDecoder& operator=(const GzipDecoder&) = delete;
  ~GzipDecoder() override;

  Progress Decode(absl::string_view in, std::span<char> out) override;
  bool MayEnd() const override { return state_ != State::kInMember; }
  const std::optional<Defect>& defect() const override { return defect_; }
  Defect Truncated() const override;

 private:
  enum class State { kBetween, kInMember, kPadding };

  // False: `first` begins none, which is a defect.
  bool BeginMember(char first);
  void Find(const char* tag, const char* description);
  // Gives what isa-l decoded before the defect and still holds, then lets the
  // defect be seen: how much content comes before it must not depend on how
  // large the reads are, since they are others in a replay.
  size_t TakeHeld(std::span<char> out);

  // 85 KiB.
  const std::unique_ptr<inflate_state> stream_;
  State state_ = State::kBetween;
  bool has_member_ = false;
  // Found, and seen from outside once all content before it was given.
  std::optional<Defect> found_;
  std::optional<Defect> defect_;
};

}  // namespace penstock::core
