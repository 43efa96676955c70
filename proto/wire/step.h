// v1::StepResult <-> core::StepResult. Seek JSON, watermarks' JSON and replay
// data pass as bytes; nothing is re-serialised.
#pragma once

#include "core/connector/requests.h"
#include "proto/wire/fragments.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace penstock::v1 {
class Blocker;
class BufferAmount;
class Position;
class StepResult;
class Watermark;
}  // namespace penstock::v1

namespace penstock::wire {

// The one format of positions: JSON text of the connector's source type.
inline constexpr absl::string_view kPositionFormat = "json";
inline constexpr uint32_t kPositionVersion = 1;
// See OpenConnectorResponse.base_position.
inline constexpr size_t kPositionInlineMax = size_t{32} << 10;
// Default of limits.step_result_bytes_max.
inline constexpr size_t kStepResultBytesMax = size_t{256} << 10;

v1::BufferAmount ToProto(const core::BufferSize& size);
core::BufferSize FromProto(const v1::BufferAmount& amount);

v1::Position PositionToProto(absl::string_view json);
// A position, or the name of one that travels in fragments.
struct DecodedPosition {
  std::string json;
  std::optional<Part> part;
};
// Errors: INVALID_REQUEST naming `path`; UNSUPPORTED (format or version).
absl::StatusOr<DecodedPosition> FromProto(const v1::Position& position,
                                          absl::string_view path);

// Shape:   a full position, then replay data, that would make the whole longer
//          than `bytes_max` is named by length and hash, to be read with
//          ReadStepPart.
// Ensures: equal results give equal messages. The hash travels in resume's
//          `replay` only: without one of that kind it is not carried.
v1::StepResult ToProto(const core::StepResult& result,
                       size_t bytes_max = kStepResultBytesMax);

// A result, perhaps without its replay data or full position.
struct DecodedStep {
  core::StepResult result;
  // Set: `result.full_position` is still to be filled in.
  std::optional<Part> full_position;
  // Set: `result.resume` is a Replay whose data is still to be filled in.
  std::optional<Part> replay_data;
};
// Errors: INVALID_REQUEST or UNSUPPORTED, naming the field below `path`.
absl::StatusOr<DecodedStep> FromProto(const v1::StepResult& result,
                                      absl::string_view path = "result");
// Puts what was a part into its place. Requires: that part is set, and `data`
// was checked against it (FragmentAssembler). Ensures: it is set no more.
void FillReplayData(std::string data, DecodedStep& step);
void FillFullPosition(std::string data, DecodedStep& step);

v1::Blocker ToProto(const core::Blocker& blocker);
absl::StatusOr<core::Blocker> FromProto(const v1::Blocker& blocker);

}  // namespace penstock::wire
