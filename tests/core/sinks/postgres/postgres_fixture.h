// A database of its own for each test, and a sink over it.
#pragma once

#include "core/base/clock.h"
#include "core/base/path_policy.h"
#include "core/contract/row_encoder.h"
#include "core/record/value.h"
#include "core/sinks/postgres/postgres_sink.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/manual_executor.h"
#include "tests/support/postgres_server.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace penstock::core {

absl::Time Soon();

// A row to be written: values, and what it does.
struct TestRow {
  std::vector<Value> values;
  Op op = Op::kInsert;
};

// One open of a sink with one shard, driven as a shard worker would.
// Threads: confined to one at a time.
class SinkWriter {
 public:
  SinkWriter(std::unique_ptr<OutputTarget> target, const OutputOpen& open);

  const absl::StatusOr<std::vector<Step>>& opened() const { return opened_; }
  // Of each batch from now on.
  void set_deadline(absl::Duration deadline) { deadline_ = deadline; }
  OutputEndpoint& endpoint();

  // BatchStart and the rows; the encoder's error, if it refuses one.
  absl::Status Push(StepRange steps, const std::vector<TestRow>& rows);
  // Records as they came, where there is no schema.
  absl::Status PushRecords(StepRange steps,
                           const std::vector<std::string>& records);
  absl::Status End() { return endpoint().BatchEnd(); }
  absl::Status Write(StepRange steps, const std::vector<TestRow>& rows);

 private:
  absl::Status BatchStart(StepRange steps);
  absl::Status Encode(const Record& record);

  const std::unique_ptr<OutputTarget> target_;
  const absl::StatusOr<std::vector<Step>> opened_;
  const std::unique_ptr<RowEncoder> encoder_;
  std::unique_ptr<OutputEndpoint> endpoint_;
  std::deque<std::string> frames_;
  absl::Duration deadline_ = absl::InfiniteDuration();
};

class PostgresSinkTest : public testing::Test {
 protected:
  void SetUp() override;

  // To table "t", by default.
  PostgresSinkConfig Config() const;
  // Exactly-once, by writer (1, open_number), the first time with 1.
  static OutputOpen Open(uint64_t open_number, Schema schema);
  std::unique_ptr<SinkWriter> Start(const PostgresSinkConfig& config,
                                    const OutputOpen& open);
  // Both at once, of which Open is to succeed.
  std::unique_ptr<SinkWriter> Start(Schema schema);

  void Run(absl::string_view sql);
  // The first value of the first row; of none "(none)", of null "(null)".
  std::string Scalar(absl::string_view sql);
  // Lines of values with a bar between.
  std::vector<std::string> Query(absl::string_view sql);
  // Waits until that gives true; the server does the waiting.
  void AwaitTrue(absl::string_view sql);

  std::string conninfo_;
  std::unique_ptr<PgConnection> connection_;
  FakeFileSystem files_;
  ManualExecutor io_;
  const PathPolicy paths_{{}};
};

}  // namespace penstock::core
