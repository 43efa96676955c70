// Which kinds of source, format and sink exist. Registered explicitly.
#pragma once

#include "core/contract/component.h"
#include "core/contract/dead_letter.h"
#include "core/contract/endpoint.h"
#include "core/contract/ft_model.h"
#include "core/contract/output_target.h"
#include "core/contract/parser.h"
#include "core/contract/row_encoder.h"
#include "core/record/schema.h"

#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace penstock::core {

// Owner:     the process; outlives every connector.
// Threads:   thread-compatible: filled at start, then only read.
class Registry {
 public:
  using SourceFactory =
      std::function<absl::StatusOr<std::unique_ptr<InputEndpoint>>(
          const ComponentConfig&, const Environment&)>;
  using ParserFactory = std::function<absl::StatusOr<std::unique_ptr<Parser>>(
      const ComponentConfig&, const Schema&)>;
  using EncoderFactory =
      std::function<absl::StatusOr<std::unique_ptr<RowEncoder>>(
          const ComponentConfig&, FrameKind, const Schema&)>;
  using SinkFactory =
      std::function<absl::StatusOr<std::unique_ptr<OutputTarget>>(
          const ComponentConfig&, const Environment&)>;
  using DeadLetterFactory =
      std::function<absl::StatusOr<std::unique_ptr<DeadLetterOutput>>(
          const ComponentConfig&, const DeadLetterOpen&, const Environment&)>;
  // Looks at a target as its Open would, and changes nothing there: whether it
  // is there, lets us in, and lets us write rows of `schema` at `level`.
  // Blocks: for I/O, within a bound of its own. Errors: as OutputTarget::Open,
  // UNAUTHENTICATED, PERMISSION_DENIED.
  using SinkProbe = std::function<absl::Status(
      const ComponentConfig&, std::optional<FtModel> level,
      const Schema& schema, const Environment&)>;

  // Requires: the name is not taken.
  void RegisterSource(std::string name, SourceFactory factory);
  void RegisterParser(std::string name, ParserFactory factory);
  void RegisterEncoder(std::string name, EncoderFactory factory);
  void RegisterSink(std::string name, SinkFactory factory);
  void RegisterDeadLetter(std::string name, DeadLetterFactory factory);
  void RegisterSinkProbe(std::string name, SinkProbe probe);

  // By `config.type()`. Errors: INVALID_CONFIG naming the unknown type and
  // those that exist; whatever the factory found wrong.
  absl::StatusOr<std::unique_ptr<InputEndpoint>> MakeSource(
      const ComponentConfig& config, const Environment& environment) const;
  // `schema`: the columns of the rows, empty if records carry none.
  absl::StatusOr<std::unique_ptr<Parser>> MakeParser(
      const ComponentConfig& config, const Schema& schema) const;
  // `frames`: what the sink wants. `schema`: as above.
  absl::StatusOr<std::unique_ptr<RowEncoder>> MakeEncoder(
      const ComponentConfig& config, FrameKind frames,
      const Schema& schema) const;
  absl::StatusOr<std::unique_ptr<OutputTarget>> MakeSink(
      const ComponentConfig& config, const Environment& environment) const;
  absl::StatusOr<std::unique_ptr<DeadLetterOutput>> MakeDeadLetter(
      const ComponentConfig& config, const DeadLetterOpen& open,
      const Environment& environment) const;

  // Null: that sink cannot be looked at without leaving a trace.
  const SinkProbe* FindSinkProbe(absl::string_view type) const;

  std::vector<std::string> source_names() const;
  std::vector<std::string> format_names() const;
  std::vector<std::string> sink_names() const;

 private:
  std::map<std::string, SourceFactory> sources_;
  std::map<std::string, ParserFactory> parsers_;
  std::map<std::string, EncoderFactory> encoders_;
  std::map<std::string, SinkFactory> sinks_;
  std::map<std::string, DeadLetterFactory> dead_letters_;
  std::map<std::string, SinkProbe> sink_probes_;
};

}  // namespace penstock::core
