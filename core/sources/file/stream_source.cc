#include "core/sources/file/stream_source.h"

#include "core/base/error.h"
#include "core/base/status_macros.h"
#include "core/contract/message_gate.h"
#include "core/sources/file/stream_reader.h"

#include <utility>

namespace penstock::core {
namespace {

absl::Status NoInput(bool was_open) {
  return MakeError(
      was_open ? Reason::POSITION_EXPIRED : Reason::INVALID_CONFIG,
      "open source file -: this worker's standard input is not for reading: "
      "`penstock run` gives its own to the first worker that it starts, and "
      "what a worker holds that dies is lost with it; run again with the whole "
      "input, or name a file, which can be read again",
      {{"field", "path"}, {"path", "-"}});
}

}  // namespace

absl::StatusOr<OpenedInput> StreamSource::Open(
    InputConsumer& consumer, std::unique_ptr<Parser> parser,
    const Schema& /*schema*/, std::optional<std::string> resume_info) {
  RETURN_IF_ERROR(CheckHasNoGate(*parser, "file"));
  if (input_ == nullptr) return NoInput(resume_info.has_value());
  RETURN_IF_ERROR(input_->Claim());
  OpenedInput opened;
  // There is no place to come back to.
  opened.position = std::string(kJsonNull);
  opened.reader = std::make_unique<StreamReader>(
      environment_, consumer, std::move(parser), config_, *input_);
  return opened;
}

absl::StatusOr<std::unique_ptr<InputEndpoint>> MakeStreamSource(
    const FileSourceConfig& config, const Environment& environment,
    PipedInput* input) {
  const auto refuse = [](absl::string_view field, absl::string_view why) {
    return MakeError(
        Reason::INVALID_CONFIG,
        absl::StrCat("source file: path is -, the standard input; ", why),
        {{"field", std::string(field)}});
  };
  if (config.follow) {
    return refuse("follow",
                  "it is read until whoever writes it closes it: leave out "
                  "follow (./- is a file of that name)");
  }
  if (config.compression == FileCompression::kGzip ||
      config.compression == FileCompression::kZstd) {
    return refuse("compression",
                  "pipe it through zcat or zstdcat, and leave this out");
  }
  return std::make_unique<StreamSource>(config, environment, input);
}

}  // namespace penstock::core
