#include "proto/wire/file_config.h"

#include "core/base/log.h"
#include "proto/wire/field_reader.h"

#include <absl/strings/str_cat.h>
#include <absl/time/time.h>

#include <optional>
#include <string>
#include <utility>

namespace penstock::wire {
namespace {

std::optional<core::FileCompression> FromProto(v1::FileCompression value) {
  switch (value) {
    case v1::FILE_COMPRESSION_AUTO:
      return core::FileCompression::kAuto;
    case v1::FILE_COMPRESSION_NONE:
      return core::FileCompression::kNone;
    case v1::FILE_COMPRESSION_GZIP:
      return core::FileCompression::kGzip;
    case v1::FILE_COMPRESSION_ZSTD:
      return core::FileCompression::kZstd;
    default:
      return std::nullopt;
  }
}

v1::FileCompression ToProto(core::FileCompression value) {
  switch (value) {
    case core::FileCompression::kAuto:
      return v1::FILE_COMPRESSION_AUTO;
    case core::FileCompression::kNone:
      return v1::FILE_COMPRESSION_NONE;
    case core::FileCompression::kGzip:
      return v1::FILE_COMPRESSION_GZIP;
    case core::FileCompression::kZstd:
      return v1::FILE_COMPRESSION_ZSTD;
  }
  LOG(FATAL) << "no such FileCompression: " << static_cast<int>(value);
}

std::optional<core::FileOrder> FromProto(v1::FileOrder value) {
  switch (value) {
    case v1::FILE_ORDER_NAME:
      return core::FileOrder::kName;
    case v1::FILE_ORDER_MODIFIED:
      return core::FileOrder::kModified;
    default:
      return std::nullopt;
  }
}

v1::FileOrder ToProto(core::FileOrder value) {
  switch (value) {
    case core::FileOrder::kName:
      return v1::FILE_ORDER_NAME;
    case core::FileOrder::kModified:
      return v1::FILE_ORDER_MODIFIED;
  }
  LOG(FATAL) << "no such FileOrder: " << static_cast<int>(value);
}

std::optional<core::FileStart> FromProto(v1::FileStart value) {
  switch (value) {
    case v1::FILE_START_BEGINNING:
      return core::FileStart::kBeginning;
    case v1::FILE_START_END:
      return core::FileStart::kEnd;
    default:
      return std::nullopt;
  }
}

v1::FileStart ToProto(core::FileStart value) {
  switch (value) {
    case core::FileStart::kBeginning:
      return v1::FILE_START_BEGINNING;
    case core::FileStart::kEnd:
      return v1::FILE_START_END;
  }
  LOG(FATAL) << "no such FileStart: " << static_cast<int>(value);
}

// Reads an enum into `to`, if it is given. `names`: what it may be.
template <typename Proto, typename Core>
void ReadEnum(absl::string_view name, std::optional<Proto> given,
              absl::string_view names, FieldReader& fields, Core& to) {
  if (!given.has_value()) return;
  if (const auto value = FromProto(*given)) {
    to = *value;
    return;
  }
  fields.Add(name, absl::StrCat("is ", *given, ", must be ", names),
             *given == 0 ? kUnspecified : kUnknownValue);
}

void ReadStartTime(const v1::FileSource& message, FieldReader& fields,
                   core::FileSourceConfig& config) {
  if (!message.has_start_time()) return;
  std::string error;
  if (!absl::ParseTime(absl::RFC3339_full, message.start_time(),
                       &config.start_time, &error)) {
    fields.Add("start_time",
               absl::StrCat("is no RFC 3339 time such as "
                            "2026-11-30T16:00:00Z: ",
                            error),
               kMalformed);
  } else if (!config.follow || config.start == core::FileStart::kEnd) {
    fields.Add("start_time",
               "goes with follow: true, and with start: BEGINNING",
               kContradiction);
  }
}

}  // namespace

std::shared_ptr<core::FileSourceConfig> FileFromProto(
    const v1::FileSource& message, std::string path, Violations& violations) {
  FieldReader fields(std::move(path), violations);
  auto config = std::make_shared<core::FileSourceConfig>();
  config->path = message.path();
  ReadEnum("compression", PENSTOCK_GIVEN(message, compression),
           "AUTO, NONE, GZIP or ZSTD", fields, config->compression);
  config->follow = message.follow();
  ReadEnum("order", PENSTOCK_GIVEN(message, order), "NAME or MODIFIED", fields,
           config->order);
  ReadEnum("start", PENSTOCK_GIVEN(message, start), "BEGINNING or END", fields,
           config->start);
  if (config->start == core::FileStart::kEnd && !config->follow) {
    fields.Add("start",
               "is END, so that nothing would be read; set follow: true, or "
               "leave it out",
               kContradiction);
  }
  ReadStartTime(message, fields, *config);
  return config;
}

v1::FileSource FileToProto(const core::FileSourceConfig& config) {
  const core::FileSourceConfig by_default;
  v1::FileSource message;
  message.set_path(config.path);
  if (config.compression != by_default.compression) {
    message.set_compression(ToProto(config.compression));
  }
  if (config.follow) message.set_follow(true);
  if (config.order != by_default.order) {
    message.set_order(ToProto(config.order));
  }
  if (config.start != by_default.start) {
    message.set_start(ToProto(config.start));
  }
  if (config.start_time != by_default.start_time) {
    message.set_start_time(absl::FormatTime(
        absl::RFC3339_full, config.start_time, absl::UTCTimeZone()));
  }
  return message;
}

}  // namespace penstock::wire
