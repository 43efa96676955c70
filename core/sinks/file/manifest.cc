#include "core/sinks/file/manifest.h"

#include "core/base/byte_order.h"
#include "core/base/checksum.h"
#include "core/sinks/file/layout.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/strip.h>

#include <algorithm>
#include <utility>

namespace penstock::core {
namespace {

// A record: magic, checksum of all that follows, length of the payload,
// payload, end mark. The end mark's last byte is not NUL, so a record whose
// end was lost shows it.
constexpr absl::string_view kMagic = "PnsR";
constexpr absl::string_view kEnd = "end\n";
constexpr size_t kHeadBytes = 4 + 8 + 4;
constexpr size_t kFrameBytes = kHeadBytes + 4;
// What a disk writes or loses as one.
constexpr size_t kSectorBytes = 512;

enum class RecordType : uint8_t {
  kHeader = 1,
  kState = 2,
  kCommit = 3,
  kContinued = 4,
};

struct RecordView {
  RecordType type = RecordType::kHeader;
  uint64_t sequence = 0;
  absl::string_view body;
  size_t bytes = 0;
};

std::string EncodeRecord(RecordType type, uint64_t sequence,
                         absl::string_view body) {
  std::string checked;
  AppendLe32(static_cast<uint32_t>(1 + 8 + body.size()), checked);
  checked.push_back(static_cast<char>(type));
  AppendLe64(sequence, checked);
  absl::StrAppend(&checked, body, kEnd);
  std::string record(kMagic);
  AppendLe64(Checksum64(checked), record);
  record += checked;
  return record;
}

// The record at the start of `bytes`; nullopt: no whole, undamaged one.
std::optional<RecordView> ReadRecord(absl::string_view bytes) {
  if (bytes.size() < kFrameBytes || !absl::StartsWith(bytes, kMagic)) {
    return std::nullopt;
  }
  const uint64_t checksum = LoadLe64(bytes.data() + 4);
  const size_t payload = LoadLe32(bytes.data() + 12);
  if (payload < 1 + 8 || payload > bytes.size() - kFrameBytes) {
    return std::nullopt;
  }
  if (Checksum64(bytes.substr(12, 4 + payload + kEnd.size())) != checksum) {
    return std::nullopt;
  }
  return RecordView{
      .type = static_cast<RecordType>(bytes[kHeadBytes]),
      .sequence = LoadLe64(bytes.data() + kHeadBytes + 1),
      .body = bytes.substr(kHeadBytes + 1 + 8, payload - 1 - 8),
      .bytes = kFrameBytes + payload,
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

uint8_t LevelByte(std::optional<FtModel> level) {
  if (!level.has_value()) return 0;
  return *level == FtModel::kAtLeastOnce ? 1 : 2;
}

bool DecodeHeader(absl::string_view body, ManifestHeader& header) {
  uint8_t level = 0;
  if (!ConsumeLe(body, header.writer.epoch) ||
      !ConsumeLe(body, header.writer.open_number) ||
      !ConsumeLe(body, header.shards) || !ConsumeLe(body, level) ||
      !ConsumeText(body, header.identity.incarnation) ||
      !ConsumeText(body, header.identity.pipeline) ||
      !ConsumeText(body, header.identity.connector) || !body.empty()) {
    return false;
  }
  if (level > 2 || header.shards == 0 || header.shards > kSinkShardsMax) {
    return false;
  }
  header.level = std::nullopt;
  if (level == 1) header.level = FtModel::kAtLeastOnce;
  if (level == 2) header.level = FtModel::kExactlyOnce;
  return true;
}

bool DecodeState(absl::string_view body, CommittedState& state) {
  uint32_t count = 0;
  if (!ConsumeLe(body, count) || count > kSinkShardsMax) return false;
  state.progress.assign(count, 0);
  for (Step& progress : state.progress) {
    if (!ConsumeLe(body, progress)) return false;
  }
  constexpr size_t kDataBytes = 4 + 8 + 8 + 8;
  if (!ConsumeLe(body, count) || body.size() != count * kDataBytes) {
    return false;
  }
  state.data.assign(count, {});
  for (CommittedData& data : state.data) {
    if (!ConsumeLe(body, data.shard) || !ConsumeLe(body, data.writer.epoch) ||
        !ConsumeLe(body, data.writer.open_number) ||
        !ConsumeLe(body, data.bytes)) {
      return false;
    }
  }
  return true;
}

constexpr size_t kShardCommitBytes = 4 + 8 + 8;

bool DecodeCommit(absl::string_view body, std::vector<ShardCommit>& commits) {
  uint32_t count = 0;
  if (!ConsumeLe(body, count) || body.size() != count * kShardCommitBytes) {
    return false;
  }
  commits.assign(count, {});
  for (ShardCommit& commit : commits) {
    if (!ConsumeLe(body, commit.shard) || !ConsumeLe(body, commit.bytes) ||
        !ConsumeLe(body, commit.progress)) {
      return false;
    }
  }
  return true;
}

// Where the next record begins that an open makes only after it succeeded.
std::optional<size_t> FindCommit(absl::string_view bytes, size_t from) {
  while (true) {
    from = bytes.find(kMagic, from);
    if (from == absl::string_view::npos) return std::nullopt;
    const std::optional<RecordView> record = ReadRecord(bytes.substr(from));
    if (record.has_value() && (record->type == RecordType::kCommit ||
                               record->type == RecordType::kContinued)) {
      return from;
    }
    ++from;
  }
}

// Whether some sector's worth of `tail`, or its end, is NUL.
bool LostPart(absl::string_view tail, size_t offset) {
  if (tail.back() == '\0') return true;
  size_t begin = 0;
  while (begin < tail.size()) {
    const size_t end = std::min(
        tail.size(), begin + kSectorBytes - (offset + begin) % kSectorBytes);
    const absl::string_view part = tail.substr(begin, end - begin);
    if (part.find_first_not_of('\0') == absl::string_view::npos) return true;
    begin = end;
  }
  return false;
}

// Whether `tail`, which stands at `offset` and begins with no good record, may
// be what a crash left of one commit record.
bool IsTorn(absl::string_view tail, size_t offset, uint32_t shards) {
  const size_t record_bytes_max =
      kFrameBytes + 1 + 8 + 4 + size_t{shards} * kShardCommitBytes;
  if (tail.size() > record_bytes_max) return false;
  if (FindCommit(tail, 1).has_value()) return false;
  if (LostPart(tail, offset)) return true;
  // Nothing is lost inside: it must be the beginning of a longer record.
  if (!absl::StartsWith(kMagic, tail.substr(0, kMagic.size()))) return false;
  if (tail.size() < kHeadBytes) return true;
  return tail.size() < kFrameBytes + LoadLe32(tail.data() + 12);
}

// Reads one manifest from front to back.
// Threads: confined to the call that made it.
class ManifestReader {
 public:
  ManifestReader(absl::string_view bytes, const Writer& writer)
      : bytes_(bytes), writer_(writer) {}

  Manifest Read() && {
    if (ReadHeader() && ReadState()) ReadCommits();
    return std::move(manifest_);
  }

 private:
  bool Stop(Manifest::Outcome outcome, absl::string_view what) {
    manifest_.outcome = outcome;
    manifest_.problem = absl::StrCat(what, " at byte ", manifest_.good_bytes,
                                     " of ", bytes_.size());
    return false;
  }

  std::optional<RecordView> Next() const {
    return ReadRecord(bytes_.substr(manifest_.good_bytes));
  }

  // Header and state are synced before the open succeeds.
  bool StopBeforeCommits(absl::string_view what) {
    if (FindCommit(bytes_, manifest_.good_bytes).has_value()) {
      return Stop(Manifest::Outcome::kDamaged,
                  absl::StrCat(what, ", with good commits behind it,"));
    }
    return Stop(Manifest::Outcome::kIncomplete, what);
  }

  bool ReadHeader() {
    const std::optional<RecordView> record = Next();
    if (!record.has_value()) return StopBeforeCommits("no whole header");
    absl::string_view body = record->body;
    uint32_t version = 0;
    if (record->type != RecordType::kHeader || record->sequence != 0 ||
        !ConsumeLe(body, version)) {
      return Stop(Manifest::Outcome::kDamaged, "another record than a header");
    }
    if (version != kManifestVersion) {
      return Stop(Manifest::Outcome::kNewerVersion,
                  absl::StrCat("format version ", version));
    }
    if (!DecodeHeader(body, manifest_.header)) {
      return Stop(Manifest::Outcome::kDamaged, "a header that says nonsense");
    }
    if (manifest_.header.writer != writer_) {
      return Stop(Manifest::Outcome::kDamaged,
                  absl::StrCat("the header of writer ",
                               WriterName(manifest_.header.writer)));
    }
    manifest_.good_bytes += record->bytes;
    return true;
  }

  bool ReadState() {
    const std::optional<RecordView> record = Next();
    if (!record.has_value()) return StopBeforeCommits("no whole state");
    const size_t progress = manifest_.header.level == FtModel::kExactlyOnce
                                ? manifest_.header.shards
                                : 0;
    if (record->type != RecordType::kState || record->sequence != 1 ||
        !DecodeState(record->body, manifest_.state) ||
        manifest_.state.progress.size() != progress) {
      return Stop(Manifest::Outcome::kDamaged, "a state that says nonsense");
    }
    manifest_.good_bytes += record->bytes;
    return true;
  }

  bool ReadCommits() {
    std::vector<ShardCommit> commits;
    uint64_t sequence = kFirstCommitSequence;
    while (manifest_.good_bytes < bytes_.size()) {
      const std::optional<RecordView> record = Next();
      if (!record.has_value()) return StopInTail();
      if (record->sequence != sequence++) {
        return Stop(Manifest::Outcome::kDamaged, "a record out of sequence");
      }
      if (manifest_.continued_in.has_value()) {
        return Stop(Manifest::Outcome::kDamaged, "a record behind the last");
      }
      if (!ReadOne(*record, commits)) {
        return Stop(Manifest::Outcome::kDamaged,
                    "a commit that contradicts what stands before it");
      }
      manifest_.good_bytes += record->bytes;
    }
    manifest_.outcome = Manifest::Outcome::kComplete;
    return true;
  }

  bool ReadOne(const RecordView& record, std::vector<ShardCommit>& commits) {
    if (record.type == RecordType::kContinued) {
      absl::string_view body = record.body;
      uint32_t part = 0;
      if (!ConsumeLe(body, part) || !body.empty()) return false;
      manifest_.continued_in = part;
      return true;
    }
    return record.type == RecordType::kCommit &&
           DecodeCommit(record.body, commits) &&
           ApplyCommit(writer_, manifest_.header.shards, commits,
                       manifest_.state);
  }

  bool StopInTail() {
    const absl::string_view tail = bytes_.substr(manifest_.good_bytes);
    if (!IsTorn(tail, manifest_.good_bytes, manifest_.header.shards)) {
      return Stop(Manifest::Outcome::kDamaged, "a damaged record");
    }
    manifest_.outcome = Manifest::Outcome::kComplete;
    return true;
  }

  const absl::string_view bytes_;
  const Writer writer_;
  Manifest manifest_;
};

}  // namespace

std::string EncodeHeader(const ManifestHeader& header) {
  std::string body;
  AppendLe32(kManifestVersion, body);
  AppendLe64(header.writer.epoch, body);
  AppendLe64(header.writer.open_number, body);
  AppendLe32(header.shards, body);
  body.push_back(static_cast<char>(LevelByte(header.level)));
  AppendText(header.identity.incarnation, body);
  AppendText(header.identity.pipeline, body);
  AppendText(header.identity.connector, body);
  return EncodeRecord(RecordType::kHeader, 0, body);
}

std::string EncodeState(const CommittedState& state) {
  std::string body;
  AppendLe32(static_cast<uint32_t>(state.progress.size()), body);
  for (const Step progress : state.progress) AppendLe64(progress, body);
  AppendLe32(static_cast<uint32_t>(state.data.size()), body);
  for (const CommittedData& data : state.data) {
    AppendLe32(data.shard, body);
    AppendLe64(data.writer.epoch, body);
    AppendLe64(data.writer.open_number, body);
    AppendLe64(data.bytes, body);
  }
  return EncodeRecord(RecordType::kState, 1, body);
}

std::string EncodeCommit(uint64_t sequence,
                         const std::vector<ShardCommit>& commits) {
  std::string body;
  AppendLe32(static_cast<uint32_t>(commits.size()), body);
  for (const ShardCommit& commit : commits) {
    AppendLe32(commit.shard, body);
    AppendLe64(commit.bytes, body);
    AppendLe64(commit.progress, body);
  }
  return EncodeRecord(RecordType::kCommit, sequence, body);
}

std::string EncodeContinued(uint64_t sequence, uint32_t next_part) {
  std::string body;
  AppendLe32(next_part, body);
  return EncodeRecord(RecordType::kContinued, sequence, body);
}

bool ApplyCommit(const Writer& writer, uint32_t shards,
                 const std::vector<ShardCommit>& commits,
                 CommittedState& state) {
  for (const ShardCommit& commit : commits) {
    if (commit.shard >= shards) return false;
    if (!state.progress.empty()) {
      Step& progress = state.progress[commit.shard];
      if (commit.progress < progress) return false;
      progress = commit.progress;
    }
    // This writer's data stand last, one entry a shard.
    auto data = state.data.rbegin();
    while (data != state.data.rend() && data->writer == writer &&
           data->shard != commit.shard) {
      ++data;
    }
    if (data != state.data.rend() && data->writer == writer) {
      if (commit.bytes < data->bytes) return false;
      data->bytes = commit.bytes;
    } else if (commit.bytes > 0) {
      state.data.push_back({commit.shard, writer, commit.bytes});
    }
  }
  return true;
}

Manifest ParseManifest(absl::string_view bytes, const Writer& writer) {
  return ManifestReader(bytes, writer).Read();
}

std::optional<ManifestHeader> ParseHeader(absl::string_view bytes) {
  const std::optional<RecordView> record = ReadRecord(bytes);
  if (!record.has_value() || record->type != RecordType::kHeader) {
    return std::nullopt;
  }
  absl::string_view body = record->body;
  uint32_t version = 0;
  ManifestHeader header;
  if (!ConsumeLe(body, version) || version != kManifestVersion ||
      !DecodeHeader(body, header)) {
    return std::nullopt;
  }
  return header;
}

}  // namespace penstock::core
