#include "tests/core/connector/harness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace penstock::core {

absl::Status LineEncoder::Encode(const Record& record, FrameBuffer& out) {
  const absl::string_view text = record.value.value_or("");
  if (absl::StrContains(text, "unencodable")) {
    // Leaves a partial row, as an encoder may.
    out.Append(text.substr(0, 1));
    return MakeError(Reason::INVALID_REQUEST, "encoding a line: unencodable");
  }
  out.Append(text);
  out.PushBack('\n');
  return absl::OkStatus();
}

class Harness::Observer final : public ConnectorObserver {
 public:
  explicit Observer(std::shared_ptr<ObservedEvents> events)
      : events_(std::move(events)) {}
  void OnChanged() override {
    ++events_->changes;
    if (events_->on_changed) events_->on_changed();
  }
  void OnState(const std::string& instance, ConnectorState previous,
               ConnectorState state) override {
    events_->states.push_back(absl::StrCat(instance, " ", StateName(previous),
                                           " ", StateName(state)));
  }
  void OnError(const ErrorEntry& error) override {
    events_->errors.push_back(error);
  }
  void OnParseErrors(const std::vector<ParseError>& errors) override {
    events_->parse_errors.insert(events_->parse_errors.end(), errors.begin(),
                                 errors.end());
  }
  void OnTransaction(bool started, std::optional<std::string> label) override {
    events_->transactions.push_back(
        started ? absl::StrCat("start ", label.value_or("")) : "commit");
  }

 private:
  // Shared by: the test, which reads it.
  const std::shared_ptr<ObservedEvents> events_;
};

Harness::Harness(FakeSource::Options source_options,
                 FakeTarget::Options target_options)
    : source(source_options), paths_({}), target_options_(target_options) {
  registry.RegisterSource(
      "source",
      [this](const ComponentConfig&, const Environment&)
          -> absl::StatusOr<std::unique_ptr<InputEndpoint>> {
        return source.MakeEndpoint();
      });
  registry.RegisterEncoder(
      "line",
      [this](const ComponentConfig&, FrameKind frames, const Schema& schema)
          -> absl::StatusOr<std::unique_ptr<RowEncoder>> {
        frames_asked = frames;
        schema_asked = schema;
        return std::make_unique<LineEncoder>();
      });
  registry.RegisterSink("sink",
                        [this](const ComponentConfig&, const Environment&)
                            -> absl::StatusOr<std::unique_ptr<OutputTarget>> {
                          return std::make_unique<FakeTarget>(database,
                                                              target_options_);
                        });
  request.fence.pipeline = "pipeline";
  request.incarnation = "incarnation";
  request.first_open = true;
  request.spec.name = "connector";
  request.spec.source = std::make_shared<NamedConfig>("source");
  request.spec.encoder = std::make_shared<NamedConfig>("line");
  request.spec.sink = std::make_shared<NamedConfig>("sink");
  request.spec.shards = 2;
  request.spec.level = FtModel::kExactlyOnce;
}

Answer<OpenReply> Harness::Open() {
  const Answer<OpenReply> answer = StartOpen();
  RunUntilIdle();
  return answer;
}

void Harness::Make() {
  ++request.writer.open_number;
  connector = Connector::Create(
      ConnectorRuntime{.executor = executor,
                       .io = executor,
                       .environment = {.files = files_,
                                       .io = executor,
                                       .clock = executor.clock(),
                                       .paths = paths_},
                       .registry = registry,
                       .random_seed = request.writer.open_number,
                       .timings = timings},
      request, std::make_unique<Observer>(events));
}

Answer<OpenReply> Harness::StartOpen() {
  Make();
  Answer<OpenReply> answer;
  connector->Open(answer.Callback());
  return answer;
}

OpenReply Harness::MustOpen() {
  const Answer<OpenReply> answer = Open();
  EXPECT_OK(answer.status());
  request.first_open = false;
  return answer.status().ok() ? *answer : OpenReply();
}

void Harness::MustExtend() { EXPECT_OK(Extend().status()); }
void Harness::MustPause() { EXPECT_OK(Pause().status()); }

