#include "core/sinks/file/layout.h"

#include "core/base/error.h"
#include "core/base/status_macros.h"

#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>
#include <absl/strings/str_replace.h>
#include <absl/strings/strip.h>

#include <algorithm>
#include <cstddef>

namespace penstock::core {
namespace {

constexpr absl::string_view kClaimPrefix = "claim.";
constexpr absl::string_view kManifestPrefix = "manifest.";
constexpr absl::string_view kSegmentPrefix = "segment.";
constexpr absl::string_view kDataPrefix = "data-";
constexpr absl::string_view kCopyPrefix = "copy-";
constexpr size_t kWriterDigits = 20;
constexpr size_t kPartDigits = 6;
constexpr size_t kShardDigits = 4;
// Far below what any file system takes (255), extension included.
constexpr size_t kPatternBytesMax = 150;

// Takes digits from the front of `text`: `width` of them, more only if the
// number needs more, so that every number has one spelling.
template <typename T>
bool ConsumeNumber(absl::string_view& text, size_t width, T& value) {
  size_t digits = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') {
    ++digits;
  }
  if (digits < width || (digits > width && text[0] == '0')) return false;
  if (!absl::SimpleAtoi(text.substr(0, digits), &value)) return false;
  text.remove_prefix(digits);
  return true;
}

bool ConsumeWriter(absl::string_view& text, Writer& writer) {
  return ConsumeNumber(text, kWriterDigits, writer.epoch) &&
         absl::ConsumePrefix(&text, "-") &&
         ConsumeNumber(text, kWriterDigits, writer.open_number);
}

std::string NumberName(uint32_t number) {
  return absl::StrFormat("%0*d", static_cast<int>(kPartDigits), number);
}

std::string ShardName(ShardIndex shard) {
  return absl::StrFormat("%0*d", static_cast<int>(kShardDigits), shard);
}

Compression ConsumeExtension(absl::string_view& name) {
  for (const Compression compression :
       {Compression::kGzip, Compression::kZstd}) {
    if (absl::ConsumeSuffix(&name, ExtensionOf(compression))) {
      return compression;
    }
  }
  return Compression::kNone;
}

// The first file has no number.
bool ConsumeData(absl::string_view& name, SinkFile& file) {
  file.compression = ConsumeExtension(name);
  if (!ConsumeNumber(name, kShardDigits, file.shard) ||
      !absl::ConsumePrefix(&name, ".") || !ConsumeWriter(name, file.writer)) {
    return false;
  }
  return name.empty() ||
         (absl::ConsumePrefix(&name, ".") &&
          ConsumeNumber(name, kPartDigits, file.number) && file.number > 0);
}

absl::Status BadPattern(absl::string_view pattern, absl::string_view what) {
  return MakeError(
      Reason::INVALID_CONFIG,
      absl::StrCat("sink file: name '", pattern, "' ", what, "; for example ",
                   "orders-{shard}-{writer}-{number}.ndjson"),
      {{"field", "name"}});
}

}  // namespace

std::string WriterName(const Writer& writer) {
  return absl::StrFormat("%020d-%020d", writer.epoch, writer.open_number);
}

std::string ClaimName(const Writer& writer) {
  return absl::StrCat(kClaimPrefix, WriterName(writer));
}

std::string ManifestName(const Writer& writer, uint32_t part) {
  return absl::StrCat(kManifestPrefix, WriterName(writer), ".",
                      NumberName(part));
}

std::string SegmentName(const Writer& writer, uint32_t number) {
  return absl::StrCat(kSegmentPrefix, WriterName(writer), ".",
                      NumberName(number));
}

std::string DataName(ShardIndex shard, const Writer& writer) {
  return SinkFileName(
      {.kind = SinkFileKind::kData, .writer = writer, .shard = shard});
}

absl::string_view ExtensionOf(Compression compression) {
  switch (compression) {
    case Compression::kNone:
      return "";
    case Compression::kGzip:
      return ".gz";
    case Compression::kZstd:
      return ".zst";
  }
  return "";
}

std::string SinkFileName(const SinkFile& file) {
  switch (file.kind) {
    case SinkFileKind::kClaim:
      return ClaimName(file.writer);
    case SinkFileKind::kManifest:
      return ManifestName(file.writer, file.number);
    case SinkFileKind::kSegment:
      return SegmentName(file.writer, file.number);
    case SinkFileKind::kData:
    case SinkFileKind::kCopy:
      return absl::StrCat(
          file.kind == SinkFileKind::kData ? kDataPrefix : kCopyPrefix,
          ShardName(file.shard), ".", WriterName(file.writer),
          file.number == 0 ? "" : ".",
          file.number == 0 ? "" : NumberName(file.number),
          ExtensionOf(file.compression));
  }
  return "";
}

