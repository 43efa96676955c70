#include "core/connector/opening.h"

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "core/connector/backpressure.h"
#include "core/contract/endpoint.h"
#include "core/handoff/chunk.h"
#include "core/handoff/refused_rows.h"
#include "core/record/schema.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/string_view.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

absl::Status Missing(absl::string_view field) {
  return MakeError(Reason::INVALID_CONFIG,
                   absl::StrCat("opening a connector: ", field, " is missing"),
                   {{"field", std::string(field)}});
}

absl::StatusOr<RouteKind> RouteOf(const ComponentConfig* config) {
  if (config == nullptr || config->type() == "key_hash") {
    return RouteKind::kKeyHash;
  }
  if (config->type() == "partition") return RouteKind::kPartition;
  return MakeError(
      Reason::INVALID_CONFIG,
      absl::StrCat("opening a connector: no route of type \"", config->type(),
                   "\"; known are: key_hash, partition"),
      {{"field", "route"}});
}

absl::Status CheckSpec(const ConnectorSpec& spec) {
  if (spec.name.empty()) return Missing("name");
  if (spec.sink == nullptr) return Missing("sink");
  if (spec.encoder == nullptr && spec.format == nullptr) {
    return Missing("format");
  }
  return absl::OkStatus();
}

absl::Status CheckSteps(const OpenRequest& request) {
  if (request.journaled_steps != 0 &&
      request.journaled_steps < request.base_steps) {
    return MakeError(Reason::INVALID_REQUEST,
                     absl::StrCat("opening a connector: journaled_steps ",
                                  request.journaled_steps,
                                  " is below base_steps ", request.base_steps));
  }
  return absl::OkStatus();
}

// Before each step that may block.
absl::Status CheckWanted(const OpeningContext& context) {
  if (!context.is_decided->load(std::memory_order_acquire)) {
    return absl::OkStatus();
  }
  return GivenUp();
}

absl::Status ConnectWriter(ShardIndex shard, SinkParts& parts) {
  ASSIGN_OR_RETURN(std::unique_ptr<OutputEndpoint> endpoint,
                   parts.target->MakeEndpoint(shard),
                   _ << "while opening shard " << shard);
  SinkEvents* const events = parts.events.get();
  RETURN_IF_ERROR(endpoint->Connect(
      [events, shard](bool fatal, absl::Status error, absl::string_view tag) {
        events->OnEndpointError(shard, fatal, std::move(error), tag);
      }))
  << "while connecting shard " << shard;
  parts.endpoints[shard].push_back(std::move(endpoint));
  return absl::OkStatus();
}

// How many writers each shard has.
absl::StatusOr<uint32_t> WritersOf(const DeliveryOptions& delivery,
                                   const OpenedConnector& opened) {
  const bool exactly_once = opened.level == FtModel::kExactlyOnce;
  const uint32_t most = exactly_once ? 1 : opened.sink->target->WritersMax();
  const uint32_t asked = delivery.writes_in_flight_max.value_or(most);
  if (asked <= most) return asked;
  return MakeError(
      Reason::INVALID_CONFIG,
      absl::StrCat("opening the sink: delivery.writes_in_flight_max is ", asked,
                   ", but ", exactly_once ? "in exactly-once" : "of this sink",
                   " a shard has at most ", most,
                   " at a time; lower it, or leave it out"),
      {{"field", "delivery.writes_in_flight_max"}});
}

// Opens the target and its endpoints; the parts are closed by the caller.
absl::Status OpenSink(const OpeningContext& context, OpenedConnector& opened) {
  const OpenRequest& request = context.request;
  SinkParts& parts = *opened.sink;
  const OutputOpen open = {.incarnation = request.incarnation,
                           .pipeline = request.fence.pipeline,
                           .connector = request.spec.name,
                           .writer = request.writer,
                           .base_steps = request.base_steps,
                           .first_open = request.first_open,
                           .shards = request.spec.shards,
                           .level = opened.level,
                           .schema = request.spec.schema};
  ASSIGN_OR_RETURN(opened.progress, parts.target->Open(open),
                   _ << "while opening the sink");
  opened.sink_is_open = true;
  std::unique_ptr<RowEncoder> encoder = parts.target->MakeEncoder();
  if (encoder != nullptr) opened.encoder = std::move(encoder);
  if (opened.level == FtModel::kExactlyOnce) {
    RETURN_IF_ERROR(
        CheckProgress(opened.progress, request.spec.shards, request.base_steps,
                      std::max(request.journaled_steps, request.base_steps)));
  } else {
    opened.progress.clear();
  }
  parts.events = std::make_unique<SinkEvents>(opened.progress, context.waker);
  ASSIGN_OR_RETURN(const uint32_t writers,
                   WritersOf(request.spec.delivery, opened));
  for (ShardIndex shard = 0; shard < request.spec.shards; ++shard) {
    parts.endpoints.emplace_back();
    for (uint32_t writer = 0; writer < writers; ++writer) {
      RETURN_IF_ERROR(CheckWanted(context));
      RETURN_IF_ERROR(ConnectWriter(shard, parts));
    }
  }
  return absl::OkStatus();
}