DisconnectReply Harness::MustClose() {
  const Answer<DisconnectReply> answer = Disconnect();
  EXPECT_OK(answer.status());
  connector.reset();
  return answer.status().ok() ? *answer : DisconnectReply();
}

Answer<Nothing> Harness::Extend() {
  Answer<Nothing> answer;
  connector->Extend(answer.Callback());
  RunUntilIdle();
  return answer;
}

Answer<Nothing> Harness::Pause() {
  Answer<Nothing> answer;
  connector->Pause(answer.Callback());
  RunUntilIdle();
  return answer;
}

QueueRequest Harness::RequestOf(Step step, absl::Duration wait) const {
  QueueRequest queue;
  queue.step = step;
  queue.previous_steps = made_steps();
  queue.wait = wait;
  return queue;
}

Answer<QueueReply> Harness::Queue(QueueRequest queue) {
  Answer<QueueReply> answer;
  connector->Queue(queue, answer.Callback());
  RunUntilIdle();
  return answer;
}

Answer<QueueReply> Harness::QueueStep(Step step) {
  return QueueStep(step, absl::ZeroDuration());
}

Answer<QueueReply> Harness::QueueStep(Step step, absl::Duration wait) {
  return Queue(RequestOf(step, wait));
}

Answer<ReplayReply> Harness::Replay(const StepResult& result,
                                    Step previous_steps) {
  Answer<ReplayReply> answer;
  connector->Replay({.result = result, .previous_steps = previous_steps},
                    answer.Callback());
  RunUntilIdle();
  return answer;
}

Answer<Nothing> Harness::Release(Step released_steps) {
  Answer<Nothing> answer;
  connector->Release(released_steps, answer.Callback());
  RunUntilIdle();
  return answer;
}

Answer<PrepareCheckpointReply> Harness::Prepare(Step steps,
                                                absl::Duration deadline) {
  Answer<PrepareCheckpointReply> answer;
  connector->PrepareCheckpoint({.steps = steps, .deadline = deadline},
                               answer.Callback());
  RunUntilIdle();
  return answer;
}

Answer<Nothing> Harness::Commit(Step steps) {
  Answer<Nothing> answer;
  connector->CommitCheckpoint({.steps = steps}, answer.Callback());
  RunUntilIdle();
  return answer;
}

Answer<DisconnectReply> Harness::Disconnect(absl::Duration deadline) {
  Answer<DisconnectReply> answer;
  connector->Disconnect({.deadline = deadline}, answer.Callback());
  RunUntilIdle();
  return answer;
}

Answer<Nothing> Harness::Drain(DrainScope scope) {
  Answer<Nothing> answer;
  connector->Drain(scope, answer.Callback());
  RunUntilIdle();
  return answer;
}

std::shared_ptr<const StepResult> Harness::MustQueue(Step step) {
  return MustQueue(RequestOf(step, absl::ZeroDuration()));
}

std::shared_ptr<const StepResult> Harness::MustQueue(QueueRequest queue) {
  const Answer<QueueReply> answer = Queue(queue);
  EXPECT_OK(answer.status());
  if (!answer.status().ok()) return nullptr;
  EXPECT_NE(answer->result, nullptr) << "no step was made";
  return answer->result;
}

void Harness::Unreachable(std::optional<ShardIndex> shard) {
  database.SetHook([shard](const FakeDatabase::Call& call)
                       -> std::optional<FakeDatabase::Fault> {
    if (call.operation != FakeDatabase::Operation::kBatchEnd ||
        (shard.has_value() && call.shard != *shard)) {
      return std::nullopt;
    }
    return FakeDatabase::Fault{
        .status = MakeError(Reason::UNAVAILABLE, "the sink is away")};
  });
}

std::string Harness::table() const {
  return FakeDatabase::TableName(request.fence.pipeline, request.spec.name);
}

std::vector<std::string> Harness::Lines() const {
  std::vector<std::string> lines;
  for (ShardIndex shard = 0; shard < request.spec.shards; ++shard) {
    for (std::string& line : database.Lines(table(), shard)) {
      lines.push_back(std::move(line));
    }
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

}  // namespace penstock::core
