// Connector specifications for the tests of their conversion.
#pragma once

#include "core/contract/component.h"
#include "proto/penstock/v1/spec.pb.h"
#include "proto/wire/spec.h"
#include "proto/wire/violations.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace penstock::wire {

inline v1::ConnectorSpec ParseText(const std::string& text) {
  v1::ConnectorSpec spec;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &spec));
  return spec;
}

// The smallest that is right.
inline v1::ConnectorSpec Smallest() {
  return ParseText(R"pb(
    name: "orders"
    source { file { path: "/in" } }
    format { ndjson {} }
    sink { file { path: "/out" } }
  )pb");
}

// A configuration, by its type.
template <typename Config>
const Config& As(
    const std::shared_ptr<const core::ComponentConfig>& component) {
  return dynamic_cast<const Config&>(*component);
}

// The fields that are wrong.
inline std::vector<std::string> FieldsOf(const v1::ConnectorSpec& spec) {
  Violations violations;
  SpecFromProto(spec, "connectors[0]", violations);
  std::vector<std::string> fields;
  for (const FieldViolation& violation : violations.kept()) {
    fields.push_back(violation.field);
  }
  return fields;
}

}  // namespace penstock::wire
