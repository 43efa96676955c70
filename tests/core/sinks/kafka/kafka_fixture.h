// One process's Kafka sink, for tests that need a cluster.
#pragma once

#include "core/base/path_policy.h"
#include "core/contract/output_target.h"
#include "core/sinks/kafka/config.h"
#include "core/sinks/kafka/kafka_sink.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/manual_executor.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/time/time.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace penstock::core {

struct TestMessage {
  std::optional<std::string> key;
  std::optional<std::string> value;
  std::vector<MessageHeader> headers = {};
};

// Threads: confined to the test's thread.
class KafkaProcess {
 public:
  KafkaProcess(const KafkaSinkConfig& config, const OutputOpen& open);
  KafkaProcess(const KafkaProcess&) = delete;
  KafkaProcess& operator=(const KafkaProcess&) = delete;
  ~KafkaProcess();

  const absl::StatusOr<std::vector<Step>>& opened() const { return opened_; }
  OutputEndpoint& endpoint(ShardIndex shard = 0);
  // The first error ends it. `time`: until the batch's deadline.
  absl::Status Write(StepRange steps, const std::vector<TestMessage>& messages,
                     absl::Duration time = absl::Minutes(1));
  absl::Status Probe(StepRange steps, const std::vector<TestMessage>& messages);
  // Lets the executor's own time pass, and what is due run.
  void Advance(absl::Duration time);

 private:
  absl::Status Push(StepRange steps, const std::vector<TestMessage>& messages,
                    absl::Duration time);

  FakeFileSystem files_;
  ManualExecutor io_;
  const PathPolicy paths_{{}};
  const std::unique_ptr<OutputTarget> target_;
  const absl::StatusOr<std::vector<Step>> opened_;
  std::map<ShardIndex, std::unique_ptr<OutputEndpoint>> endpoints_;
};

// Of topic `topic` at `bootstrap`, by shard.
KafkaSinkConfig KafkaTestConfig(const std::string& bootstrap,
                                const std::string& topic);
// Of connector "c" with one shard, in exactly-once; the first by writer (1, 1).
OutputOpen KafkaTestOpen(uint64_t open_number = 1);

}  // namespace penstock::core
