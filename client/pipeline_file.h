// The file that `penstock run` reads: YAML (or JSON) whose keys are the fields
// of v1::PipelineSpec.
// See client/README.md.
#pragma once

#include "client/tls_files.h"
#include "core/base/filesystem.h"
#include "core/connector/requests.h"

#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>
#include <absl/time/time.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace penstock::client {

struct PipelineWorker {
  std::string name;
  // gRPC targets: the first, and where it may be found instead.
  std::vector<std::string> addresses;
};

// A pipeline file, checked, with every default written out.
struct PipelineFile {
  std::string name;
  // The incarnation that the store is expected to have.
  std::optional<std::string> incarnation;
  // Path of the SQLite store. A relative one is relative to the file. Empty:
  // the state is in PostgreSQL.
  std::string store_path;
  // Connection string of the PostgreSQL store, as written: secrets are
  // references. Empty: there is a store_path.
  std::string store_url;
  // Of a PostgreSQL store: how long a leading controller's lease lasts.
  absl::Duration lease = absl::Seconds(15);
  // Where a worker of the command's own keeps its fence, if nobody says where.
  std::string worker_state_dir;
  absl::Duration checkpoint_interval = absl::Seconds(10);
  // How workers are dialled; paths are joined to the file's directory.
  TlsFiles tls;
  // Empty: one worker of the command's own.
  std::vector<PipelineWorker> workers;
  // At least one; names are unique. Paths in them are as written: they are the
  // worker's.
  std::vector<core::ConnectorSpec> connectors;
  // Of each connector: index of its worker (0 if there are none).
  std::vector<size_t> placement;
};

// Longest file that is read, in bytes.
inline constexpr size_t kPipelineFileBytesMax = size_t{1} << 20;

// Reads `text`. `file` names it in errors; a relative store path is joined to
// its directory.
// Shape:  besides what is natural in YAML: enum values short and in any case
//         (`exactly_once`), durations with units (`10s`, `100ms`, `1m30s`),
//         sizes with units (`8MiB`, `64kB`) in fields that count bytes, the
//         null sink's key plain. `${env:NAME}` and `${file:/path}` stay as they
//         are: the worker resolves them.
// Errors: INVALID_CONFIG (UNSUPPORTED if it is only that) with every violation.
//         The message has a line for each:
//         "shop.yaml:7: connectors[0].sink.file.pth: unknown; did you mean
//         'path'?".
absl::StatusOr<PipelineFile> ParsePipelineFile(absl::string_view text,
                                               absl::string_view file);

// Reads and parses the file at `path`. Errors: one that cannot be read, or is
// larger than kPipelineFileBytesMax, is INVALID_CONFIG, too: to whoever named
// it, it is a wrong file.
absl::StatusOr<PipelineFile> LoadPipelineFile(core::FileSystem& files,
                                              const std::string& path);

}  // namespace penstock::client
