#include "deploy/examples/source/memory_source.h"

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/status_macros.h"
#include "core/base/thread.h"
#include "core/contract/command_receiver.h"
#include "core/contract/parse_resume_info.h"
#include "core/queue/input_queue.h"
#include "core/record/record_batch_builder.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

namespace penstock::core {
namespace {

// Item numbers, end exclusive.
struct ItemRange {
  uint64_t start = 0;
  uint64_t end = 0;

  std::string ToJson() const {
    return absl::StrCat("{\"start\":", start, ",\"end\":", end, "}");
  }
};

absl::StatusOr<ItemRange> ParseRange(absl::string_view metadata) {
  ASSIGN_OR_RETURN(const ResumeInfo info, ParseResumeInfo(metadata));
  const ResumeValue root = info.root();
  ItemRange range;
  ASSIGN_OR_RETURN(range.start, root["start"].Uint64());
  ASSIGN_OR_RETURN(range.end, root["end"].Uint64());
  if (range.end < range.start) return root["end"].Invalid("is below start");
  return range;
}

struct Parsed {
  RecordBatch batch;
  std::vector<ParseError> errors;
};

// `items` are numbered from `begin` on and of one partition.
Parsed ParseItems(const std::vector<std::string>& items, uint64_t begin) {
  size_t bytes = 1;
  for (const std::string& item : items) bytes += item.size();
  auto block = std::make_shared<Block>(bytes);
  RecordBatchBuilder builder(block, MemoryLog::PartitionOf(begin));
  Parsed parsed;
  uint32_t place = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    const std::string& item = items[i];
    if (item == MemoryLog::kBad) {
      ParseError error;
      error.tag = "bad";
      error.description = "is bad";
      parsed.errors.push_back(std::move(error));
      continue;
    }
    std::memcpy(block->data() + place, item.data(), item.size());
    RecordEntry entry;
    entry.value_begin = place;
    entry.value_size = static_cast<uint32_t>(item.size());
    entry.offset = static_cast<int64_t>(begin + i);
    builder.Add(entry);
    place += entry.value_size;
  }
  parsed.batch = std::move(builder).Build();
  return parsed;
}

// One thread does everything. Aux is the end of the buffer's items.
class MemoryReader final : public InputReader {
 public:
  MemoryReader(const MemoryLog& log, size_t read_bytes, InputConsumer& consumer,
               uint64_t start)
      : log_(log),
        read_bytes_(read_bytes),
        end_(log.size()),
        consumer_(consumer),
        queue_(consumer),
        staged_(start),
        flushed_(start),
        thread_("memory-source", [this](std::stop_token) { Run(); }) {}

  ~MemoryReader() override {
    commands_.Close();
    thread_.Join();
  }

  void Request(InputReaderCommand command) override {
    // A closed reader obeys no more.
    static_cast<void>(commands_.Send(std::move(command)));
  }
  bool IsClosed() const override { return is_closed_.load(); }

 private:
  void Run() {
    // Errors are reported where they arise; here they only end the thread.
    if (RunReplays().ok()) RunCommands().IgnoreError();
    is_closed_.store(true);
  }

  // Zero or more Replays and Skips come first.
  absl::Status RunReplays() {
    while (true) {
      ASSIGN_OR_RETURN(std::optional<InputReaderCommand> command,
                       commands_.ReceiveReplay());
      if (!command.has_value()) return absl::OkStatus();
      const auto* replay = std::get_if<ReplayCommand>(&*command);
      const absl::Status done =
          replay != nullptr ? Replay(replay->metadata)
                            : Skip(std::get<SkipCommand>(*command).metadata);
      if (!done.ok()) return Fail(done);
    }
  }

  absl::Status Replay(absl::string_view metadata) {
    ASSIGN_OR_RETURN(const ItemRange range, ParseRange(metadata));
    std::optional<StepHasher> hasher = consumer_.Hasher();
    BufferSize total;
    for (uint64_t next = range.start; next < range.end;) {
      ASSIGN_OR_RETURN(const std::vector<std::string> items,
                       log_.Read(next, range.end, read_bytes_));
      Parsed parsed = ParseItems(items, next);
      next += items.size();
      if (!parsed.errors.empty()) {
        consumer_.ParseErrors(std::move(parsed.errors));
      }
      if (parsed.batch.IsEmpty()) continue;
      total += parsed.batch.size();
      consumer_.Buffered(parsed.batch.size());
      if (hasher.has_value()) parsed.batch.HashInto(*hasher);
      consumer_.Admit(parsed.batch);
      consumer_.Flush(std::move(parsed.batch));
    }
    staged_ = flushed_ = range.end;
    consumer_.Replayed(total, hasher.has_value() ? hasher->Finish().value : 0);
    return absl::OkStatus();
  }

