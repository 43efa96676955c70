#include "core/sources/file/stream_reader.h"

#include "core/base/error.h"
#include "core/base/status_macros.h"
#include "core/base/strand_work.h"
#include "core/queue/input_queue.h"
#include "core/sources/file/file_metrics.h"
#include "core/sources/file/file_table.h"
#include "core/sources/file/record_reader.h"
#include "core/sources/file/stream_file.h"
#include "core/sources/file/stream_source.h"

#include <array>
#include <atomic>
#include <utility>
#include <variant>

namespace penstock::core {
namespace {

constexpr absl::string_view kReadTag = "file_read";

}  // namespace

// Threads: as FileReader::Work.
class StreamReader::Work : public StrandWork<StreamReader::Work> {
 public:
  Work(const Environment& environment, InputConsumer& consumer,
       std::unique_ptr<Parser> parser, const FileSourceConfig& config,
       PipedInput& input);

  void Extend() {
    is_extended_.store(true);
    StartReading();
  }
  void Pause() {
    is_extended_.store(false);
    Post(&Work::ReleaseMemory);
  }
  void Queue() { queue_.Queue(); }
  void Disconnect() { is_closed_.store(true); }
  // Blocks: until the running task, if any, is over.
  void Stop() {
    is_closed_.store(true);
    StopSteps();
    input_.Release();
  }
  void Fail(const absl::Status& status) {
    is_closed_.store(true);
    consumer_.Error(true, status, kReadTag);
  }
  bool is_closed() const { return is_closed_.load(); }

 private:
  void StartReading() {
    if (!is_read_posted_.exchange(true)) Post(&Work::ReadSome);
  }
  void ReadSome();
  // Returns: whether there is more to do at once.
  absl::StatusOr<bool> TryReadSome();
  // Whether it is known that it begins as something that can be read. Errors:
  // INVALID_CONFIG if it cannot.
  absl::StatusOr<bool> CheckBeginning();
  void WaitForMore();
  void ReleaseMemory();

  const Environment environment_;
  InputConsumer& consumer_;
  PipedInput& input_;
  // Up to there all is kept, for the parser.
  const uint64_t prologue_bytes_;

  FileTable files_;
  RecordReader records_;
  InputQueue<> queue_;
  // Shared with the consumer.
  const std::shared_ptr<StreamMetrics> metrics_;
  // The only one, and its bytes.
  KnownFile& file_;
  StreamFile* stream_;

  std::atomic<bool> is_extended_{false};
  std::atomic<bool> is_closed_{false};
  std::atomic<bool> is_read_posted_{false};

