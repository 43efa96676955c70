#include "server/rpc/discovery.h"

#include "core/base/error.h"
#include "core/contract/ft_model.h"
#include "core/record/schema.h"
#include "proto/penstock/v1/options.pb.h"
#include "proto/penstock/v1/spec.pb.h"
#include "proto/wire/components.h"
#include "proto/wire/config_comments.h"
#include "proto/wire/config_schema.h"
#include "proto/wire/enums.h"
#include "proto/wire/spec.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/string_view.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <array>
#include <memory>
#include <optional>
#include <string>

namespace penstock::server {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::OneofDescriptor;

constexpr std::array kKinds = {
    v1::CONNECTOR_TYPE_KIND_SOURCE, v1::CONNECTOR_TYPE_KIND_FORMAT,
    v1::CONNECTOR_TYPE_KIND_ROUTE, v1::CONNECTOR_TYPE_KIND_SINK};

// The message whose oneof has the types of a kind; null: no kind.
const Descriptor* MessageOf(v1::ConnectorTypeKind kind) {
  switch (kind) {
    case v1::CONNECTOR_TYPE_KIND_SOURCE:
      return v1::SourceSpec::descriptor();
    case v1::CONNECTOR_TYPE_KIND_FORMAT:
      return v1::FormatSpec::descriptor();
    case v1::CONNECTOR_TYPE_KIND_ROUTE:
      return v1::RouteSpec::descriptor();
    case v1::CONNECTOR_TYPE_KIND_SINK:
      return v1::SinkSpec::descriptor();
    default:
      return nullptr;
  }
}

const OneofDescriptor& ArmsOf(const Descriptor& message) {
  return *message.FindOneofByName("type");
}

// Gives every required text a word, so that a component can be made and asked
// what it can do.
void FillRequired(Message& message) {
  const Descriptor& type = *message.GetDescriptor();
  const auto& reflection = *message.GetReflection();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    const v1::ConfigOptions& options = field.options().GetExtension(v1::config);
    if (!options.required() ||
        field.cpp_type() != FieldDescriptor::CPPTYPE_STRING) {
      continue;
    }
    const std::string word = options.secret() ? "${env:PENSTOCK}" : "word";
    if (field.is_repeated()) {
      reflection.AddString(&message, &field, word);
    } else {
      reflection.SetString(&message, &field, word);
    }
  }
}

// The least configuration of an arm.
template <typename Spec>
Spec LeastSpec(const FieldDescriptor& arm) {
  Spec spec;
  FillRequired(*spec.GetReflection()->MutableMessage(&spec, &arm));
  return spec;
}

// The level of the least configuration; `known` is false if it cannot be made
// without knowing more.
struct Level {
  bool known = false;
  std::optional<core::FtModel> level;
};

Level LevelOf(const core::Registry& registry,
              const core::Environment& environment, v1::ConnectorTypeKind kind,
              const FieldDescriptor& arm) {
  wire::Violations violations;
  const core::ConnectorLimits limits;
  if (kind == v1::CONNECTOR_TYPE_KIND_SOURCE) {
    const auto config = wire::SourceFromProto(LeastSpec<v1::SourceSpec>(arm),
                                              limits, "", violations);
    if (config == nullptr || !violations.empty()) return {};
    const auto source = registry.MakeSource(*config, environment);
    if (!source.ok()) return {};
    return {.known = true, .level = (*source)->FaultTolerance()};
  }
  if (kind == v1::CONNECTOR_TYPE_KIND_SINK) {
    const auto config = wire::SinkFromProto(LeastSpec<v1::SinkSpec>(arm),
                                            limits, "", violations);
    if (config == nullptr || !violations.empty()) return {};
    const auto sink = registry.MakeSink(*config, environment);
    if (!sink.ok()) return {};
    return {.known = true, .level = (*sink)->FaultTolerance()};
  }
  return {.known = true, .level = core::FtModel::kExactlyOnce};
}

// Whether records of the format can have typed columns.
bool TakesColumns(const core::Registry& registry, const FieldDescriptor& arm) {
  auto spec = LeastSpec<v1::FormatSpec>(arm);
  // It needs one of two fields, neither of which is required by itself.
  if (spec.has_avro()) spec.mutable_avro()->set_schema("string");
  if (spec.has_protobuf()) {
    spec.mutable_protobuf()->mutable_registry()->set_url("http://unset");
  }
  wire::Violations violations;
  const auto config = wire::FormatFromProto(spec, {}, "", violations);
  if (config == nullptr || !violations.empty()) return false;
  core::Schema schema;
  schema.columns.push_back({.name = "id", .type = core::SqlType::kBigint});
  return registry.MakeParser(*config, schema).ok();
}

