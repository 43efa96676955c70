#include "core/sources/file/record_reader.h"

#include "core/base/error.h"
#include "core/base/status_macros.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <utility>

namespace penstock::core {
namespace {

constexpr absl::string_view kTornTag = "file_torn_record";
// Fewer may be a record of a format that is no text.
constexpr uint64_t kNulRunMin = 16;

struct Place {
  uint64_t end = 0;
  uint64_t records = 0;
  uint64_t lines = 0;
  bool is_unfinished = false;
};

Place PlaceOf(const FilePosition& position) {
  return {.end = position.end,
          .records = position.records,
          .lines = position.lines,
          .is_unfinished = position.is_unfinished};
}

void SetPlace(const Place& place, KnownFile& file) {
  file.position.end = place.end;
  file.position.records = place.records;
  file.position.lines = place.lines;
  file.position.is_unfinished = place.is_unfinished;
}

FragmentReader::Before BeforeOf(const FilePosition& place) {
  // Behind NUL bytes there is no record to be torn.
  if (place.records == 0) return FragmentReader::Before::kNoRecord;
  return place.is_unfinished ? FragmentReader::Before::kPartOfRecord
                             : FragmentReader::Before::kRecord;
}

// The NUL bytes that a text begins with, if they are too many for its own.
absl::StatusOr<uint64_t> CountNulRun(Content& content) {
  char first = 0;
  ASSIGN_OR_RETURN(const size_t got,
                   content.Peek(0, std::span<char>(&first, 1)));
  if (got == 0 || first != '\0') return 0;
  ASSIGN_OR_RETURN(const uint64_t nuls, content.CountNuls());
  return nuls < kNulRunMin ? 0 : nuls;
}

}  // namespace

RecordReader::RecordReader(const Environment& environment,
                           InputConsumer& consumer, FileTable& files,
                           std::unique_ptr<Parser> parser, Options options)
    : environment_(environment),
      consumer_(consumer),
      files_(files),
      options_(options),
      parser_(std::move(parser)),
      blocks_(options.block_bytes) {}

absl::Status RecordReader::Open(KnownFile& file) {
  if (file.reading != nullptr) return absl::OkStatus();
  const std::string& path = file.position.path;
  RETURN_IF_ERROR(environment_.paths.Check(environment_.files, path));
  ASSIGN_OR_RETURN(OpenFile opened, OpenFile::Open(environment_.files, path,
                                                   options_.compression));
  return Attach(file, std::move(opened));
}

absl::Status RecordReader::Attach(KnownFile& file, OpenFile opened) {
  RETURN_IF_ERROR(CheckPosition(opened.content(), file.position));
  ASSIGN_OR_RETURN(const FileStat stat, opened.file().Stat());
  files_.SetInode(file, stat.device, stat.inode);
  Take(file, std::move(opened));
  return absl::OkStatus();
}

void RecordReader::Take(KnownFile& file, OpenFile opened) {
  if (prologue_of_ == file.position.id) prologue_of_.reset();
  file.is_compressed = opened.is_compressed();
  file.reading =
      std::make_unique<Reading>(std::move(opened), *parser_, blocks_);
  GoTo(file, file.position);
}

void RecordReader::GoTo(KnownFile& file, const FilePosition& place) {
  SetPlace(PlaceOf(place), file);
  parsing_.reset();
  if (file.reading == nullptr) return;
  file.reading->fragments.Seek(place.end, BeforeOf(place));
  file.reading->is_torn_reported = false;
}

absl::StatusOr<RecordReader::Result> RecordReader::Read(
    KnownFile& file, std::optional<uint64_t> limit) {
  Result result;
  if (file.position.end == 0 && PassesNuls()) {
    ASSIGN_OR_RETURN(const bool passed, PassNuls(file, limit, result));
    if (passed) return result;
  }
  if (parsing_ != file.position.id) {
    parser_->SetPosition(file.position.records + 1, file.position.lines + 1);
    parsing_ = file.position.id;
  }
  ASSIGN_OR_RETURN(FragmentReader::Piece piece, NextPiece(file, limit));
  Content& content = file.reading->file.content();
  if (options_.follows && !limit.has_value() && !file.is_compressed) {
    // What was read is what was there before, if this still is.
    ASSIGN_OR_RETURN(const bool is_same,
                     HasBeginning(content, file.position.fingerprint));
    if (!is_same) {
      result.is_rewritten = true;
      return result;
    }
  }
  ReportTorn(file);
  std::optional<Defect> defect;
  // One that is still being written may be cut off just now.
  if (piece.at_end && !limit.has_value() &&
      !(MayGrow(file, limit) && content.IsUnfinished())) {
    defect = content.DefectAtEnd();
  }
  // What a last record lacks of a file that ends badly nobody knows.
  const bool is_cut_off = defect.has_value() && piece.fragment.has_value() &&
                          piece.fragment->is_last;
  if (piece.fragment.has_value() && !is_cut_off) {
    if (prologue_of_ != file.position.id) {
      prologue_of_.reset();
      ASSIGN_OR_RETURN(const uint64_t nuls, PassesNuls()
                                                ? CountNulRun(content)
                                                : absl::StatusOr<uint64_t>(0));
      ASSIGN_OR_RETURN(const bool is_known,
                       LearnPrologue(content, *parser_, nuls));
      if (is_known) prologue_of_ = file.position.id;
    }
    const Place before = PlaceOf(file.position);
    Parse(file, piece, result);
    if (const absl::Status learned = LearnBeginning(file); !learned.ok()) {
      // What was read is not given out, so it is not behind the file's place.
      SetPlace(before, file);
      return learned;
    }
  }
  result.at_end = piece.at_end;
  if (piece.at_end && defect.has_value()) AddDefect(file, *defect, result);
  return result;
}

bool RecordReader::MayGrow(const KnownFile& file,
                           std::optional<uint64_t> limit) const {
  return (options_.follows || options_.is_stream) && !limit.has_value() &&
         !file.reading->is_final;
}

absl::StatusOr<FragmentReader::Piece> RecordReader::NextPiece(
    KnownFile& file, std::optional<uint64_t> limit) {
  Reading& reading = *file.reading;
  if (!file.is_compressed && file.seen_size > 0) {
    reading.fragments.Expect(file.seen_size);
  }
  if (!MayGrow(file, limit)) return reading.fragments.Next(limit, Tail::kGive);
  // Also at the end of a member or frame: the next one may go on in its record.
  return reading.fragments.Next(limit, Tail::kHold);
}

absl::StatusOr<bool> RecordReader::PassNuls(KnownFile& file,
                                            std::optional<uint64_t> limit,
                                            Result& result) {
  Content& content = file.reading->file.content();
  ASSIGN_OR_RETURN(uint64_t nuls, CountNulRun(content));
  if (nuls == 0) return false;
  if (limit.has_value()) nuls = std::min(nuls, *limit);
  ASSIGN_OR_RETURN(const uint64_t size, content.SizeUpTo(nuls + 1));
  result.at_end = size <= nuls;
  if (result.at_end && options_.follows && !limit.has_value() &&
      !file.reading->is_final) {
    return true;
  }
  ParseError error{
      .tag = "nul_run",
      .description = absl::StrCat(
          "the file begins with ", nuls,
          " NUL bytes, which were passed over: it was cut off while a writer "
          "went on at its old place"),
      .record_number = 1,
      .line = 1,
      .byte_offset = 0,
      .suggestion = "have the writer append (O_APPEND)"};
  AddError(file, std::move(error), result);
  FilePosition behind = file.position;
  behind.end = nuls;
  GoTo(file, behind);
  return true;
}

void RecordReader::Parse(KnownFile& file, FragmentReader::Piece& piece,
                         Result& result) {
  Fragment& fragment = *piece.fragment;
  fragment.partition = file.position.id;
  ParseResult parsed = parser_->Parse(fragment);
  if (parsed.bytes < fragment.size) {
    file.reading->fragments.GiveBack(piece, parsed.bytes);
  }
  result.batch = std::move(parsed.batch);
  result.has_moved = true;
  result.passed = parsed.passed;
  const bool is_last_bad =
      !parsed.errors.empty() && parsed.errors.back().record_number ==
                                    file.position.records + parsed.records;
  for (ParseError& error : parsed.errors) error.input = file.position.path;
  if (consumer_.KeepsBadRecords()) {
    result.batch.AddBadRecords(ToBadRecords(file.position.id, parsed.errors));
  }
  result.errors = std::move(parsed.errors);
  file.position.end = file.reading->fragments.position();
  file.position.records += parsed.records;
  file.position.lines += parsed.lines;
  file.position.is_unfinished =
      is_last_bad && fragment.is_last && parsed.bytes == fragment.size;
}

void RecordReader::AddDefect(const KnownFile& file, const Defect& defect,
                             Result& result) {
  Reading& reading = *file.reading;
  if (std::exchange(reading.is_defect_reported, true)) return;
  AddError(file,
           {.tag = defect.tag,
            .description = defect.description,
            .record_number = file.position.records + 1,
            .line = file.position.lines + 1,
            .byte_offset = file.position.end,
            .suggestion = "what was decoded before is good; bring the whole "
                          "file, under another name"},
           result);
}

void RecordReader::AddError(const KnownFile& file, ParseError error,
                            Result& result) {
  error.input = file.position.path;
  if (consumer_.KeepsBadRecords()) {
    std::vector<BadRecord> bad = result.batch.TakeBadRecords();
    for (BadRecord& one : ToBadRecords(file.position.id, {error})) {
      bad.push_back(std::move(one));
    }
    result.batch.AddBadRecords(std::move(bad));
  }
  result.errors.push_back(std::move(error));
  result.has_moved = true;
}

absl::Status RecordReader::LearnBeginning(KnownFile& file) {
  const FilePosition& known = file.position;
  if (known.fingerprint.bytes == FileFingerprint::kBytesMax ||
      known.fingerprint.nuls + known.fingerprint.bytes >= known.end) {
    return absl::OkStatus();
  }
  Content& content = file.reading->file.content();
  RETURN_IF_ERROR(CheckPosition(content, known))
  << "while reading " << known.path;
  ASSIGN_OR_RETURN(const FileFingerprint learned,
                   ReadFingerprint(content, known.end - known.fingerprint.nuls),
                   _ << "while reading " << known.path);
  files_.SetFingerprint(file, learned);
  return absl::OkStatus();
}

void RecordReader::ReportTorn(KnownFile& file) {
  if (!file.reading->fragments.is_torn() ||
      std::exchange(file.reading->is_torn_reported, true)) {
    return;
  }
  consumer_.Error(
      false,
      MakeError(
          Reason::POSITION_MISMATCH,
          absl::StrCat("the last record of ", file.position.path,
                       " was read when it was not whole; it has grown since, "
                       "and what came behind byte ",
                       file.position.end, " is read as a record of its own"),
          {{"path", file.position.path}}),
      kTornTag);
}

void RecordReader::ReleaseMemory() {
  files_.ForEach([](KnownFile& file) {
    if (file.reading != nullptr) file.reading->fragments.ReleaseMemory();
  });
  blocks_.Release();
  parser_ = parser_->Fork();
  parsing_.reset();
}

}  // namespace penstock::core
