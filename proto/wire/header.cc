#include "proto/wire/header.h"

#include "proto/wire/names.h"
#include "proto/wire/text.h"

#include <google/protobuf/duration.pb.h>

namespace penstock::wire {
namespace {

constexpr size_t kControllerIdBytesMax = 128;
constexpr size_t kRequestIdBytesMax = 128;

}  // namespace

v1::Fence ToProto(const core::Fence& fence) {
  v1::Fence result;
  result.set_pipeline(fence.pipeline);
  result.set_controller_id(ToUtf8(fence.controller_id, kControllerIdBytesMax));
  result.set_epoch(fence.epoch);
  result.set_nonce(fence.nonce);
  return result;
}

v1::ConnectorRef ToProto(const core::ConnectorRef& ref) {
  v1::ConnectorRef result;
  result.set_connector(ref.connector);
  result.set_instance(ref.instance);
  return result;
}

v1::Writer ToProto(const core::Writer& writer) {
  v1::Writer to;
  to.set_epoch(writer.epoch);
  to.set_open_number(writer.open_number);
  return to;
}

core::Writer FromProto(const v1::Writer& writer) {
  return {.epoch = writer.epoch(), .open_number = writer.open_number()};
}

core::Fence ReadFence(const v1::Fence& fence, absl::string_view path,
                      Violations& violations) {
  if (!IsName(fence.pipeline())) {
    violations.Add(JoinPath(path, "pipeline"), std::string(kNameForm),
                   fence.pipeline().empty() ? kRequired : kMalformed);
  }
  if (fence.controller_id().size() > kControllerIdBytesMax) {
    violations.Add(
        JoinPath(path, "controller_id"),
        absl::StrCat("must be at most ", kControllerIdBytesMax, " bytes long"),
        kOutOfRange);
  }
  if (fence.epoch() == 0) {
    violations.Add(JoinPath(path, "epoch"), "must be 1 or higher", kRequired);
  }
  if (!IsNonce(fence.nonce())) {
    violations.Add(JoinPath(path, "nonce"),
                   "must be 8 to 64 bytes of printable ASCII",
                   fence.nonce().empty() ? kRequired : kMalformed);
  }
  return {.pipeline = fence.pipeline(),
          .controller_id = fence.controller_id(),
          .epoch = fence.epoch(),
          .nonce = fence.nonce()};
}

core::ConnectorRef ReadRef(const v1::ConnectorRef& ref, InstanceRule rule,
                           Violations& violations) {
  if (!IsName(ref.connector())) {
    violations.Add("connector.connector", std::string(kNameForm),
                   ref.connector().empty() ? kRequired : kMalformed);
  }
  if (ref.instance().empty() && rule == InstanceRule::kGiven) {
    violations.Add("connector.instance",
                   "is missing; give what OpenConnector answered", kRequired);
  }
  return {.connector = ref.connector(), .instance = ref.instance()};
}

void CheckRequestId(const std::string& id, Violations& violations) {
  if (!id.empty() && id.size() <= kRequestIdBytesMax) return;
  violations.Add(
      "request_id",
      absl::StrCat("must be 1 to ", kRequestIdBytesMax, " bytes long"),
      id.empty() ? kRequired : kOutOfRange);
}

absl::Duration ReadTime(absl::string_view name,
                        const google::protobuf::Duration& time,
                        absl::Duration max, Violations& violations) {
  const std::optional<absl::Duration> value = DurationFromProto(time);
  if (value.has_value() && *value >= absl::ZeroDuration() && *value <= max) {
    return *value;
  }
  violations.Add(std::string(name),
                 absl::StrCat("must be from 0 to ", absl::FormatDuration(max)),
                 kOutOfRange);
  return absl::ZeroDuration();
}

}  // namespace penstock::wire
