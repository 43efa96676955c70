#include "server/dispatch/fence_store.h"

#include "core/base/byte_order.h"
#include "core/base/checksum.h"
#include "core/base/error.h"
#include "core/base/status_macros.h"

#include <absl/strings/str_cat.h>

#include <optional>
#include <utility>

namespace penstock::server {
namespace {

constexpr absl::string_view kMagic = "PSFENCE1";
constexpr absl::string_view kIdentity = "penstock worker state v1\n";
// A fence file is small: 10,000 pipelines of a few hundred bytes.
constexpr uint64_t kFileBytesMax = uint64_t{16} << 20;

void AppendU64(std::string& out, uint64_t value) {
  char bytes[8];
  core::StoreLe64(value, bytes);
  out.append(bytes, sizeof bytes);
}

void AppendText(std::string& out, absl::string_view text) {
  AppendU64(out, text.size());
  out.append(text.data(), text.size());
}

std::string Encode(const std::map<std::string, FenceRecord>& records) {
  std::string out(kMagic);
  AppendU64(out, records.size());
  for (const auto& [pipeline, record] : records) {
    AppendText(out, pipeline);
    AppendU64(out, record.epoch);
    AppendText(out, record.nonce);
    AppendText(out, record.controller_id);
    AppendU64(out, static_cast<uint64_t>(record.idle_since_s));
  }
  AppendU64(out, core::Checksum64(out));
  return out;
}

// Reads what Encode wrote; every take is checked against what is left.
class Decoder {
 public:
  explicit Decoder(absl::string_view bytes) : rest_(bytes) {}

  bool TakeU64(uint64_t& value) {
    if (rest_.size() < 8) return false;
    value = core::LoadLe64(rest_.data());
    rest_.remove_prefix(8);
    return true;
  }
  bool TakeText(std::string& text) {
    uint64_t size = 0;
    if (!TakeU64(size) || rest_.size() < size) return false;
    text.assign(rest_.data(), size);
    rest_.remove_prefix(size);
    return true;
  }
  bool done() const { return rest_.empty(); }

 private:
  absl::string_view rest_;
};

// nullopt: damaged.
std::optional<std::map<std::string, FenceRecord>> Decode(
    absl::string_view bytes) {
  if (bytes.size() < kMagic.size() + 16) return std::nullopt;
  const absl::string_view body = bytes.substr(0, bytes.size() - 8);
  if (core::LoadLe64(bytes.data() + body.size()) != core::Checksum64(body)) {
    return std::nullopt;
  }
  if (body.substr(0, kMagic.size()) != kMagic) return std::nullopt;
  Decoder decoder(body.substr(kMagic.size()));
  uint64_t count = 0;
  if (!decoder.TakeU64(count)) return std::nullopt;
  std::map<std::string, FenceRecord> records;
  for (uint64_t i = 0; i < count; ++i) {
    std::string pipeline;
    FenceRecord record;
    uint64_t idle = 0;
    if (!decoder.TakeText(pipeline) || !decoder.TakeU64(record.epoch) ||
        !decoder.TakeText(record.nonce) ||
        !decoder.TakeText(record.controller_id) || !decoder.TakeU64(idle)) {
      return std::nullopt;
    }
    record.idle_since_s = static_cast<int64_t>(idle);
    records[std::move(pipeline)] = std::move(record);
  }
  if (!decoder.done()) return std::nullopt;
  return records;
}

class FileFenceStore final : public FenceStore {
 public:
  FileFenceStore(core::FileSystem& files, std::string directory)
      : files_(files),
        directory_(std::move(directory)),
        identity_(core::JoinPath(directory_, "identity")),
        current_(core::JoinPath(directory_, "fence")),
        previous_(core::JoinPath(directory_, "fence.previous")) {}

  absl::StatusOr<std::map<std::string, FenceRecord>> Load() override {
    RETURN_IF_ERROR(files_.CreateDirectories(directory_));
    ASSIGN_OR_RETURN(const bool known, Exists(identity_));
    if (!known) return FirstRun();
    ASSIGN_OR_RETURN(auto current, Read(current_));
    if (current.has_value()) return *std::move(current);
    ASSIGN_OR_RETURN(auto previous, Read(previous_));
    if (previous.has_value()) return *std::move(previous);
    return core::MakeError(
        core::Reason::STATE_DAMAGED,
        absl::StrCat("reading the fence of this worker: neither ", current_,
                     " nor ", previous_, " is readable, but ", identity_,
                     " shows that the worker ran before; restore one of them, "
                     "or, if no controller of the old epochs can be alive, "
                     "remove the whole directory ",
                     directory_),
        {{"path", current_}});
  }

  absl::Status Save(
      const std::map<std::string, FenceRecord>& records) override {
    // The old generation stays under its second name until the next save. A
    // damaged one must not replace a good previous generation.
    ASSIGN_OR_RETURN(const auto current, Read(current_));
    if (current.has_value()) {
      RETURN_IF_ERROR(
          core::WriteFileDurably(files_, previous_, Encode(*current)));
    }
    return core::WriteFileDurably(files_, current_, Encode(records));
  }

 private:
  absl::StatusOr<bool> Exists(const std::string& path) {
    const auto stat = files_.Stat(path);
    if (stat.ok()) return true;
    if (absl::IsNotFound(stat.status())) return false;
    return stat.status();
  }

  // No identity: nothing was ever saved here, unless someone removed it.
  absl::StatusOr<std::map<std::string, FenceRecord>> FirstRun() {
    ASSIGN_OR_RETURN(const bool current, Exists(current_));
    ASSIGN_OR_RETURN(const bool previous, Exists(previous_));
    if (current || previous) {
      // A crash between the first save and the identity leaves an intact
      // fence of no pipelines; anything else means the identity was removed.
      ASSIGN_OR_RETURN(const auto records, Read(current_));
      if (previous || !records.has_value() || !records->empty()) {
        return core::MakeError(
            core::Reason::STATE_DAMAGED,
            absl::StrCat("reading the fence of this worker: ", identity_,
                         " is missing beside ", current_,
                         "; restore it, or remove the whole directory ",
                         directory_,
                         " if no controller of the old epochs can be alive"),
            {{"path", identity_}});
      }
    }
    RETURN_IF_ERROR(core::WriteFileDurably(files_, current_, Encode({})));
    RETURN_IF_ERROR(core::WriteFileDurably(files_, identity_, kIdentity));
    return std::map<std::string, FenceRecord>();
  }

  // nullopt: missing or damaged. Errors: the disk.
  absl::StatusOr<std::optional<std::map<std::string, FenceRecord>>> Read(
      const std::string& path) {
    auto bytes = files_.ReadFile(path, kFileBytesMax);
    if (absl::IsNotFound(bytes.status())) {
      return std::optional<std::map<std::string, FenceRecord>>();
    }
    if (!bytes.ok()) return bytes.status();
    return Decode(*bytes);
  }

  core::FileSystem& files_;
  const std::string directory_;
  const std::string identity_;
  const std::string current_;
  const std::string previous_;
};

}  // namespace

std::unique_ptr<FenceStore> MakeFileFenceStore(core::FileSystem& files,
                                               std::string directory) {
  return std::make_unique<FileFenceStore>(files, std::move(directory));
}

}  // namespace penstock::server
