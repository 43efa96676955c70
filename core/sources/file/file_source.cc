#include "core/sources/file/file_source.h"

#include "core/base/checksum.h"
#include "core/base/error.h"
#include "core/base/status_macros.h"
#include "core/contract/message_gate.h"
#include "core/sources/file/file_position.h"
#include "core/sources/file/path_pattern.h"
#include "core/sources/file/stream_source.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

// Read at a time; a line that is longer is begun in its middle.
constexpr size_t kTailBytesMax = size_t{1} << 20;

absl::Status GoneSince(const FilePosition& resume, const absl::Status& status) {
  return MakeError(
      Reason::POSITION_EXPIRED,
      absl::StrCat(
          "go on in ", resume.path, " at byte ", resume.end, ": ",
          status.message(),
          "; put the file back, or start anew: another connector name, "
          "another directory for its sink"),
      {{"path", resume.path}, {"position", absl::StrCat(resume.end)}});
}

// Behind the last whole line that `content`, which has `size` bytes, has now.
absl::StatusOr<uint64_t> EndOfLines(Content& content, uint64_t size) {
  std::vector<char> tail(
      static_cast<size_t>(std::min<uint64_t>(size, kTailBytesMax)));
  const uint64_t begin = size - tail.size();
  ASSIGN_OR_RETURN(const size_t got, content.ReadAt(begin, tail));
  const size_t line_end = absl::string_view(tail.data(), got).rfind('\n');
  if (line_end == absl::string_view::npos) return begin == 0 ? 0 : size;
  return begin + line_end + 1;
}

// Of a file that may not be read: known by its path alone until it may be.
FilePosition EndOfUnread(const FoundFile& found) {
  const uint64_t size = found.stat.size;
  return {.path = found.path,
          .fingerprint = {.hash = Checksum64("")},
          .length = size,
          .start = size,
          .end = size};
}

// Whether a record ends at each LF, also where quotes or a bracket are open.
bool EndsAtAnyLf(Splitter& splitter) {
  for (const absl::string_view begun : {"\"\n", "'\n", "[\n"}) {
    const bool ends = splitter.Input(begun).has_value();
    splitter.Clear();
    if (!ends) return false;
  }
  return true;
}

// Behind the last whole record that `content` has now: all of it is read, for
// what an LF means there only what is before it tells.
absl::StatusOr<uint64_t> EndOfRecords(Content& content, Splitter& splitter) {
  std::vector<char> block(kTailBytesMax);
  uint64_t end = 0;
  for (uint64_t begin = 0;;) {
    ASSIGN_OR_RETURN(const size_t got, content.ReadAt(begin, block));
    if (got == 0) return end;
    const std::optional<size_t> boundary =
        splitter.Input(absl::string_view(block.data(), got));
    begin += boundary.value_or(got);
    if (!boundary.has_value()) continue;
    end = begin;
    splitter.Clear();
  }
}

}  // namespace

absl::StatusOr<OpenedInput> FileSource::Open(
    InputConsumer& consumer, std::unique_ptr<Parser> parser,
    const Schema& /*schema*/, std::optional<std::string> resume_info) {
  RETURN_IF_ERROR(CheckHasNoGate(*parser, "file"));
  std::optional<SourcePosition> resume;
  if (resume_info.has_value()) {
    ASSIGN_OR_RETURN(resume, SourcePosition::Parse(*resume_info));
    if (resume->is_change) {
      return MakeError(Reason::MALFORMED_FRAME,
                       "open source file: the position is what a step changed; "
                       "only a whole one says where to begin");
    }
  }
  FileReader::Options options{.config = config_};
  if (config_.follow) options.events = events_;
  if (config_.follow || PathPattern::IsPattern(config_.path)) {
    ASSIGN_OR_RETURN(options.position, FindStart(std::move(resume), *parser));
  } else {
    RETURN_IF_ERROR(OpenSingle(std::move(resume), options));
  }
  OpenedInput opened;
  opened.position = options.single.has_value()
                        ? options.position.files[0].ToJson()
                        : options.position.ToJson();
  opened.reader = std::make_unique<FileReader>(
      environment_, consumer, std::move(parser), std::move(options));
  return opened;
}

absl::Status FileSource::OpenSingle(std::optional<SourcePosition> resume,
                                    FileReader::Options& options) {
  RETURN_IF_ERROR(environment_.paths.Check(environment_.files, config_.path));
  if (resume.has_value() && resume->files.size() != 1) {
    return MakeError(Reason::MALFORMED_FRAME,
                     absl::StrCat("open source file ", config_.path,
                                  ": the position is one of many files"));
  }
  absl::StatusOr<OpenFile> file =
      OpenFile::Open(environment_.files, config_.path, config_.compression);
  if (resume.has_value() && HasReason(file.status(), Reason::NOT_FOUND)) {
    return GoneSince(resume->files[0], file.status());
  }
  if (!file.ok()) return file.status();
  FilePosition position;
  position.path = config_.path;
  if (!file->is_compressed()) {
    ASSIGN_OR_RETURN(position.length, file->file().Size());
  }
  ASSIGN_OR_RETURN(
      position.fingerprint,
      ReadFingerprint(file->content(), FileFingerprint::kBytesMax));
  if (resume.has_value()) {
    const FilePosition& known = resume->files[0];
    RETURN_IF_ERROR(CheckPosition(file->content(), known));
    position.start = position.end = known.end;
    position.records = known.records;
    position.lines = known.lines;
    position.is_unfinished = known.is_unfinished;
  }
  options.position = {.files = {std::move(position)}, .next_id = 1};
  options.single = *std::move(file);
  return absl::OkStatus();
}

