#include "core/sinks/file/layout.h"

#include "core/base/status_macros.h"

#include <absl/strings/match.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>
#include <absl/strings/strip.h>

#include <algorithm>
#include <cstddef>

namespace penstock::core {
namespace {

constexpr absl::string_view kClaimPrefix = "claim.";
constexpr absl::string_view kManifestPrefix = "manifest.";
constexpr absl::string_view kDataPrefix = "data-";
constexpr size_t kWriterDigits = 20;
constexpr size_t kPartDigits = 6;
constexpr size_t kShardDigits = 4;

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

}  // namespace

std::string WriterName(const Writer& writer) {
  return absl::StrFormat("%020d-%020d", writer.epoch, writer.open_number);
}

std::string ClaimName(const Writer& writer) {
  return absl::StrCat(kClaimPrefix, WriterName(writer));
}

std::string ManifestName(const Writer& writer, uint32_t part) {
  return absl::StrFormat("%s%s.%06d", kManifestPrefix, WriterName(writer),
                         part);
}

std::string DataName(ShardIndex shard, const Writer& writer) {
  return absl::StrFormat("%s%04d.%s", kDataPrefix, shard, WriterName(writer));
}

std::string SinkFileName(const SinkFile& file) {
  switch (file.kind) {
    case SinkFileKind::kClaim:
      return ClaimName(file.writer);
    case SinkFileKind::kManifest:
      return ManifestName(file.writer, file.number);
    case SinkFileKind::kData:
      return DataName(file.number, file.writer);
  }
  return "";
}

std::optional<SinkFile> ParseSinkFile(absl::string_view name) {
  SinkFile file;
  bool good = false;
  if (absl::ConsumePrefix(&name, kClaimPrefix)) {
    file.kind = SinkFileKind::kClaim;
    good = ConsumeWriter(name, file.writer);
  } else if (absl::ConsumePrefix(&name, kManifestPrefix)) {
    file.kind = SinkFileKind::kManifest;
    good = ConsumeWriter(name, file.writer) &&
           absl::ConsumePrefix(&name, ".") &&
           ConsumeNumber(name, kPartDigits, file.number);
  } else if (absl::ConsumePrefix(&name, kDataPrefix)) {
    file.kind = SinkFileKind::kData;
    good = ConsumeNumber(name, kShardDigits, file.number) &&
           absl::ConsumePrefix(&name, ".") && ConsumeWriter(name, file.writer);
  }
  if (!good || !name.empty()) return std::nullopt;
  return file;
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
