// A file that is open, and what is in it.
#pragma once

#include "core/base/filesystem.h"
#include "core/compress/compression.h"
#include "core/sources/file/config.h"
#include "core/sources/file/content.h"

#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <memory>
#include <optional>
#include <utility>

namespace penstock::core {

// Owner: whoever reads it. Threads: thread-compatible. Bound: a descriptor, and
// what DecodedContent holds.
class OpenFile {
 public:
  // Opens a plain file, and nothing else: opening a device may do things.
  // Blocks: as the disk does. Errors: INVALID_CONFIG if it is something else;
  // those of the file.
  static absl::StatusOr<OpenFile> Open(FileSystem& files,
                                       absl::string_view path,
                                       FileCompression compression);

  // Takes a file whose bytes are the content, whatever it is.
  static OpenFile Of(std::unique_ptr<File> file) {
    return OpenFile(std::move(file), Compression::kNone);
  }

  File& file() const { return *file_; }
  Content& content() const { return *content_; }
  // Whether its first bytes say for certain whether it is compressed: of one
  // that is being written they may not.
  bool is_certain() const { return is_certain_; }
  bool is_compressed() const { return compression_ != Compression::kNone; }

 private:
  // nullopt: not certain.
  OpenFile(std::unique_ptr<File> file, std::optional<Compression> compression);

  // At the same place after a move, for the content refers to it.
  std::unique_ptr<File> file_;
  bool is_certain_;
  Compression compression_;
  std::unique_ptr<Content> content_;
};

}  // namespace penstock::core