absl::StatusOr<SourcePosition> FileSource::FindStart(
    std::optional<SourcePosition> resume, const Parser& parser) {
  const PathPattern pattern(config_.path);
  RETURN_IF_ERROR(environment_.paths.Check(
      environment_.files,
      PathPattern::IsPattern(config_.path) ? pattern.root() : config_.path));
  if (resume.has_value()) return *std::move(resume);
  SourcePosition start;
  const bool all_from_beginning = config_.start == FileStart::kBeginning &&
                                  config_.start_time == absl::InfinitePast();
  if (config_.follow && all_from_beginning) return start;
  FileFinder finder(environment_.files, pattern, config_.order,
                    &environment_.paths);
  const std::vector<FoundFile> found = finder.FindAll();
  RETURN_IF_ERROR(finder.problem());
  if (!config_.follow) {
    if (!found.empty()) return start;
    return MakeError(
        Reason::NOT_FOUND,
        absl::StrCat("open source file: no file matches ", config_.path,
                     "; bring one, or set follow: true to wait"),
        {{"path", config_.path}});
  }
  std::set<std::pair<uint64_t, uint64_t>> seen;
  for (const FoundFile& file : found) {
    const bool is_new = seen.emplace(file.stat.device, file.stat.inode).second;
    const bool from_end = config_.start == FileStart::kEnd ||
                          file.stat.mtime < config_.start_time;
    if (file.stat.size == 0 || !is_new || !from_end) continue;
    ASSIGN_OR_RETURN(std::optional<FilePosition> end, Pass(file, parser));
    if (!end.has_value()) continue;
    end->id = start.next_id++;
    start.files.push_back(*std::move(end));
  }
  return start;
}

absl::StatusOr<std::optional<FilePosition>> FileSource::Pass(
    const FoundFile& found, const Parser& parser) {
  absl::StatusOr<FilePosition> end = EndOf(found, parser);
  // Deleted since it was found.
  if (HasReason(end.status(), Reason::NOT_FOUND)) return std::nullopt;
  if (HasReason(end.status(), Reason::PERMISSION_DENIED)) {
    return EndOfUnread(found);
  }
  if (!end.ok()) return end.status();
  // There is nothing yet to know it by.
  if (end->fingerprint.bytes == 0) return std::nullopt;
  return *std::move(end);
}

absl::StatusOr<FilePosition> FileSource::EndOf(const FoundFile& found,
                                               const Parser& parser) {
  RETURN_IF_ERROR(environment_.paths.Check(environment_.files, found.path));
  ASSIGN_OR_RETURN(
      const OpenFile opened,
      OpenFile::Open(environment_.files, found.path, config_.compression));
  Content& content = opened.content();
  FilePosition end{.path = found.path};
  ASSIGN_OR_RETURN(end.fingerprint,
                   ReadFingerprint(content, FileFingerprint::kBytesMax));
  ASSIGN_OR_RETURN(const uint64_t size,
                   content.SizeUpTo(std::numeric_limits<int64_t>::max()));
  end.length = opened.is_compressed() ? 0 : size;
  const std::unique_ptr<Splitter> splitter = parser.MakeSplitter();
  if (parser.IsText() && EndsAtAnyLf(*splitter)) {
    ASSIGN_OR_RETURN(end.end, EndOfLines(content, size));
  } else {
    ASSIGN_OR_RETURN(end.end, EndOfRecords(content, *splitter));
  }
  end.start = end.end;
  return end;
}

absl::StatusOr<std::unique_ptr<InputEndpoint>> MakeFileSource(
    const ComponentConfig& config, const Environment& environment) {
  return MakeFileSourceWith({}, config, environment);
}

absl::StatusOr<std::unique_ptr<InputEndpoint>> MakeFileSourceWith(
    const FileServices& services, const ComponentConfig& config,
    const Environment& environment) {
  if (config.type() != "file") {
    return MakeError(Reason::INVALID_CONFIG,
                     absl::StrCat("make source file: the configuration is one "
                                  "of ",
                                  config.type()));
  }
  const auto& file = static_cast<const FileSourceConfig&>(config);
  if (file.path.empty()) {
    return MakeError(Reason::INVALID_CONFIG,
                     "source file: path is empty; name a file",
                     {{"field", "path"}});
  }
  if (file.start == FileStart::kEnd && !file.follow) {
    return MakeError(Reason::INVALID_CONFIG,
                     "source file: start is end, so that nothing would be "
                     "read; set follow: true, or leave it out",
                     {{"field", "start"}});
  }
  if (file.block_bytes == 0 ||
      file.block_bytes > FileSourceConfig::kBlockBytesMax) {
    return MakeError(
        Reason::INVALID_CONFIG,
        absl::StrCat("source file: block_bytes is ", file.block_bytes,
                     "; set 1 to ", FileSourceConfig::kBlockBytesMax),
        {{"field", "block_bytes"}});
  }
  if (file.path == kStandardInput) {
    return MakeStreamSource(file, environment, services.standard_input);
  }
  return std::make_unique<FileSource>(file, environment,
                                      services.directory_events);
}

}  // namespace penstock::core
