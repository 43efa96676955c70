#include "core/sources/file/open_file.h"

#include "core/base/error.h"
#include "core/base/status_macros.h"
#include "core/sources/file/decoded_content.h"

#include <absl/strings/str_cat.h>

#include <array>
#include <string>
#include <utility>

namespace penstock::core {
namespace {

absl::Status CheckType(const FileStat& stat, absl::string_view path) {
  if (stat.type == FileType::kRegular) return absl::OkStatus();
  return MakeError(
      Reason::INVALID_CONFIG,
      absl::StrCat("open source file ", path, ": it is ",
                   stat.type == FileType::kDirectory
                       ? "a directory"
                       : "no plain file (a pipe, socket or device)",
                   "; name a plain file"),
      {{"field", "path"}, {"path", std::string(path)}});
}

absl::StatusOr<std::optional<Compression>> CompressionOf(
    File& file, FileCompression configured) {
  switch (configured) {
    case FileCompression::kNone:
      return Compression::kNone;
    case FileCompression::kGzip:
      return Compression::kGzip;
    case FileCompression::kZstd:
      return Compression::kZstd;
    case FileCompression::kAuto:
      break;
  }
  std::array<char, kMagicBytesMax> beginning;
  ASSIGN_OR_RETURN(const size_t got, file.ReadAt(0, beginning));
  return DetectCompression({beginning.data(), got});
}

std::unique_ptr<Content> ContentOf(File& file, Compression compression) {
  if (compression == Compression::kNone) {
    return std::make_unique<PlainContent>(file);
  }
  return std::make_unique<DecodedContent>(file, compression);
}

}  // namespace

OpenFile::OpenFile(std::unique_ptr<File> file,
                   std::optional<Compression> compression)
    : file_(std::move(file)),
      is_certain_(compression.has_value()),
      compression_(compression.value_or(Compression::kNone)),
      content_(ContentOf(*file_, compression_)) {}

absl::StatusOr<OpenFile> OpenFile::Open(FileSystem& files,
                                        absl::string_view path,
                                        FileCompression compression) {
  ASSIGN_OR_RETURN(const FileStat named, files.Stat(path));
  RETURN_IF_ERROR(CheckType(named, path));
  ASSIGN_OR_RETURN(std::unique_ptr<File> file, files.OpenForRead(path));
  ASSIGN_OR_RETURN(const FileStat opened, file->Stat());
  RETURN_IF_ERROR(CheckType(opened, path));
  ASSIGN_OR_RETURN(const std::optional<Compression> found,
                   CompressionOf(*file, compression));
  return OpenFile(std::move(file), found);
}

}  // namespace penstock::core