  absl::Status Skip(absl::string_view metadata) {
    ASSIGN_OR_RETURN(const ItemRange range, ParseRange(metadata));
    staged_ = flushed_ = range.end;
    consumer_.Skipped();
    return absl::OkStatus();
  }

  // Obeys all commands that are there before it reads or sleeps.
  absl::Status RunCommands() {
    while (true) {
      const bool may_read =
          is_extended_ && !queue_.IsFull() && !is_end_reported_;
      std::optional<InputReaderCommand> command;
      if (may_read) {
        ASSIGN_OR_RETURN(command, commands_.TryReceive());
      } else {
        ASSIGN_OR_RETURN(command, commands_.Receive());
      }
      if (!command.has_value()) {
        const absl::Status read = StageSome();
        if (!read.ok()) return Fail(read);
      } else if (std::holds_alternative<ExtendCommand>(*command)) {
        is_extended_ = true;
      } else if (std::holds_alternative<PauseCommand>(*command)) {
        is_extended_ = false;
      } else if (std::holds_alternative<QueueCommand>(*command)) {
        FlushStep();
      } else {
        return MakeError(Reason::CANCELLED, "disconnected");
      }
    }
  }

  absl::Status StageSome() {
    if (staged_ == end_) {
      is_end_reported_ = true;
      consumer_.EndOfInput();
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(const std::vector<std::string> items,
                     log_.Read(staged_, end_, read_bytes_));
    Parsed parsed = ParseItems(items, staged_);
    staged_ += items.size();
    queue_.PushWithAux(std::move(parsed.batch), std::move(parsed.errors),
                       RealClock().Now(), staged_);
    return absl::OkStatus();
  }

  void FlushStep() {
    FlushResult<uint64_t> flushed = queue_.FlushWithAux();
    ItemRange range{.start = flushed_, .end = flushed_};
    std::vector<Watermark> watermarks;
    if (!flushed.aux.empty()) {
      flushed_ = range.end = flushed.aux.back().second;
      watermarks.push_back(
          {.timestamp = flushed.aux.back().first, .metadata = std::nullopt});
    }
    std::optional<uint64_t> hash;
    if (flushed.hash.has_value()) hash = flushed.hash->value;
    consumer_.Extended(flushed.total,
                       Resume::MetadataOnly(range.ToJson(), hash),
                       std::move(watermarks));
  }

  absl::Status Fail(const absl::Status& error) {
    consumer_.Error(/*fatal=*/true, error, "memory");
    return error;
  }

  const MemoryLog& log_;
  const size_t read_bytes_;
  const uint64_t end_;
  InputConsumer& consumer_;
  InputQueue<uint64_t> queue_;
  InputCommandReceiver commands_;
  std::atomic<bool> is_closed_ = false;

  // Confined to the thread. Numbers of the next item to stage, and to flush.
  uint64_t staged_;
  uint64_t flushed_;
  bool is_extended_ = false;
  bool is_end_reported_ = false;

  // Last: it uses all of the above.
  Thread thread_;
};

}  // namespace

uint64_t MemoryLog::Append(std::string item) {
  MutexLock lock(mu_);
  items_.push_back(std::move(item));
  return items_.size() - 1;
}

void MemoryLog::Replace(uint64_t number, std::string item) {
  MutexLock lock(mu_);
  items_[number] = std::move(item);
}

void MemoryLog::Break() {
  MutexLock lock(mu_);
  is_broken_ = true;
}

uint64_t MemoryLog::size() const {
  MutexLock lock(mu_);
  return items_.size();
}

absl::StatusOr<std::vector<std::string>> MemoryLog::Read(
    uint64_t begin, uint64_t end, size_t bytes_max) const {
  MutexLock lock(mu_);
  if (is_broken_) return MakeError(Reason::UNAVAILABLE, "reading: broken");
  if (end > items_.size()) {
    return MakeError(Reason::POSITION_EXPIRED, "reading beyond the end");
  }
  std::vector<std::string> items;
  size_t bytes = 0;
  for (uint64_t i = begin; i < end; ++i) {
    bytes += items_[i].size();
    if (i > begin &&
        (bytes > bytes_max || PartitionOf(i) != PartitionOf(begin))) {
      break;
    }
    items.push_back(items_[i]);
  }
  return items;
}

absl::StatusOr<OpenedInput> MemorySource::Open(
    InputConsumer& consumer, std::unique_ptr<Parser> /*parser*/,
    const Schema& /*schema*/, std::optional<std::string> resume_info) {
  ItemRange at;
  if (resume_info.has_value()) {
    ASSIGN_OR_RETURN(at, ParseRange(*resume_info));
  }
  return OpenedInput{
      .reader =
          std::make_unique<MemoryReader>(log_, read_bytes_, consumer, at.end),
      .position = ItemRange{.start = at.end, .end = at.end}.ToJson()};
}

}  // namespace penstock::core
