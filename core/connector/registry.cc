#include "core/connector/registry.h"

#include "core/base/check.h"
#include "core/base/error.h"

#include <absl/status/statusor.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <absl/strings/string_view.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

template <typename Factory>
std::vector<std::string> Names(
    const std::map<std::string, Factory>& factories) {
  std::vector<std::string> names;
  names.reserve(factories.size());
  for (const auto& [name, factory] : factories) names.push_back(name);
  return names;
}

template <typename Factory>
void Register(absl::string_view kind, std::string name, Factory factory,
              std::map<std::string, Factory>& factories) {
  CHECK(factory != nullptr) << kind << " " << name;
  const bool added = factories.emplace(name, std::move(factory)).second;
  CHECK(added) << "the " << kind << " " << name << " is registered twice";
}

// The factory of `type`, or an error that names what there is.
template <typename Factory>
absl::StatusOr<const Factory*> Find(
    absl::string_view kind, absl::string_view type,
    const std::map<std::string, Factory>& factories) {
  const auto found = factories.find(std::string(type));
  if (found != factories.end()) return &found->second;
  const std::string known = absl::StrJoin(Names(factories), ", ");
  return MakeError(
      Reason::INVALID_CONFIG,
      absl::StrCat("no ", kind, " of type \"", type,
                   "\"; known are: ", known.empty() ? "none" : known),
      {{"kind", std::string(kind)},
       {"type", std::string(type)},
       {"known", known}});
}

}  // namespace

void Registry::RegisterSource(std::string name, SourceFactory factory) {
  Register("source", std::move(name), std::move(factory), sources_);
}

void Registry::RegisterParser(std::string name, ParserFactory factory) {
  Register("format", std::move(name), std::move(factory), parsers_);
}

void Registry::RegisterEncoder(std::string name, EncoderFactory factory) {
  Register("encoder", std::move(name), std::move(factory), encoders_);
}

void Registry::RegisterSink(std::string name, SinkFactory factory) {
  Register("sink", std::move(name), std::move(factory), sinks_);
}

void Registry::RegisterDeadLetter(std::string name, DeadLetterFactory factory) {
  Register("dead-letter output", std::move(name), std::move(factory),
           dead_letters_);
}

void Registry::RegisterSinkProbe(std::string name, SinkProbe probe) {
  Register("probe of sink", std::move(name), std::move(probe), sink_probes_);
}

const Registry::SinkProbe* Registry::FindSinkProbe(
    absl::string_view type) const {
  const auto found = sink_probes_.find(std::string(type));
  return found == sink_probes_.end() ? nullptr : &found->second;
}

absl::StatusOr<std::unique_ptr<InputEndpoint>> Registry::MakeSource(
    const ComponentConfig& config, const Environment& environment) const {
  const auto factory = Find("source", config.type(), sources_);
  if (!factory.ok()) return factory.status();
  return (**factory)(config, environment);
}

absl::StatusOr<std::unique_ptr<Parser>> Registry::MakeParser(
    const ComponentConfig& config, const Schema& schema) const {
  const auto factory = Find("format", config.type(), parsers_);
  if (!factory.ok()) return factory.status();
  return (**factory)(config, schema);
}

absl::StatusOr<std::unique_ptr<RowEncoder>> Registry::MakeEncoder(
    const ComponentConfig& config, FrameKind frames,
    const Schema& schema) const {
  const auto factory = Find("encoder", config.type(), encoders_);
  if (!factory.ok()) return factory.status();
  return (**factory)(config, frames, schema);
}

absl::StatusOr<std::unique_ptr<OutputTarget>> Registry::MakeSink(
    const ComponentConfig& config, const Environment& environment) const {
  const auto factory = Find("sink", config.type(), sinks_);
  if (!factory.ok()) return factory.status();
  return (**factory)(config, environment);
}

absl::StatusOr<std::unique_ptr<DeadLetterOutput>> Registry::MakeDeadLetter(
    const ComponentConfig& config, const DeadLetterOpen& open,
    const Environment& environment) const {
  const auto factory = Find("dead-letter output", config.type(), dead_letters_);
  if (!factory.ok()) return factory.status();
  return (**factory)(config, open, environment);
}

std::vector<std::string> Registry::source_names() const {
  return Names(sources_);
}

std::vector<std::string> Registry::format_names() const {
  return Names(parsers_);
}

std::vector<std::string> Registry::sink_names() const { return Names(sinks_); }

}  // namespace penstock::core
