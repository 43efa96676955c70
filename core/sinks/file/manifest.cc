#include "core/sinks/file/manifest.h"

#include "core/base/byte_order.h"
#include "core/sinks/file/layout.h"
#include "core/sinks/file/sink_record.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/strip.h>

#include <algorithm>
#include <utility>

namespace penstock::core {
namespace {

// What a disk writes or loses as one.
constexpr size_t kSectorBytes = 512;

bool IsKnownVersion(uint32_t version) {
  return version >= kManifestVersionOldest && version <= kManifestVersion;
}

uint8_t LevelByte(std::optional<FtModel> level) {
  if (!level.has_value()) return 0;
  return *level == FtModel::kAtLeastOnce ? 1 : 2;
}

bool DecodeCompression(absl::string_view& body, Compression& compression) {
  uint8_t byte = 0;
  if (!ConsumeLe(body, byte) || byte > 2) return false;
  compression = static_cast<Compression>(byte);
  return true;
}

// Takes a header's body behind its version.
bool DecodeHeader(absl::string_view body, uint32_t version,
                  ManifestHeader& header) {
  uint8_t level = 0;
  if (!ConsumeLe(body, header.writer.epoch) ||
      !ConsumeLe(body, header.writer.open_number) ||
      !ConsumeLe(body, header.shards) || !ConsumeLe(body, level) ||
      !ConsumeText(body, header.identity.incarnation) ||
      !ConsumeText(body, header.identity.pipeline) ||
      !ConsumeText(body, header.identity.connector)) {
    return false;
  }
  if (version > 1 && (!DecodeCompression(body, header.format.compression) ||
                      !ConsumeText(body, header.format.name) ||
                      (header.format.renames() &&
                       !CheckNamePattern(header.format.name).ok()))) {
    return false;
  }
  if (!body.empty() || level > 2 || header.shards == 0 ||
      header.shards > kSinkShardsMax) {
    return false;
  }
  header.level = std::nullopt;
  if (level == 1) header.level = FtModel::kAtLeastOnce;
  if (level == 2) header.level = FtModel::kExactlyOnce;
  return true;
}

void AppendData(const CommittedData& data, std::string& body) {
  AppendLe32(data.shard, body);
  AppendLe64(data.writer.epoch, body);
  AppendLe64(data.writer.open_number, body);
  AppendLe64(data.bytes, body);
  AppendLe32(data.number, body);
  body.push_back(static_cast<char>(data.stage));
  body.push_back(static_cast<char>(data.compression));
  body.push_back(data.is_copy ? 1 : 0);
  AppendText(data.final_name, body);
}

bool ConsumeData(absl::string_view& body, uint32_t version,
                 const Writer& writer, CommittedData& data) {
  if (!ConsumeLe(body, data.shard) || !ConsumeLe(body, data.writer.epoch) ||
      !ConsumeLe(body, data.writer.open_number) ||
      !ConsumeLe(body, data.bytes)) {
    return false;
  }
  if (version == 1) {
    data.stage = data.writer == writer ? DataStage::kOpen : DataStage::kPlaced;
    return true;
  }
  uint8_t stage = 0;
  uint8_t is_copy = 0;
  if (!ConsumeLe(body, data.number) || !ConsumeLe(body, stage) || stage > 2 ||
      !DecodeCompression(body, data.compression) || !ConsumeLe(body, is_copy) ||
      is_copy > 1 || !ConsumeText(body, data.final_name)) {
    return false;
  }
  data.stage = static_cast<DataStage>(stage);
  data.is_copy = is_copy == 1;
  return true;
}

void AppendDataList(const std::vector<CommittedData>& list, std::string& body) {
  AppendLe32(static_cast<uint32_t>(list.size()), body);
  for (const CommittedData& data : list) AppendData(data, body);
}

bool ConsumeDataList(absl::string_view& body, uint32_t version,
                     const Writer& writer, std::vector<CommittedData>& list) {
  uint32_t count = 0;
  // An entry has 28 bytes at least: no count makes us reserve more than there
  // is.
  if (!ConsumeLe(body, count) || count > body.size() / 28) return false;
  list.assign(count, {});
  for (CommittedData& data : list) {
    if (!ConsumeData(body, version, writer, data)) return false;
  }
  return true;
}

void AppendSegmentId(const std::optional<SegmentId>& segment,
                     std::string& body) {
  body.push_back(segment.has_value() ? 1 : 0);
  if (!segment.has_value()) return;
  AppendLe64(segment->writer.epoch, body);
  AppendLe64(segment->writer.open_number, body);
  AppendLe32(segment->number, body);
}

bool ConsumeSegmentId(absl::string_view& body,
                      std::optional<SegmentId>& segment) {
  uint8_t is_there = 0;
  if (!ConsumeLe(body, is_there) || is_there > 1) return false;
  segment.reset();
  if (is_there == 0) return true;
  segment.emplace();
  return ConsumeLe(body, segment->writer.epoch) &&
         ConsumeLe(body, segment->writer.open_number) &&
         ConsumeLe(body, segment->number);
}

bool DecodeState(absl::string_view body, uint32_t version, const Writer& writer,
                 CommittedState& state) {
  uint32_t count = 0;
  if (!ConsumeLe(body, count) || count > kSinkShardsMax) return false;
  state.progress.assign(count, 0);
  for (Step& progress : state.progress) {
    if (!ConsumeLe(body, progress)) return false;
  }
  if (version > 1 && !ConsumeSegmentId(body, state.sealed)) return false;
  return ConsumeDataList(body, version, writer, state.data) && body.empty();
}

size_t ShardCommitBytes(uint32_t version) {
  return version == 1 ? 4 + 8 + 8 : 4 + 8 + 8 + 4 + 1;
}

bool DecodeCommit(absl::string_view body, uint32_t version,
                  std::vector<ShardCommit>& commits) {
  uint32_t count = 0;
  if (!ConsumeLe(body, count) ||
      body.size() != count * ShardCommitBytes(version)) {
    return false;
  }
  commits.assign(count, {});
  for (ShardCommit& commit : commits) {
    uint8_t finishes = 0;
    if (!ConsumeLe(body, commit.shard) || !ConsumeLe(body, commit.bytes) ||
        !ConsumeLe(body, commit.progress) ||
        (version > 1 && (!ConsumeLe(body, commit.number) ||
                         !ConsumeLe(body, finishes) || finishes > 1))) {
      return false;
    }
    commit.finishes = finishes == 1;
  }
  return true;
}

// Where the next record begins that an open makes only after it succeeded.
std::optional<size_t> FindCommit(absl::string_view bytes, size_t from) {
  while (true) {
    from = bytes.find(kRecordMagic, from);
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
bool IsTorn(absl::string_view tail, size_t offset, uint32_t version,
            uint32_t shards) {
  const size_t record_bytes_max =
      kRecordFrameBytes + 1 + 8 + 4 + shards * ShardCommitBytes(version);
  if (tail.size() > record_bytes_max) return false;
  if (FindCommit(tail, 1).has_value()) return false;
  if (LostPart(tail, offset)) return true;
  // Nothing is lost inside: it must be the beginning of a longer record.
  if (!absl::StartsWith(kRecordMagic, tail.substr(0, kRecordMagic.size())))
    return false;
  if (tail.size() < kRecordHeadBytes) return true;
  return tail.size() < kRecordFrameBytes + LoadLe32(tail.data() + 12);
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
    if (record->type != RecordType::kHeader || record->sequence != 0 ||
        !ConsumeLe(body, version_)) {
      return Stop(Manifest::Outcome::kDamaged, "another record than a header");
    }
    if (!IsKnownVersion(version_)) {
      return Stop(Manifest::Outcome::kNewerVersion,
                  absl::StrCat("format version ", version_));
    }
    if (!DecodeHeader(body, version_, manifest_.header)) {
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
        !DecodeState(record->body, version_, writer_, manifest_.state) ||
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
           DecodeCommit(record.body, version_, commits) &&
           ApplyCommit(writer_, manifest_.header.format,
                       manifest_.header.shards, commits, manifest_.state);
  }

  bool StopInTail() {
    const absl::string_view tail = bytes_.substr(manifest_.good_bytes);
    if (!IsTorn(tail, manifest_.good_bytes, version_,
                manifest_.header.shards)) {
      return Stop(Manifest::Outcome::kDamaged, "a damaged record");
    }
    manifest_.outcome = Manifest::Outcome::kComplete;
    return true;
  }

  const absl::string_view bytes_;
  const Writer writer_;
  uint32_t version_ = 0;
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
  body.push_back(static_cast<char>(header.format.compression));
  AppendText(header.format.name, body);
  return EncodeRecord(RecordType::kHeader, 0, body);
}

std::string EncodeState(const CommittedState& state) {
  std::string body;
  AppendLe32(static_cast<uint32_t>(state.progress.size()), body);
  for (const Step progress : state.progress) AppendLe64(progress, body);
  AppendSegmentId(state.sealed, body);
  AppendDataList(state.data, body);
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
    AppendLe32(commit.number, body);
    body.push_back(commit.finishes ? 1 : 0);
  }
  return EncodeRecord(RecordType::kCommit, sequence, body);
}

std::string EncodeContinued(uint64_t sequence, uint32_t next_part) {
  std::string body;
  AppendLe32(next_part, body);
  return EncodeRecord(RecordType::kContinued, sequence, body);
}

std::string EncodeSegment(const Segment& segment) {
  std::string body;
  AppendSegmentId(segment.previous, body);
  AppendDataList(segment.data, body);
  return absl::StrCat(EncodeHeader(segment.header),
                      EncodeRecord(RecordType::kSegment, 1, body));
}

std::optional<Segment> ParseSegment(absl::string_view bytes,
                                    const Writer& writer) {
  const std::optional<ManifestHeader> header = ParseHeader(bytes);
  if (!header.has_value() || header->writer != writer) return std::nullopt;
  bytes.remove_prefix(ReadRecord(bytes)->bytes);
  const std::optional<RecordView> record = ReadRecord(bytes);
  if (!record.has_value() || record->type != RecordType::kSegment ||
      record->sequence != 1 || record->bytes != bytes.size()) {
    return std::nullopt;
  }
  Segment segment = {.header = *header, .previous = {}, .data = {}};
  absl::string_view body = record->body;
  if (!ConsumeSegmentId(body, segment.previous) ||
      !ConsumeDataList(body, kManifestVersion, writer, segment.data) ||
      !body.empty()) {
    return std::nullopt;
  }
  return segment;
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
  if (!ConsumeLe(body, version) || !IsKnownVersion(version) ||
      !DecodeHeader(body, version, header)) {
    return std::nullopt;
  }
  return header;
}

}  // namespace penstock::core
