// Decodes zstd (RFC 8878).
#pragma once

#include "core/compress/decoder.h"

#include <absl/strings/string_view.h>
#include <zstd.h>

#include <memory>
#include <optional>
#include <span>

namespace penstock::core {

// Frames one behind the other; skippable ones are passed over.
class ZstdDecoder final : public Decoder {
 public:
  ZstdDecoder();

  Progress Decode(absl::string_view in, std::span<char> out) override;
  bool MayEnd() const override { return !is_in_frame_; }
  const std::optional<Defect>& defect() const override { return defect_; }
  Defect Truncated() const override;

 private:
  struct Free {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  };

  const std::unique_ptr<ZSTD_DCtx, Free> context_;
  bool is_in_frame_ = false;
  bool has_frame_ = false;
  std::optional<Defect> defect_;
};

}  // namespace penstock::core
