// The frame of every record in a file sink's claims, manifests and segments.
// A public format: core/sinks/file/README.md draws it byte by byte.
#pragma once

#include <absl/strings/string_view.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace penstock::core {

inline constexpr absl::string_view kRecordMagic = "PnsR";
// Magic, checksum, length.
inline constexpr size_t kRecordHeadBytes = 4 + 8 + 4;
// These, and the end mark.
inline constexpr size_t kRecordFrameBytes = kRecordHeadBytes + 4;

enum class RecordType : uint8_t {
  kHeader = 1,
  kState = 2,
  kCommit = 3,
  kContinued = 4,
  kSegment = 5,
};

// Lifetime: `body` is a view of what was read.
struct RecordView {
  RecordType type = RecordType::kHeader;
  uint64_t sequence = 0;
  absl::string_view body;
  // Of the whole record.
  size_t bytes = 0;
};

std::string EncodeRecord(RecordType type, uint64_t sequence,
                         absl::string_view body);
// The record at the start of `bytes`; nullopt: no whole, undamaged one.
std::optional<RecordView> ReadRecord(absl::string_view bytes);

// A length (4 bytes), then the bytes.
void AppendText(absl::string_view text, std::string& to);
// False: too short; `from` is then anywhere.
[[nodiscard]] bool ConsumeText(absl::string_view& from, std::string& text);

}  // namespace penstock::core
