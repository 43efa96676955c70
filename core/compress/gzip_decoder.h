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
  void Fail(const char* tag, const char* description);

  // 85 KiB.
  const std::unique_ptr<inflate_state> stream_;
  State state_ = State::kBetween;
  bool has_member_ = false;
  std::optional<Defect> defect_;
};

}  // namespace penstock::core