// What becomes of rows that the sink refuses.
absl::Status OpenDeadLetters(const OpeningContext& context,
                             OpenedConnector& opened) {
  const OpenRequest& request = context.request;
  const ConnectorSpec& spec = request.spec;
  SinkParts& parts = *opened.sink;
  parts.refused_rows = std::make_unique<RefusedRows>(spec.refused_rows);
  if (spec.dead_letter == nullptr) return absl::OkStatus();
  for (ShardIndex shard = 0; shard < spec.shards; ++shard) {
    ASSIGN_OR_RETURN(std::unique_ptr<DeadLetterOutput> output,
                     context.runtime.registry.MakeDeadLetter(
                         *spec.dead_letter,
                         {.incarnation = request.incarnation,
                          .connector = spec.name,
                          .writer = request.writer,
                          .shard = shard,
                          .level = opened.level},
                         context.runtime.environment));
    parts.dead_letters.push_back(std::move(output));
  }
  return absl::OkStatus();
}

absl::Status OpenSource(const OpeningContext& context,
                        std::unique_ptr<Parser> parser,
                        OpenedConnector& opened) {
  Consumer::Options options;
  options.level = opened.level;
  options.queued_bytes_max = opened.limits.queued_bytes_max;
  options.estimator = opened.encoder->Clone();
  if (opened.sink->target->TellsRowsApart()) {
    options.row_table_bytes = sizeof(RowPosition);
  }
  const ConnectorSpec& spec = context.request.spec;
  options.nested = NestedSizer(spec.schema);
  options.keeps_bad_records = spec.dead_letter != nullptr &&
                              spec.on_parse_error == BadRecordPolicy::kSkip;
  options.budget = opened.budget;
  options.waker = context.waker;
  options.completed = context.completed;
  // Only level none is left out of checkpoints.
  if (opened.level.has_value() && context.request.checkpointing) {
    options.checkpointed = context.checkpointed;
  }
  options.on_changed = context.on_changed;
  opened.consumer = std::make_shared<Consumer>(
      std::move(options), context.runtime.executor.clock());
  const Schema& schema = context.request.spec.schema;
  absl::StatusOr<OpenedInput> input =
      MakeError(Reason::INTERNAL, "opening the source: it is of no known kind");
  if (auto* transport =
          dynamic_cast<TransportInputEndpoint*>(opened.source.get())) {
    if (parser == nullptr) return Missing("format");
    input = transport->Open(*opened.consumer, std::move(parser), schema,
                            context.request.position);
  } else if (auto* integrated =
                 dynamic_cast<IntegratedInputEndpoint*>(opened.source.get())) {
    input =
        integrated->Open(*opened.consumer, schema, context.request.position);
  }
  if (!input.ok()) {
    return WithContext(input.status(), "while opening the source");
  }
  opened.reader = std::move(input->reader);
  opened.position = std::move(input->position);
  return absl::OkStatus();
}

}  // namespace

absl::Status GivenUp() {
  return MakeError(Reason::CANCELLED,
                   "opening a connector: it was disconnected");
}

absl::StatusOr<std::optional<FtModel>> DecideLevel(
    std::optional<FtModel> asked, bool allow_lower, bool has_source,
    std::optional<FtModel> source, std::optional<FtModel> sink) {
  const std::optional<FtModel> possible =
      has_source ? std::min(source, sink) : sink;
  if (asked <= possible) return asked;
  if (allow_lower) return possible;
  const bool source_is_short = has_source && source < asked;
  const bool sink_is_short = sink < asked;
  const absl::string_view who = source_is_short && sink_is_short
                                    ? "source and sink"
                                : source_is_short ? "the source"
                                                  : "the sink";
  return MakeError(
      Reason::LEVEL_REFUSED,
      absl::StrCat("opening a connector: ", who, " cannot give level ",
                   LevelName(asked), ", only ", LevelName(possible),
                   "; ask for that, or set allow_lower"),
      {{"asked", std::string(LevelName(asked))},
       {"source", has_source ? std::string(LevelName(source)) : "absent"},
       {"sink", std::string(LevelName(sink))}});
}

