#include "core/base/file_access.h"

#include "core/base/error.h"

#include <fcntl.h>
#include <unistd.h>
#include <cerrno>
#include <string>

namespace penstock::core {

absl::Status CheckDirectoryIsWritable(absl::string_view directory) {
  const std::string path(directory);
  if (faccessat(AT_FDCWD, path.c_str(), W_OK | X_OK, AT_EACCESS) == 0) {
    return absl::OkStatus();
  }
  return MakeFileError(errno, "write into directory", path);
}

}  // namespace penstock::core
