#include "tests/support/fake_source.h"

#include "core/base/check.h"
#include "tests/support/fake_source_reader.h"

#include <absl/status/statusor.h>
#include <absl/strings/str_cat.h>

#include <memory>
#include <utility>

namespace penstock::core {

// The InputReader that a connector owns: dropping it closes the shared one.
class FakeSource::Endpoint final : public IntegratedInputEndpoint {
 public:
  explicit Endpoint(FakeSource& source) : source_(source) {}

  std::optional<FtModel> FaultTolerance() const override {
    return source_.options_.level;
  }

  absl::StatusOr<OpenedInput> Open(
      InputConsumer& consumer, const Schema& schema,
      std::optional<std::string> resume_info) override {
    auto reader = std::make_shared<Reader>(source_, consumer);
    if (resume_info.has_value()) {
      absl::Status status = reader->Seek(*resume_info);
      if (!status.ok()) return status;
    }
    OpenedInput opened;
    opened.position = reader->Position();
    {
      MutexLock lock(source_.mu_);
      CHECK(source_.reader_.expired()) << "one reader at a time";
      source_.reader_ = reader;
      ++source_.readers_made_;
      source_.schema_ = schema;
    }
    opened.reader = std::make_unique<Owner>(source_, std::move(reader));
    return opened;
  }

 private:
  class Owner final : public InputReader {
   public:
    Owner(FakeSource& source, std::shared_ptr<Reader> reader)
        : source_(source), reader_(std::move(reader)) {}
    Owner(const Owner&) = delete;
    Owner& operator=(const Owner&) = delete;
    // Nobody may call the consumer once this returned.
    ~Owner() override {
      reader_->Close();
      MutexLock lock(source_.mu_);
      source_.reader_.reset();
    }
    void Request(InputReaderCommand command) override {
      reader_->Request(std::move(command));
    }
    bool IsClosed() const override { return reader_->IsClosed(); }

   private:
    FakeSource& source_;
    // Shared by: this and the test that acts for the reader's thread.
    const std::shared_ptr<Reader> reader_;
  };

  FakeSource& source_;
};

FakeSource::FakeSource(Options options)
    : options_(options), partitions_(options.partitions) {}

FakeSource::~FakeSource() = default;

std::unique_ptr<InputEndpoint> FakeSource::MakeEndpoint() {
  return std::make_unique<Endpoint>(*this);
}

void FakeSource::Append(uint32_t partition,
                        const std::vector<std::string>& records) {
  {
    MutexLock lock(mu_);
    auto& to = partitions_[partition];
    to.insert(to.end(), records.begin(), records.end());
  }
  if (options_.reads_itself && has_reader()) Read();
}

void FakeSource::AppendNumbered(absl::string_view prefix, size_t count,
                                size_t first) {
  {
    MutexLock lock(mu_);
    for (size_t number = first; number < first + count; ++number) {
      partitions_[number % partitions_.size()].push_back(
          absl::StrCat(prefix, number, ":", number));
    }
  }
  if (options_.reads_itself && has_reader()) Read();
}

void FakeSource::Overwrite(uint32_t partition, size_t offset,
                           std::string record) {
  MutexLock lock(mu_);
  partitions_[partition].at(offset) = std::move(record);
}

void FakeSource::Truncate(uint32_t partition, size_t records) {
  MutexLock lock(mu_);
  partitions_[partition].resize(records);
}

void FakeSource::End() {
  {
    MutexLock lock(mu_);
    ended_ = true;
  }
  if (options_.reads_itself && has_reader()) Read();
}

std::shared_ptr<FakeSource::Reader> FakeSource::reader() const {
  MutexLock lock(mu_);
  return reader_.lock();
}

bool FakeSource::has_reader() const { return reader() != nullptr; }

size_t FakeSource::Read(size_t buffers) {
  const std::shared_ptr<Reader> now = reader();
  return now == nullptr ? 0 : now->Read(buffers);
}
void FakeSource::StageNothing() { reader()->StageNothing(); }
void FakeSource::AnswerHeld() { reader()->AnswerHeld(); }
void FakeSource::StartTransaction(std::string label) {
  reader()->StartTransaction(std::move(label));
}
void FakeSource::CommitTransaction() { reader()->CommitTransaction(); }
void FakeSource::RequestStep() { reader()->consumer().RequestStep(); }
void FakeSource::ReportParseErrors(std::vector<ParseError> errors) {
  reader()->consumer().ParseErrors(std::move(errors));
}
void FakeSource::ReportError(bool fatal, absl::Status error,
                             absl::string_view tag) {
  reader()->consumer().Error(fatal, std::move(error), tag);
}
void FakeSource::UpdateHealth(ConnectorHealth health) {
  reader()->consumer().UpdateConnectorHealth(std::move(health));
}
void FakeSource::Die() { reader()->Die(); }
void FakeSource::SetBarrier(bool barrier) { reader()->SetBarrier(barrier); }
void FakeSource::GiveChanges() { reader()->GiveChanges(); }
void FakeSource::LieAboutAmount() { reader()->LieAboutAmount(); }

std::vector<std::string> FakeSource::commands() const {
  MutexLock lock(mu_);
  return commands_;
}

std::vector<uint64_t> FakeSource::acknowledged() const {
  MutexLock lock(mu_);
  return acknowledged_;
}

BufferSize FakeSource::staged() const { return reader()->staged(); }

size_t FakeSource::records_read() const {
  MutexLock lock(mu_);
  return records_read_;
}

size_t FakeSource::readers_made() const {
  MutexLock lock(mu_);
  return readers_made_;
}

Schema FakeSource::schema() const {
  MutexLock lock(mu_);
  return schema_;
}

std::optional<std::string> FakeSource::RecordAt(uint32_t partition,
                                                size_t offset) const {
  MutexLock lock(mu_);
  const auto& records = partitions_[partition];
  if (offset >= records.size()) return std::nullopt;
  return records[offset];
}

size_t FakeSource::PartitionSize(uint32_t partition) const {
  MutexLock lock(mu_);
  return partitions_[partition].size();
}

bool FakeSource::has_ended() const {
  MutexLock lock(mu_);
  return ended_;
}

void FakeSource::NoteCommand(std::string name) {
  MutexLock lock(mu_);
  commands_.push_back(std::move(name));
}

void FakeSource::NoteAcknowledged(uint64_t count) {
  MutexLock lock(mu_);
  acknowledged_.push_back(count);
}

void FakeSource::NoteRead(size_t records) {
  MutexLock lock(mu_);
  records_read_ += records;
}

}  // namespace penstock::core
