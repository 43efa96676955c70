#include "core/connector/source_probe.h"

#include "core/base/error.h"
#include "core/base/mutex.h"
#include "core/contract/consumer.h"
#include "core/contract/count_watch.h"
#include "core/contract/reader.h"

#include <absl/base/thread_annotations.h>
#include <absl/status/status.h>
#include <absl/strings/str_cat.h>

#include <functional>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

// Hears what the reader says; the first thing that decides is the outcome.
// Threads: thread-safe. Calls `decided` once, which only schedules.
class ProbeConsumer final : public InputConsumer {
 public:
  ProbeConsumer(std::optional<FtModel> level, std::function<void()> decided)
      : level_(level), decided_(std::move(decided)) {}

  uint64_t MaxBatchSize() const override { return 1; }
  uint64_t MaxBatchBytes() const override { return 1; }
  uint64_t MaxQueuedBytes() const override { return 1; }
  std::optional<FtModel> PipelineFaultTolerance() const override {
    return level_;
  }
  void ParseErrors(std::vector<ParseError> errors) override {
    if (errors.empty()) return;
    const ParseError& error = errors.front();
    Remember(MakeError(
        Reason::MALFORMED_FRAME,
        absl::StrCat("the first bad record, number ", error.record_number,
                     " at byte ", error.byte_offset, " of ",
                     error.input.empty() ? "the input" : error.input, ": ",
                     error.description)));
  }
  void Buffered(BufferSize amount) override {
    if (amount.records == 0) return;
    Decide(SourceSight{.records = amount.records, .bytes = amount.bytes});
  }
  bool Admit(const RecordBatch& /*next*/) override { return true; }
  void Flush(RecordBatch /*batch*/) override {}
  void Replayed(BufferSize /*amount*/, uint64_t /*hash*/) override {}
  void Skipped() override {}
  void Extended(BufferSize /*amount*/, std::optional<Resume> /*resume*/,
                std::vector<Watermark> /*watermarks*/) override {}
  void EndOfInput() override { Decide(SourceSight{.end_of_input = true}); }
  void RequestStep() override {}
  void StartTransaction(std::optional<absl::string_view>) override {}
  void CommitTransaction() override {}
  void SetCustomMetrics(std::shared_ptr<ConnectorMetrics>) override {}
  std::shared_ptr<CountWatch> CompletionWatcher() override { return steps_; }
  std::shared_ptr<CountWatch> CheckpointWatcher() override { return nullptr; }
  void Error(bool fatal, absl::Status error, absl::string_view) override {
    Remember(std::move(error));
    if (fatal) Decide(SourceSight{});
  }
  void UpdateConnectorHealth(ConnectorHealth /*health*/) override {}

  // Later outcomes have no effect.
  void Decide(absl::StatusOr<SourceSight> outcome) {
    {
      MutexLock lock(mu_);
      if (outcome_.has_value()) return;
      // What was wrong explains why there is no record.
      const bool empty = outcome.ok() && outcome->records == 0;
      if (empty && !problem_.ok()) outcome = problem_;
      outcome_ = std::move(outcome);
    }
    decided_();
  }
  // Requires: Decide was called.
  absl::StatusOr<SourceSight> outcome() const {
    MutexLock lock(mu_);
    return *outcome_;
  }

 private:
  void Remember(absl::Status problem) {
    MutexLock lock(mu_);
    problem_ = std::move(problem);
  }

  const std::optional<FtModel> level_;
  const std::function<void()> decided_;
  const std::shared_ptr<CountWatch> steps_ = std::make_shared<CountWatch>(0);
  mutable Mutex mu_;
  absl::Status problem_ ABSL_GUARDED_BY(mu_);
  std::optional<absl::StatusOr<SourceSight>> outcome_ ABSL_GUARDED_BY(mu_);
};

class Probing final : public SourceProbe,
                      public std::enable_shared_from_this<Probing> {
 public:
  Probing(SourceProbeOptions options, Executor& io, Done done)
      : options_(std::move(options)), io_(io), done_(std::move(done)) {}

  // Right after it was made.
  void Prepare() {
    consumer_ = std::make_unique<ProbeConsumer>(
        options_.level, [weak = weak_from_this(), io = &io_] {
          // The reader may go on talking until it is gone.
          io->Schedule([weak] {
            if (const auto self = weak.lock()) self->End();
          });
        });
  }

  void Start() override {
    self_ = shared_from_this();
    io_.Schedule([this] { Open(); });
  }

  void Cancel() override {
    consumer_->Decide(MakeError(Reason::CANCELLED,
                                "looking at the source: the caller has gone"));
  }

 private:
  void Open() {
    absl::StatusOr<OpenedInput> input = OpenSource();
    if (!input.ok()) {
      consumer_->Decide(input.status());
    } else {
      reader_ = std::move(input->reader);
      reader_->Request(ExtendCommand{});
    }
    timer_ = io_.ScheduleAfter(options_.patience, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->consumer_->Decide(SourceSight{});
    });
    MutexLock lock(mu_);
    is_open_ = true;
    if (is_decided_) io_.Schedule([this] { End(); });
  }

  absl::StatusOr<OpenedInput> OpenSource() {
    InputEndpoint* const source = options_.source.get();
    if (auto* integrated = dynamic_cast<IntegratedInputEndpoint*>(source)) {
      return integrated->Open(*consumer_, options_.schema, std::nullopt);
    }
    auto* const transport = dynamic_cast<TransportInputEndpoint*>(source);
    if (transport == nullptr || options_.parser == nullptr) {
      return MakeError(Reason::INVALID_CONFIG,
                       "looking at the source: format is missing");
    }
    return transport->Open(*consumer_, std::move(options_.parser),
                           options_.schema, std::nullopt);
  }

  // Runs on `io`, after the outcome is known and Open has returned.
  void End() {
    {
      MutexLock lock(mu_);
      is_decided_ = true;
      if (!is_open_ || is_ended_) return;
      is_ended_ = true;
    }
    io_.Cancel(timer_);
    if (reader_ != nullptr) {
      reader_->Request(DisconnectCommand{});
      reader_.reset();
    }
    const std::shared_ptr<Probing> last = std::move(self_);
    done_(consumer_->outcome());
  }

  SourceProbeOptions options_;
  Executor& io_;
  Done done_;
  std::unique_ptr<ProbeConsumer> consumer_;
  std::unique_ptr<InputReader> reader_;
  // Keeps it alive from Start to End, which always comes: time runs out.
  std::shared_ptr<Probing> self_;
  Executor::TimerId timer_ = Executor::TimerId::kNone;
  Mutex mu_;
  bool is_open_ ABSL_GUARDED_BY(mu_) = false;
  bool is_decided_ ABSL_GUARDED_BY(mu_) = false;
  bool is_ended_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace

std::shared_ptr<SourceProbe> SourceProbe::Make(SourceProbeOptions options,
                                               Executor& io, Done done) {
  auto probing =
      std::make_shared<Probing>(std::move(options), io, std::move(done));
  probing->Prepare();
  return probing;
}

}  // namespace penstock::core