absl::Status CheckProgress(const std::vector<Step>& progress, uint32_t shards,
                           Step base_steps, Step journaled_steps) {
  if (progress.size() != shards) {
    return MakeError(Reason::PROGRESS_LOST,
                     absl::StrCat("opening the sink: it holds the progress of ",
                                  progress.size(), " shards, not of ", shards),
                     {{"shards", absl::StrCat(shards)},
                      {"found", absl::StrCat(progress.size())}});
  }
  for (ShardIndex shard = 0; shard < shards; ++shard) {
    const Step found = progress[shard];
    if (found >= base_steps && found <= journaled_steps) continue;
    const bool behind = found < base_steps;
    return MakeError(
        behind ? Reason::PROGRESS_BEHIND : Reason::PROGRESS_AHEAD,
        absl::StrCat("opening the sink: shard ", shard, " holds the steps ",
                     "below ", found,
                     behind ? ", but the checkpoint has those below "
                            : ", but the journal has only those below ",
                     behind ? base_steps : journaled_steps),
        {{"shard", absl::StrCat(shard)},
         {"progress", absl::StrCat(found)},
         {"base_steps", absl::StrCat(base_steps)},
         {"journaled_steps", absl::StrCat(journaled_steps)}});
  }
  return absl::OkStatus();
}

void CloseUnused(std::unique_ptr<OpenedConnector> opened) {
  if (opened == nullptr) return;
  if (opened->reader != nullptr) {
    opened->reader->Request(DisconnectCommand{});
    opened->reader.reset();
  }
  if (!opened->sink_is_open) return;
  const absl::Status closed = opened->sink->Close();
  if (!closed.ok()) LOG(WARNING) << "closing an unused sink: " << closed;
}

absl::StatusOr<ConnectorParts> MakeParts(const ConnectorSpec& spec,
                                         const Registry& registry,
                                         const Environment& environment) {
  RETURN_IF_ERROR(CheckSpec(spec));
  RETURN_IF_ERROR(CheckDelivery(spec.delivery));
  ConnectorParts parts;
  ASSIGN_OR_RETURN(parts.limits, ResolveLimits(spec.limits, spec.shards));
  ASSIGN_OR_RETURN(parts.route, RouteOf(spec.route.get()));
  if (spec.source != nullptr) {
    ASSIGN_OR_RETURN(parts.source,
                     registry.MakeSource(*spec.source, environment));
    if (spec.format != nullptr) {
      ASSIGN_OR_RETURN(parts.parser,
                       registry.MakeParser(*spec.format, spec.schema));
    }
  }
  ASSIGN_OR_RETURN(parts.target, registry.MakeSink(*spec.sink, environment));
  const ComponentConfig& encoder =
      spec.encoder != nullptr ? *spec.encoder : *spec.format;
  ASSIGN_OR_RETURN(
      parts.encoder,
      registry.MakeEncoder(encoder, parts.target->Frames(), spec.schema));
  ASSIGN_OR_RETURN(
      parts.level,
      DecideLevel(spec.level, spec.allow_lower, parts.source != nullptr,
                  parts.source != nullptr ? parts.source->FaultTolerance()
                                          : std::nullopt,
                  parts.target->FaultTolerance()));
  return parts;
}

absl::StatusOr<std::unique_ptr<OpenedConnector>> OpenConnector(
    const OpeningContext& context) {
  RETURN_IF_ERROR(CheckSteps(context.request));
  ASSIGN_OR_RETURN(ConnectorParts parts,
                   MakeParts(context.request.spec, context.runtime.registry,
                             context.runtime.environment));
  auto opened = std::make_unique<OpenedConnector>();
  opened->limits = parts.limits;
  opened->level = parts.level;
  opened->route = parts.route;
  opened->source = std::move(parts.source);
  opened->encoder = std::move(parts.encoder);
  opened->budget = std::make_shared<InflightBudget>(
      InflightBudget::Options{.limit = opened->limits.inflight_bytes_max,
                              .high = opened->limits.inflight_high,
                              .low = opened->limits.inflight_low},
      context.runtime.executor.clock());
  opened->sink = std::make_shared<SinkParts>();
  opened->sink->target = std::move(parts.target);

  absl::Status status = CheckWanted(context);
  if (status.ok()) status = OpenSink(context, *opened);
  if (status.ok()) status = OpenDeadLetters(context, *opened);
  if (status.ok()) status = CheckWanted(context);
  if (status.ok() && opened->source != nullptr) {
    status = OpenSource(context, std::move(parts.parser), *opened);
  }
  if (!status.ok()) {
    CloseUnused(std::move(opened));
    return status;
  }
  return opened;
}

}  // namespace penstock::core
