#include "tests/integration/caller.h"

#include "client/pipeline_file.h"
#include "core/base/check.h"

#include <absl/strings/str_cat.h>

namespace penstock {
namespace {

// Waits for the status of one command.
template <typename Start>
absl::Status Await(Start start) {
  core::Notification done;
  absl::Status answer;
  start([&](absl::Status status) {
    answer = std::move(status);
    done.Notify();
  });
  done.WaitForNotification();
  return answer;
}

core::ConnectorSpec ParseSpec(const std::string& connector) {
  auto pipeline = client::ParsePipelineFile(
      absl::StrCat("name: any\nconnectors:\n", connector), "test.yaml");
  CHECK(pipeline.ok()) << std::string(pipeline.status().message());
  return std::move(pipeline->connectors[0]);
}

}  // namespace

core::ConnectorSpec LinesSpec(absl::string_view name, absl::string_view source,
                              absl::string_view sink, uint32_t shards) {
  return ParseSpec(absl::StrCat(
      "- name: ", name, "\n  source: {file: {path: '", source,
      "'}}\n  format: {raw: {}}\n  shards: ", shards,
      "\n  limits: {step_linger: 10ms, block_bytes: 4KiB}\n",
      sink.empty() ? "  sink: {'null': {}}\n"
                   : absl::StrCat("  sink: {file: {path: '", sink, "'}}\n")));
}

core::ConnectorSpec FollowedLinesSpec(absl::string_view name,
                                      absl::string_view source) {
  return ParseSpec(absl::StrCat("- name: ", name, "\n  source: {file: {path: '",
                                source, "', follow: true}}\n",
                                "  format: {raw: {}}\n",
                                "  sink: {'null': {}}\n"));
}

core::ConnectorSpec NdjsonSpec(absl::string_view name,
                               absl::string_view source) {
  return ParseSpec(absl::StrCat("- name: ", name, "\n  source: {file: {path: '",
                                source, "'}}\n  format: {ndjson: {}}\n",
                                "  sink: {'null': {}}\n"));
}

Caller::Caller(core::Control& control, std::string pipeline, uint64_t epoch,
               std::string nonce)
    : control_(control) {
  fence = {.pipeline = std::move(pipeline),
           .controller_id = "a test",
           .epoch = epoch,
           .nonce = std::move(nonce)};
  open.incarnation = "incarnation-of-a-test";
  open.first_open = true;
  open.writer.epoch = epoch;
}

core::CommandHeader Caller::Header() {
  return {.fence = fence,
          .ref = ref,
          .released_steps = std::nullopt,
          .request_id = absl::StrCat(fence.nonce, "-", ++requests_)};
}

absl::StatusOr<core::OpenReply> Caller::Open(core::ConnectorSpec spec) {
  ref.connector = spec.name;
  open.fence = fence;
  open.request_id = absl::StrCat(fence.nonce, "-open-", ++requests_);
  open.writer.epoch = fence.epoch;
  ++open.writer.open_number;
  open.spec = std::move(spec);
  Pending<core::OpenReply> reply;
  control_.Open(open, reply.Callback());
  absl::StatusOr<core::OpenReply> opened = reply.Get();
  if (opened.ok()) ref.instance = opened->instance;
  return opened;
}

absl::Status Caller::Extend() {
  return Await([&](auto done) { control_.Extend(Header(), std::move(done)); });
}

absl::Status Caller::Pause() {
  return Await([&](auto done) { control_.Pause(Header(), std::move(done)); });
}

absl::Status Caller::Release(core::Step released_steps) {
  core::CommandHeader header = Header();
  header.released_steps = released_steps;
  return Await([&](auto done) { control_.Release(header, std::move(done)); });
}

Pending<core::QueueReply> Caller::StartQueue(core::QueueRequest request) {
  Pending<core::QueueReply> reply;
  control_.Queue(Header(), std::move(request), reply.Callback());
  return reply;
}

absl::StatusOr<core::QueueReply> Caller::Queue(core::Step step,
                                               core::Step previous_steps,
                                               absl::Duration wait) {
  core::QueueRequest request;
  request.step = step;
  request.previous_steps = previous_steps;
  request.wait = wait;
  return StartQueue(std::move(request)).Get();
}

Pending<core::ReplayReply> Caller::StartReplay(core::StepResult result,
                                               core::Step previous_steps) {
  Pending<core::ReplayReply> reply;
  control_.Replay(
      Header(), {.result = std::move(result), .previous_steps = previous_steps},
      reply.Callback());
  return reply;
}

absl::StatusOr<core::ReplayReply> Caller::Replay(core::StepResult result,
                                                 core::Step previous_steps) {
  return StartReplay(std::move(result), previous_steps).Get();
}

absl::StatusOr<core::PrepareCheckpointReply> Caller::Prepare(core::Step steps) {
  Pending<core::PrepareCheckpointReply> reply;
  control_.PrepareCheckpoint(Header(),
                             {.steps = steps, .deadline = absl::Seconds(10)},
                             reply.Callback());
  return reply.Get();
}

absl::Status Caller::Commit(core::Step steps) {
  return Await([&](auto done) {
    control_.CommitCheckpoint(Header(), {.steps = steps}, std::move(done));
  });
}

absl::StatusOr<core::DisconnectReply> Caller::Disconnect() {
  Pending<core::DisconnectReply> reply;
  control_.Disconnect(Header(), {}, reply.Callback());
  return reply.Get();
}

absl::StatusOr<core::DisconnectReply> Caller::Delete() {
  Pending<core::DisconnectReply> reply;
  control_.Delete(Header(), {}, reply.Callback());
  return reply.Get();
}

absl::StatusOr<core::ConnectorStatus> Caller::Get() {
  Pending<core::ConnectorStatus> reply;
  control_.Get(ref.connector, reply.Callback());
  return reply.Get();
}

core::ConnectorState Caller::State() {
  const absl::StatusOr<core::ConnectorStatus> status = Get();
  return status.ok() ? status->state : core::ConnectorState::kClosed;
}

}  // namespace penstock
