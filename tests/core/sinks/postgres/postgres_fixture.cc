#include "tests/core/sinks/postgres/postgres_fixture.h"

#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/str_cat.h>

#include <utility>

namespace penstock::core {

absl::Time Soon() { return RealClock().SteadyNow() + absl::Seconds(30); }

SinkWriter::SinkWriter(std::unique_ptr<OutputTarget> target,
                       const OutputOpen& open)
    : target_(std::move(target)),
      opened_(target_->Open(open)),
      encoder_(opened_.ok() ? target_->MakeEncoder() : nullptr) {}

OutputEndpoint& SinkWriter::endpoint() {
  if (endpoint_ == nullptr) {
    auto made = target_->MakeEndpoint(0);
    CHECK_OK(made);
    endpoint_ = *std::move(made);
    CHECK_OK(endpoint_->Connect(
        [](bool, const absl::Status&, absl::string_view) {}));
  }
  return *endpoint_;
}

absl::Status SinkWriter::Encode(const Record& record) {
  FrameBuffer frame;
  RETURN_IF_ERROR(encoder_->Encode(record, frame));
  frames_.emplace_back(frame.view());
  return endpoint().PushBuffer(frames_.back());
}

absl::Status SinkWriter::BatchStart(StepRange steps) {
  return endpoint().BatchStart(
      {.steps = steps, .deadline = RealClock().SteadyNow() + deadline_});
}

absl::Status SinkWriter::Push(StepRange steps,
                              const std::vector<TestRow>& rows) {
  RETURN_IF_ERROR(BatchStart(steps));
  for (const TestRow& row : rows) {
    RETURN_IF_ERROR(Encode({.meta = {.op = row.op}, .row = row.values}));
  }
  return absl::OkStatus();
}

absl::Status SinkWriter::PushRecords(StepRange steps,
                                     const std::vector<std::string>& records) {
  RETURN_IF_ERROR(BatchStart(steps));
  for (const std::string& record : records) {
    RETURN_IF_ERROR(Encode({.value = record}));
  }
  return absl::OkStatus();
}

absl::Status SinkWriter::Write(StepRange steps,
                               const std::vector<TestRow>& rows) {
  RETURN_IF_ERROR(Push(steps, rows));
  return End();
}

void PostgresSinkTest::SetUp() {
  PENSTOCK_NEED_POSTGRES();
  conninfo_ = PostgresServer::Shared().MakeDatabase();
  connection_ = PostgresServer::Connect(conninfo_);
}

PostgresSinkConfig PostgresSinkTest::Config() const {
  PostgresSinkConfig config;
  config.url = conninfo_;
  config.table = "t";
  config.create_table = true;
  return config;
}

OutputOpen PostgresSinkTest::Open(uint64_t open_number, Schema schema) {
  return {.incarnation = "1234abcd",
          .pipeline = "p",
          .connector = "c",
          .writer = {.epoch = 1, .open_number = open_number},
          .first_open = open_number == 1,
          .level = FtModel::kExactlyOnce,
          .schema = std::move(schema)};
}

std::unique_ptr<SinkWriter> PostgresSinkTest::Start(
    const PostgresSinkConfig& config, const OutputOpen& open) {
  auto made = MakePostgresSink(
      config,
      {.files = files_, .io = io_, .clock = RealClock(), .paths = paths_});
  CHECK_OK(made);
  return std::make_unique<SinkWriter>(*std::move(made), open);
}

std::unique_ptr<SinkWriter> PostgresSinkTest::Start(Schema schema) {
  auto writer = Start(Config(), Open(1, std::move(schema)));
  CHECK_OK(writer->opened());
  return writer;
}

void PostgresSinkTest::Run(absl::string_view sql) {
  ASSERT_OK(connection_->Exec(sql, Soon()));
}

std::string PostgresSinkTest::Scalar(absl::string_view sql) {
  const auto result = connection_->Exec(sql, Soon());
  EXPECT_OK(result);
  if (!result.ok() || result->rows() == 0) return "(none)";
  if (result->IsNull(0, 0)) return "(null)";
  return std::string(result->Text(0, 0));
}

std::vector<std::string> PostgresSinkTest::Query(absl::string_view sql) {
  const auto result = connection_->Exec(sql, Soon());
  EXPECT_OK(result);
  std::vector<std::string> lines;
  for (size_t row = 0; result.ok() && row < result->rows(); ++row) {
    std::string line;
    for (size_t column = 0; column < result->columns(); ++column) {
      if (column > 0) line.push_back('|');
      absl::StrAppend(&line, result->IsNull(row, column)
                                 ? absl::string_view("(null)")
                                 : result->Text(row, column));
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

void PostgresSinkTest::AwaitTrue(absl::string_view sql) {
  const absl::Time deadline = Soon();
  while (RealClock().SteadyNow() < deadline) {
    if (Scalar(sql) == "t") return;
    Run("SELECT pg_sleep(0.01)");
  }
  FAIL() << "never true: " << sql;
}

}  // namespace penstock::core
