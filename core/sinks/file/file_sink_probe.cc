#include "core/sinks/file/file_sink_probe.h"

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/base/file_access.h"
#include "core/base/filesystem.h"
#include "core/base/status_macros.h"
#include "core/sinks/file/config.h"

#include <absl/status/statusor.h>
#include <absl/strings/str_cat.h>

#include <string>

namespace penstock::core {

absl::Status ProbeFileSink(const ComponentConfig& config,
                           std::optional<FtModel> /*level*/,
                           const Schema& /*schema*/,
                           const Environment& environment) {
  CHECK(config.type() == "file") << config.type();
  const std::string& path = static_cast<const FileSinkConfig&>(config).path;
  RETURN_IF_ERROR(environment.paths.Check(environment.files, path));
  std::string nearest = path;
  absl::StatusOr<FileStat> stat = environment.files.Stat(nearest);
  while (HasReason(stat.status(), Reason::NOT_FOUND) && nearest != "/" &&
         nearest != ".") {
    nearest = std::string(DirectoryOf(nearest));
    stat = environment.files.Stat(nearest);
  }
  if (!stat.ok()) return stat.status();
  if (stat->type != FileType::kDirectory) {
    return MakeError(
        Reason::INVALID_CONFIG,
        absl::StrCat("looking at sink file ", path, ": ", nearest,
                     " is no directory; choose another sink.file.path"),
        {{"field", "sink.file.path"}});
  }
  return CheckDirectoryIsWritable(nearest);
}

}  // namespace penstock::core