  // Confined to the strand.
  bool is_begun_;
  bool is_ended_ = false;
  // How long the last look took.
  absl::Duration took_;
};

StreamReader::Work::Work(const Environment& environment,
                         InputConsumer& consumer,
                         std::unique_ptr<Parser> parser,
                         const FileSourceConfig& config, PipedInput& input)
    : StrandWork(environment.io),
      environment_(environment),
      consumer_(consumer),
      input_(input),
      prologue_bytes_(parser->PrologueBytesMax()),
      files_(0),
      records_(environment, consumer, files_, std::move(parser),
               {.compression = FileCompression::kNone,
                .block_bytes = config.block_bytes,
                .is_stream = true}),
      queue_(consumer, [this] { StartReading(); }),
      metrics_(std::make_shared<StreamMetrics>()),
      // Nothing will ever be known better by its beginning.
      file_(files_.Add({.path = std::string(kStandardInput),
                        .fingerprint = {.bytes = FileFingerprint::kBytesMax}})),
      is_begun_(config.compression == FileCompression::kNone) {
  auto stream = std::make_unique<StreamFile>(input);
  stream_ = stream.get();
  records_.Take(file_, OpenFile::Of(std::move(stream)));
  consumer_.SetCustomMetrics(metrics_);
}

void StreamReader::Work::ReadSome() {
  is_read_posted_.store(false);
  if (!is_extended_.load() || is_ended_) return;
  // True arms the queue's callback, which posts this again.
  if (queue_.IsFull()) return;
  const absl::Time began = environment_.clock.SteadyNow();
  const absl::StatusOr<bool> goes_on = TryReadSome();
  took_ = environment_.clock.SteadyNow() - began;
  if (!goes_on.ok()) {
    Fail(goes_on.status());
  } else if (*goes_on) {
    StartReading();
  } else if (!is_ended_) {
    WaitForMore();
  }
}

absl::StatusOr<bool> StreamReader::Work::TryReadSome() {
  ASSIGN_OR_RETURN(const bool is_known, CheckBeginning());
  if (!is_known) return false;
  const bool is_final = stream_->has_ended();
  file_.reading->is_final = is_final;
  file_.seen_size = stream_->KnownEnd();
  ASSIGN_OR_RETURN(RecordReader::Result result,
                   records_.Read(file_, std::nullopt));
  metrics_->documents_passed.fetch_add(result.passed);
  if (result.has_moved) {
    std::optional<RecordBatch> batch;
    if (!result.batch.IsEmpty()) batch = std::move(result.batch);
    queue_.Push(std::move(batch), std::move(result.errors),
                environment_.clock.Now());
  }
  const uint64_t needed = file_.reading->fragments.NeededFrom();
  if (needed >= prologue_bytes_) stream_->LetGo(needed);
  if (!result.at_end) return true;
  // The end may have been met by this look, which left a last record.
  if (!is_final) return stream_->has_ended();
  is_ended_ = true;
  consumer_.EndOfInput();
  ReleaseMemory();
  return false;
}

absl::StatusOr<bool> StreamReader::Work::CheckBeginning() {
  if (is_begun_) return true;
  std::array<char, kMagicBytesMax> beginning;
  ASSIGN_OR_RETURN(const size_t got, stream_->ReadAt(0, beginning));
  const std::optional<Compression> found =
      DetectCompression({beginning.data(), got});
  if (!found.has_value() && !stream_->has_ended()) return false;
  if (found.value_or(Compression::kNone) != Compression::kNone) {
    return MakeError(
        Reason::INVALID_CONFIG,
        "read the standard input: it is compressed; pipe it through zcat or "
        "zstdcat, or set compression: NONE to take it as it is",
        {{"field", "compression"}});
  }
  is_begun_ = true;
  return true;
}

void StreamReader::Work::WaitForMore() {
  // What is held of a long record is looked at again from its beginning: half
  // of the time may go into that.
  input_.WhenReadable([weak = weak_from_this(), pause = took_] {
    const std::shared_ptr<Work> self = weak.lock();
    if (self != nullptr) self->PostAfter(pause, &Work::StartReading);
  });
}

void StreamReader::Work::ReleaseMemory() {
  if (is_extended_.load() && !is_ended_) return;
  records_.ReleaseMemory();
}

StreamReader::StreamReader(const Environment& environment,
                           InputConsumer& consumer,
                           std::unique_ptr<Parser> parser,
                           const FileSourceConfig& config, PipedInput& input)
    : work_(std::make_shared<Work>(environment, consumer, std::move(parser),
                                   config, input)) {}

StreamReader::~StreamReader() { work_->Stop(); }

void StreamReader::Request(InputReaderCommand command) {
  if (work_->is_closed()) return;
  struct Obey {
    Work& work;
    void operator()(const ReplayCommand&) { Refuse(); }
    void operator()(const SkipCommand&) { Refuse(); }
    void operator()(ExtendCommand) { work.Extend(); }
    void operator()(PauseCommand) { work.Pause(); }
    void operator()(const QueueCommand&) { work.Queue(); }
    void operator()(DisconnectCommand) { work.Disconnect(); }

    void Refuse() {
      work.Fail(MakeError(Reason::UNSUPPORTED,
                          "replay a step of the standard input: it can be "
                          "read only once"));
    }
  };
  std::visit(Obey{*work_}, std::move(command));
}

bool StreamReader::IsClosed() const { return work_->is_closed(); }

}  // namespace penstock::core