// The first sentence.
std::string SummaryOf(const Descriptor& message) {
  const std::string comment = wire::CommentOf(message);
  return comment.substr(0, comment.find(". "));
}

v1::ConnectorType TypeOf(const core::Registry& registry,
                         const core::Environment& environment,
                         v1::ConnectorTypeKind kind,
                         const FieldDescriptor& arm) {
  v1::ConnectorType type;
  type.set_kind(kind);
  type.set_name(arm.name());
  type.set_summary(SummaryOf(*arm.message_type()));
  const Level level = LevelOf(registry, environment, kind, arm);
  if (level.known) type.set_level_max(wire::LevelToProto(level.level));
  return type;
}

void AddCapabilities(const core::Registry& registry, const FieldDescriptor& arm,
                     v1::DescribeConnectorTypeResponse& to) {
  const v1::ConnectorTypeKind kind = to.type().kind();
  const bool is_source = kind == v1::CONNECTOR_TYPE_KIND_SOURCE;
  const bool is_sink = kind == v1::CONNECTOR_TYPE_KIND_SINK;
  if (is_source || is_sink) {
    if (to.type().level_max() == v1::DELIVERY_LEVEL_EXACTLY_ONCE) {
      to.add_capabilities("exactly_once");
    } else if (to.type().level_max() == v1::DELIVERY_LEVEL_AT_LEAST_ONCE) {
      to.add_capabilities("at_least_once");
    }
  }
  if (kind == v1::CONNECTOR_TYPE_KIND_FORMAT && TakesColumns(registry, arm)) {
    to.add_capabilities("columns");
  }
  if (is_source || (is_sink && registry.FindSinkProbe(arm.name()) != nullptr)) {
    to.add_capabilities("dry_run");
  }
  for (const v1::ConfigField& field : to.fields()) {
    if (!field.secret()) continue;
    to.add_capabilities("secrets");
    return;
  }
}

}  // namespace

std::vector<v1::ConnectorType> ListTypes(const core::Registry& registry,
                                         const core::Environment& environment,
                                         v1::ConnectorTypeKind kind) {
  std::vector<v1::ConnectorType> types;
  for (const v1::ConnectorTypeKind each : kKinds) {
    if (kind != v1::CONNECTOR_TYPE_KIND_UNSPECIFIED && kind != each) continue;
    const OneofDescriptor& arms = ArmsOf(*MessageOf(each));
    for (int i = 0; i < arms.field_count(); ++i) {
      types.push_back(TypeOf(registry, environment, each, *arms.field(i)));
    }
  }
  return types;
}

absl::StatusOr<v1::DescribeConnectorTypeResponse> DescribeType(
    const core::Registry& registry, const core::Environment& environment,
    const v1::DescribeConnectorTypeRequest& request) {
  const Descriptor* const message = MessageOf(request.kind());
  if (message == nullptr) {
    return core::MakeError(
        core::Reason::INVALID_REQUEST,
        "describing a type: kind must be SOURCE, FORMAT, ROUTE or SINK");
  }
  const FieldDescriptor* const arm = message->FindFieldByName(request.name());
  if (arm == nullptr) {
    std::string known;
    const OneofDescriptor& arms = ArmsOf(*message);
    for (int i = 0; i < arms.field_count(); ++i) {
      absl::StrAppend(&known, i == 0 ? "" : ", ", arms.field(i)->name());
    }
    return core::MakeError(
        core::Reason::NOT_FOUND,
        absl::StrCat("describing a type: there is no '", request.name(),
                     "'; known are: ", known));
  }
  v1::DescribeConnectorTypeResponse to;
  *to.mutable_type() = TypeOf(registry, environment, request.kind(), *arm);
  to.set_config_message(arm->message_type()->full_name());
  for (v1::ConfigField& field : wire::ConfigFields(*arm->message_type())) {
    *to.add_fields() = std::move(field);
  }
  if (request.kind() == v1::CONNECTOR_TYPE_KIND_FORMAT ||
      request.kind() == v1::CONNECTOR_TYPE_KIND_ROUTE) {
    to.add_versions(wire::kComponentVersion);
  }
  to.set_config_schema(wire::ConfigSchema(*arm->message_type()));
  AddCapabilities(registry, *arm, to);
  return to;
}

}  // namespace penstock::server
