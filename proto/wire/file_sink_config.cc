#include "proto/wire/file_sink_config.h"

#include "core/base/error.h"
#include "core/sinks/file/config.h"
#include "proto/penstock/v1/spec.pb.h"
#include "proto/wire/field_reader.h"
#include "proto/wire/proto_time.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace penstock::wire {
namespace {

core::Compression ReadCompression(const v1::FileSink& spec,
                                  FieldReader& fields) {
  if (!spec.has_compression()) return core::Compression::kNone;
  switch (spec.compression()) {
    case v1::OUTPUT_COMPRESSION_NONE:
      return core::Compression::kNone;
    case v1::OUTPUT_COMPRESSION_GZIP:
      return core::Compression::kGzip;
    case v1::OUTPUT_COMPRESSION_ZSTD:
      return core::Compression::kZstd;
    default:
      fields.Add("compression",
                 absl::StrCat("is ", spec.compression(),
                              ", must be NONE, GZIP or ZSTD"),
                 spec.compression() == 0 ? kUnspecified : kUnknownValue);
      return core::Compression::kNone;
  }
}

v1::OutputCompression CompressionToProto(core::Compression compression) {
  switch (compression) {
    case core::Compression::kNone:
      return v1::OUTPUT_COMPRESSION_NONE;
    case core::Compression::kGzip:
      return v1::OUTPUT_COMPRESSION_GZIP;
    case core::Compression::kZstd:
      return v1::OUTPUT_COMPRESSION_ZSTD;
  }
  return v1::OUTPUT_COMPRESSION_NONE;
}

core::FileVisibility ReadVisibility(const v1::FileSink& spec,
                                    FieldReader& fields) {
  if (!spec.has_visibility()) return core::FileVisibility::kManifest;
  switch (spec.visibility()) {
    case v1::FILE_VISIBILITY_MANIFEST:
      return core::FileVisibility::kManifest;
    case v1::FILE_VISIBILITY_RENAME:
      return core::FileVisibility::kRename;
    default:
      fields.Add("visibility",
                 absl::StrCat("is ", spec.visibility(),
                              ", must be MANIFEST or RENAME"),
                 spec.visibility() == 0 ? kUnspecified : kUnknownValue);
      return core::FileVisibility::kManifest;
  }
}

core::FileRoll ReadRoll(const v1::FileRoll& spec, FieldReader fields) {
  core::FileRoll roll;
  roll.bytes =
      fields.Number("bytes", PENSTOCK_GIVEN(spec, bytes), 0, 1, UINT64_MAX);
  roll.steps =
      fields.Number("steps", PENSTOCK_GIVEN(spec, steps), 0, 1, UINT64_MAX);
  constexpr absl::Duration kLongest = absl::Hours(24 * 365);
  roll.interval =
      fields.Time("interval", PENSTOCK_GIVEN(spec, interval),
                  absl::InfiniteDuration(), absl::Milliseconds(1), kLongest);
  return roll;
}

// What the sink itself would say at open is said before.
void Check(const core::FileSinkConfig& config, FieldReader& fields) {
  const absl::Status checked = core::CheckFileSinkConfig(config);
  const std::optional<core::ErrorInfo> info = core::GetErrorInfo(checked);
  if (!info.has_value()) return;
  const auto field = info->metadata.find("field");
  fields.Add(field == info->metadata.end() ? "" : field->second,
             std::string(checked.message()), kMalformed);
}

}  // namespace

ConfigPtr FileSinkFromProto(const v1::FileSink& spec,
                            const core::ConnectorLimits& limits,
                            absl::string_view path, Violations& violations) {
  auto config = std::make_shared<core::FileSinkConfig>();
  FieldReader fields(JoinPath(path, "file"), violations);
  config->path = spec.path();
  // A chunk, or a row of its own that an encoder has blown up.
  config->buffer_bytes_max =
      std::max<size_t>({config->buffer_bytes_max, limits.chunk_bytes,
                        2 * limits.record_bytes_max});
  config->compression = ReadCompression(spec, fields);
  // 0 would stand for the default.
  config->compression_level = static_cast<int>(fields.Number(
      "compression_level", PENSTOCK_GIVEN(spec, compression_level), 0, 1, 100));
  config->roll =
      ReadRoll(spec.roll(), FieldReader(fields.Path("roll"), violations));
  config->visibility = ReadVisibility(spec, fields);
  config->name = spec.name();
  if (!config->path.empty()) Check(*config, fields);
  return config;
}

v1::FileSink FileSinkToProto(const core::FileSinkConfig& config) {
  // Defaults are left out: a worker that does not know these fields takes what
  // does not use them.
  v1::FileSink to;
  to.set_path(config.path);
  if (config.compression != core::Compression::kNone) {
    to.set_compression(CompressionToProto(config.compression));
  }
  if (config.compression_level > 0) {
    to.set_compression_level(static_cast<uint32_t>(config.compression_level));
  }
  const core::FileRoll& roll = config.roll;
  if (roll.bytes > 0) to.mutable_roll()->set_bytes(roll.bytes);
  if (roll.steps > 0) to.mutable_roll()->set_steps(roll.steps);
  if (roll.interval != absl::InfiniteDuration()) {
    *to.mutable_roll()->mutable_interval() = DurationToProto(roll.interval);
  }
  if (config.visibility == core::FileVisibility::kRename) {
    to.set_visibility(v1::FILE_VISIBILITY_RENAME);
  }
  if (!config.name.empty()) to.set_name(config.name);
  return to;
}

}  // namespace penstock::wire
