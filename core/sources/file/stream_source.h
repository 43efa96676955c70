// The source "file" with the path "-": what is piped into the process.
#pragma once

#include "core/base/piped_input.h"
#include "core/contract/component.h"
#include "core/contract/endpoint.h"
#include "core/sources/file/config.h"

#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <memory>
#include <optional>
#include <string>

namespace penstock::core {

// The path that stands for the standard input.
inline constexpr absl::string_view kStandardInput = "-";

// Level none: what was read is nowhere else, so that what a process holds when
// it dies is lost. As long as it lives nothing is: what is not taken waits in
// the pipe. A stream of which a part was read is not opened again.
//
// Threads: thread-compatible. Outlived by the environment and the input.
class StreamSource final : public TransportInputEndpoint {
 public:
  // `input` null: this process' standard input is not for reading.
  StreamSource(FileSourceConfig config, const Environment& environment,
               PipedInput* input)
      : config_(std::move(config)), environment_(environment), input_(input) {}

  std::optional<FtModel> FaultTolerance() const override {
    return std::nullopt;
  }

  // Errors: those of PipedInput::Claim; POSITION_EXPIRED, at the first open
  // INVALID_CONFIG, where there is no input.
  absl::StatusOr<OpenedInput> Open(
      InputConsumer& consumer, std::unique_ptr<Parser> parser,
      const Schema& schema, std::optional<std::string> resume_info) override;

 private:
  const FileSourceConfig config_;
  const Environment environment_;
  PipedInput* const input_;
};

// For MakeFileSource, where the path is "-". Errors: INVALID_CONFIG naming a
// field that means nothing for a stream.
absl::StatusOr<std::unique_ptr<InputEndpoint>> MakeStreamSource(
    const FileSourceConfig& config, const Environment& environment,
    PipedInput* input);

}  // namespace penstock::core