std::optional<SinkFile> ParseSinkFile(absl::string_view name) {
  SinkFile file;
  bool good = false;
  if (absl::ConsumePrefix(&name, kClaimPrefix)) {
    file.kind = SinkFileKind::kClaim;
    good = ConsumeWriter(name, file.writer);
  } else if (const bool manifest = absl::ConsumePrefix(&name, kManifestPrefix);
             manifest || absl::ConsumePrefix(&name, kSegmentPrefix)) {
    file.kind = manifest ? SinkFileKind::kManifest : SinkFileKind::kSegment;
    good = ConsumeWriter(name, file.writer) &&
           absl::ConsumePrefix(&name, ".") &&
           ConsumeNumber(name, kPartDigits, file.number);
  } else if (const bool data = absl::ConsumePrefix(&name, kDataPrefix);
             data || absl::ConsumePrefix(&name, kCopyPrefix)) {
    file.kind = data ? SinkFileKind::kData : SinkFileKind::kCopy;
    good = ConsumeData(name, file);
  }
  if (!good || !name.empty()) return std::nullopt;
  return file;
}

absl::Status CheckNamePattern(absl::string_view pattern) {
  if (pattern.size() > kPatternBytesMax) {
    return BadPattern(pattern, absl::StrCat("is longer than ", kPatternBytesMax,
                                            " bytes; shorten it"));
  }
  std::string rest(pattern);
  for (const absl::string_view part : {"{shard}", "{writer}", "{number}"}) {
    const size_t at = rest.find(part.data(), 0, part.size());
    if (at == std::string::npos) {
      return BadPattern(pattern, absl::StrCat("lacks ", part,
                                              ", without which two files "
                                              "could bear one name"));
    }
    // What stands for a placeholder is a letter to the checks below.
    rest.replace(at, part.size(), "x");
  }
  for (const char c : rest) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' ||
        c == '_' || c == '-') {
      continue;
    }
    return BadPattern(pattern,
                      "may have, besides one each of {shard}, {writer} and "
                      "{number}, only letters, digits, '.', '_' and '-'");
  }
  if (rest.front() == '.') {
    return BadPattern(pattern, "begins with a dot, which hides files");
  }
  return absl::OkStatus();
}

std::string FinalName(absl::string_view pattern, const SinkFile& file) {
  return absl::StrCat(
      absl::StrReplaceAll(pattern, {{"{shard}", ShardName(file.shard)},
                                    {"{writer}", WriterName(file.writer)},
                                    {"{number}", NumberName(file.number)}}),
      ExtensionOf(file.compression));
}

absl::StatusOr<std::vector<SinkFile>> ListSinkFiles(
    FileSystem& files, absl::string_view directory) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, files.List(directory));
  std::vector<SinkFile> listing;
  listing.reserve(names.size());
  for (const std::string& name : names) {
    if (const std::optional<SinkFile> file = ParseSinkFile(name)) {
      listing.push_back(*file);
    }
  }
  return listing;
}

absl::StatusOr<std::vector<SinkFile>> ListHiddenFiles(
    FileSystem& files, absl::string_view directory) {
  const auto names = files.List(JoinPath(directory, kFilesDirectory));
  if (HasReason(names.status(), Reason::NOT_FOUND)) {
    return std::vector<SinkFile>();
  }
  RETURN_IF_ERROR(names.status());
  std::vector<SinkFile> listing;
  for (absl::string_view name : *names) {
    if (!absl::ConsumePrefix(&name, ".")) continue;
    if (const std::optional<SinkFile> file = ParseSinkFile(name)) {
      listing.push_back(*file);
    }
  }
  return listing;
}

absl::StatusOr<std::optional<Writer>> FindHighestWriter(
    FileSystem& files, absl::string_view directory) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, files.List(directory));
  std::optional<Writer> highest;
  for (const absl::string_view prefix : {kClaimPrefix, kManifestPrefix}) {
    // Names are sorted, and sort as writers do: the last one is the highest.
    auto name =
        std::upper_bound(names.begin(), names.end(), absl::StrCat(prefix, "~"));
    while (name != names.begin() && absl::StartsWith(*--name, prefix)) {
      if (const std::optional<SinkFile> file = ParseSinkFile(*name)) {
        highest = std::max(highest, std::optional(file->writer));
        break;
      }
    }
  }
  return highest;
}

std::optional<Writer> HighestWriter(const std::vector<SinkFile>& listing) {
  std::optional<Writer> highest;
  for (const SinkFile& file : listing) {
    if (!highest.has_value() || *highest < file.writer) highest = file.writer;
  }
  return highest;
}

}  // namespace penstock::core
