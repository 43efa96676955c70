// What is around a format's rows, proto and core.
#pragma once

#include "core/format/rows/envelope.h"
#include "proto/penstock/v1/spec.pb.h"
#include "proto/wire/violations.h"

#include <optional>
#include <string>

namespace penstock::wire {

// Of the format whose fields are named below `path`.
core::EnvelopeConfig EnvelopeFromProto(std::optional<v1::Envelope> kind,
                                       const v1::EnvelopeColumns& columns,
                                       std::optional<std::string> unavailable,
                                       const std::string& path,
                                       Violations& violations);

v1::Envelope EnvelopeKindToProto(core::EnvelopeKind kind);
v1::EnvelopeColumns EnvelopeColumnsToProto(const core::EnvelopeConfig& config);

// Sets the fields of `format`. Raw is no envelope, and left out as no key is.
template <typename Format>
void EnvelopeToProto(const core::EnvelopeConfig& config, Format& format) {
  if (config.kind == core::EnvelopeKind::kRaw) return;
  format.set_envelope(EnvelopeKindToProto(config.kind));
  if (config.unavailable_value != core::EnvelopeConfig::kUnavailableByDefault) {
    format.set_unavailable_value(config.unavailable_value);
  }
  if (config.HasColumns()) {
    *format.mutable_envelope_columns() = EnvelopeColumnsToProto(config);
  }
}

}  // namespace penstock::wire
