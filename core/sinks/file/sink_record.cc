#include "core/sinks/file/sink_record.h"

#include "core/base/byte_order.h"
#include "core/base/checksum.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>

namespace penstock::core {
namespace {

// Its last byte is not NUL, so a record whose end was lost shows it.
constexpr absl::string_view kEnd = "end\n";

}  // namespace

std::string EncodeRecord(RecordType type, uint64_t sequence,
                         absl::string_view body) {
  std::string checked;
  AppendLe32(static_cast<uint32_t>(1 + 8 + body.size()), checked);
  checked.push_back(static_cast<char>(type));
  AppendLe64(sequence, checked);
  absl::StrAppend(&checked, body, kEnd);
  std::string record(kRecordMagic);
  AppendLe64(Checksum64(checked), record);
  record += checked;
  return record;
}

std::optional<RecordView> ReadRecord(absl::string_view bytes) {
  if (bytes.size() < kRecordFrameBytes ||
      !absl::StartsWith(bytes, kRecordMagic)) {
    return std::nullopt;
  }
  const uint64_t checksum = LoadLe64(bytes.data() + 4);
  const size_t payload = LoadLe32(bytes.data() + 12);
  if (payload < 1 + 8 || payload > bytes.size() - kRecordFrameBytes) {
    return std::nullopt;
  }
  if (Checksum64(bytes.substr(12, 4 + payload + kEnd.size())) != checksum) {
    return std::nullopt;
  }
  return RecordView{
      .type = static_cast<RecordType>(bytes[kRecordHeadBytes]),
      .sequence = LoadLe64(bytes.data() + kRecordHeadBytes + 1),
      .body = bytes.substr(kRecordHeadBytes + 1 + 8, payload - 1 - 8),
      .bytes = kRecordFrameBytes + payload,
  };
}

void AppendText(absl::string_view text, std::string& to) {
  AppendLe32(static_cast<uint32_t>(text.size()), to);
  absl::StrAppend(&to, text);
}

bool ConsumeText(absl::string_view& from, std::string& text) {
  uint32_t size = 0;
  if (!ConsumeLe(from, size) || from.size() < size) return false;
  text = std::string(from.substr(0, size));
  from.remove_prefix(size);
  return true;
}

}  // namespace penstock::core
