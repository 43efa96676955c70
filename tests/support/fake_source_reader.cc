#include "tests/support/fake_source_reader.h"

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/base/status_macros.h"
#include "core/contract/count_watch.h"
#include "core/contract/parse_resume_info.h"
#include "core/contract/resume.h"
#include "core/record/key_hash.h"
#include "core/record/record_batch_builder.h"
#include "core/record/step_hash.h"

#include <absl/status/statusor.h>
#include <absl/strings/str_cat.h>
#include <absl/time/time.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <variant>

namespace penstock::core {
namespace {

absl::string_view NameOf(const InputReaderCommand& command) {
  struct Visitor {
    absl::string_view operator()(const ReplayCommand&) { return "Replay"; }
    absl::string_view operator()(const SkipCommand&) { return "Skip"; }
    absl::string_view operator()(const ExtendCommand&) { return "Extend"; }
    absl::string_view operator()(const PauseCommand&) { return "Pause"; }
    absl::string_view operator()(const QueueCommand&) { return "Queue"; }
    absl::string_view operator()(const DisconnectCommand&) {
      return "Disconnect";
    }
  };
  return std::visit(Visitor(), command);
}

}  // namespace

FakeSource::Reader::Reader(FakeSource& source, InputConsumer& consumer)
    : source_(source),
      consumer_(consumer),
      queue_(consumer,
             [this] {
               if (source_.options_.reads_itself) Read(SIZE_MAX);
             }),
      read_(source.options_.partitions),
      position_(source.options_.partitions) {
  std::shared_ptr<CountWatch> watch = consumer.CheckpointWatcher();
  if (watch == nullptr) watch = consumer.CompletionWatcher();
  if (watch == nullptr) return;
  subscription_ = watch->Subscribe(
      [&source](uint64_t count) { source.NoteAcknowledged(count); });
}

std::string FakeSource::Reader::SeekOf(const std::vector<Range>& ranges) {
  std::string seek = "{\"ranges\":[";
  for (const Range& range : ranges) {
    absl::StrAppend(&seek, seek.back() == '[' ? "" : ",", "[", range.begin, ",",
                    range.end, "]");
  }
  return absl::StrCat(seek, "]}");
}

absl::StatusOr<std::vector<FakeSource::Reader::Range>>
FakeSource::Reader::ParseSeek(const std::string& seek) {
  ASSIGN_OR_RETURN(const ResumeInfo info, ParseResumeInfo(seek));
  ASSIGN_OR_RETURN(const auto elements, info.root()["ranges"].Elements());
  std::vector<Range> ranges;
  for (const ResumeValue& element : elements) {
    ASSIGN_OR_RETURN(const auto pair, element.Elements());
    if (pair.size() != 2) return element.Invalid("is no pair");
    Range& range = ranges.emplace_back();
    ASSIGN_OR_RETURN(range.begin, pair[0].Uint64());
    ASSIGN_OR_RETURN(range.end, pair[1].Uint64());
  }
  return ranges;
}

void FakeSource::Reader::MoveTo(const std::vector<Range>& ranges) {
  MutexLock lock(mu_);
  for (size_t partition = 0; partition < ranges.size(); ++partition) {
    position_[partition] = ranges[partition].end;
    read_[partition] = ranges[partition].end;
  }
}

absl::Status FakeSource::Reader::Seek(const std::string& seek) {
  ASSIGN_OR_RETURN(const std::vector<Range> ranges, ParseSeek(seek));
  for (uint32_t partition = 0; partition < ranges.size(); ++partition) {
    if (ranges[partition].end > source_.PartitionSize(partition)) {
      return MakeError(Reason::POSITION_EXPIRED,
                       "seeking in memory: the records are gone");
    }
  }
  MoveTo(ranges);
  return absl::OkStatus();
}

std::string FakeSource::Reader::Position() {
  std::vector<Range> ranges;
  for (const size_t at : position_) ranges.push_back({.begin = at, .end = at});
  return SeekOf(ranges);
}

void FakeSource::Reader::Request(InputReaderCommand command) {
  source_.NoteCommand(std::string(NameOf(command)));
  if (std::holds_alternative<ExtendCommand>(command)) {
    extended_.store(true);
    if (source_.options_.reads_itself) Read(SIZE_MAX);
  } else if (std::holds_alternative<PauseCommand>(command)) {
    extended_.store(false);
  } else if (std::holds_alternative<DisconnectCommand>(command)) {
    extended_.store(false);
    closed_.store(true);
  } else if (source_.holds_answers_.load()) {
    CHECK(!held_.has_value()) << "the contract: one command at a time";
    held_ = std::move(command);
  } else {
    Answer(command);
  }
}

void FakeSource::Reader::Close() {
  subscription_.reset();
  MutexLock lock(mu_);
  gone_ = true;
}

void FakeSource::Reader::AnswerHeld() {
  CHECK(held_.has_value());
  const InputReaderCommand command = *std::exchange(held_, std::nullopt);
  Answer(command);
}

void FakeSource::Reader::Answer(const InputReaderCommand& command) {
  if (closed_.load()) return;
  if (const auto* replay = std::get_if<ReplayCommand>(&command)) {
    Replay(*replay);
  } else if (const auto* skip = std::get_if<SkipCommand>(&command)) {
    Skip(*skip);
  } else {
    const auto* queue = std::get_if<QueueCommand>(&command);
    Flush(queue != nullptr && queue->checkpoint_requested);
  }
}

void FakeSource::Reader::Flush(bool whole_is_asked) {
  const FlushResult<Aux> flushed = queue_.FlushWithAux();
  std::vector<Range> ranges;
  for (const size_t at : position_) ranges.push_back({.begin = at, .end = at});
  std::vector<Watermark> watermarks;
  for (const auto& [timestamp, aux] : flushed.aux) {
    if (aux.range.begin == aux.range.end) continue;
    ranges[aux.partition].end = aux.range.end;
    position_[aux.partition] = aux.range.end;
  }
  for (uint32_t partition = 0; partition < ranges.size(); ++partition) {
    if (ranges[partition].begin == ranges[partition].end) continue;
    watermarks.push_back(
        {.timestamp = absl::UnixEpoch(),
         .metadata = absl::StrCat("{\"partition\":", partition, "}")});
  }
  std::optional<Resume> resume;
  if (barrier_.load()) {
    resume = Resume(Resume::Barrier());
  } else if (source_.options_.level.has_value()) {
    std::optional<uint64_t> hash;
    if (flushed.hash.has_value()) hash = flushed.hash->value;
    resume = Resume::MetadataOnly(SeekOf(ranges), hash);
    if (gives_changes_.load()) {
      Resume::Change change;
      if (whole_is_asked) change.whole = Position();
      resume->SetChange(std::move(change));
    }
  }
  BufferSize total = flushed.total;
  if (lies_.load()) ++total.records;
  consumer_.Extended(total, std::move(resume), std::move(watermarks));
}

absl::StatusOr<std::vector<FakeSource::Reader::Range>>
FakeSource::Reader::RangesFrom(const std::string& seek) {
  ASSIGN_OR_RETURN(std::vector<Range> ranges, ParseSeek(seek));
  for (size_t partition = 0; partition < ranges.size(); ++partition) {
    if (ranges[partition].begin == position_[partition]) continue;
    return MakeError(
        Reason::POSITION_MISMATCH,
        absl::StrCat("replaying from memory: partition ", partition,
                     " stands at ", position_[partition], ", not at ",
                     ranges[partition].begin));
  }
  return ranges;
}

void FakeSource::Reader::Replay(const ReplayCommand& command) {
  const absl::StatusOr<std::vector<Range>> ranges =
      RangesFrom(command.metadata);
  if (!ranges.ok()) return consumer_.Error(true, ranges.status(), "replay");
  StepHasher hasher;
  BufferSize total;
  // Not as they were staged at first, and the last partition first: neither
  // may matter.
  const size_t records = source_.options_.records_per_buffer / 2 + 1;
  for (size_t left = ranges->size(); left > 0; --left) {
    const auto partition = static_cast<uint32_t>(left - 1);
    if (ReplayRange(partition, (*ranges)[partition], records, hasher, total)) {
      continue;
    }
    return consumer_.Error(
        true,
        MakeError(Reason::POSITION_EXPIRED,
                  "replaying from memory: the records are gone"),
        "replay");
  }
  MoveTo(*ranges);
  consumer_.Replayed(total, hasher.Finish().value);
}

bool FakeSource::Reader::ReplayRange(uint32_t partition, Range range,
                                     size_t records, StepHasher& hasher,
                                     BufferSize& total) {
  if (range.end > source_.PartitionSize(partition)) return false;
  while (range.begin < range.end) {
    const size_t end = std::min(range.end, range.begin + records);
    std::vector<ParseError> errors;
    RecordBatch batch =
        MakeRecords(partition, {.begin = range.begin, .end = end}, errors);
    if (!errors.empty()) consumer_.ParseErrors(std::move(errors));
    batch.HashInto(hasher);
    total += batch.size();
    consumer_.Buffered(batch.size());
    CHECK(consumer_.Admit(batch)) << "Replay admits everything";
    consumer_.Flush(std::move(batch));
    range.begin = end;
  }
  return true;
}

void FakeSource::Reader::Skip(const SkipCommand& command) {
  const absl::StatusOr<std::vector<Range>> ranges =
      RangesFrom(command.metadata);
  if (!ranges.ok()) return consumer_.Error(true, ranges.status(), "skip");
  MoveTo(*ranges);
  consumer_.Skipped();
}

RecordBatch FakeSource::Reader::MakeRecords(uint32_t partition, Range range,
                                            std::vector<ParseError>& errors) {
  std::vector<std::string> records;
  size_t bytes = 1;
  for (size_t offset = range.begin; offset < range.end; ++offset) {
    records.push_back(*source_.RecordAt(partition, offset));
    bytes += records.back().size();
  }
  source_.NoteRead(records.size());
  auto block = std::make_shared<Block>(
      std::max(bytes, source_.options_.block_bytes_min));
  RecordBatchBuilder builder(block, partition);
  uint32_t place = 0;
  auto offset = static_cast<int64_t>(range.begin);
  for (const std::string& record : records) {
    if (record.front() == '!') {
      ParseError& error = errors.emplace_back();
      error.tag = "no_record";
      error.description = "it begins with !";
      error.byte_offset = static_cast<uint64_t>(offset++);
      error.invalid_text = record;
      continue;
    }
    std::memcpy(block->data() + place, record.data(), record.size());
    RecordEntry entry;
    entry.value_begin = place;
    entry.value_size = static_cast<uint32_t>(record.size());
    entry.offset = offset++;
    if (const size_t colon = record.find(':'); colon != std::string::npos) {
      entry.key_begin = place;
      entry.key_size = static_cast<uint32_t>(colon);
      entry.has_key_hash = true;
      entry.key_hash = KeyHash(absl::string_view(record).substr(0, colon));
    }
    builder.Add(entry);
    place += static_cast<uint32_t>(record.size());
  }
  RecordBatch batch = std::move(builder).Build();
  if (consumer_.KeepsBadRecords()) {
    batch.AddBadRecords(ToBadRecords(partition, errors));
  }
  return batch;
}

size_t FakeSource::Reader::Read(size_t buffers) {
  MutexLock lock(mu_);
  return ReadLocked(buffers);
}

size_t FakeSource::Reader::ReadLocked(size_t buffers) {
  size_t staged = 0;
  size_t idle = 0;
  while (buffers > 0 && idle < read_.size()) {
    if (gone_ || closed_.load() || !extended_.load() || queue_.IsFull()) {
      return staged;
    }
    const auto partition = static_cast<uint32_t>(next_partition_);
    next_partition_ = (next_partition_ + 1) % read_.size();
    const size_t records = StageOne(partition);
    staged += records;
    idle = records == 0 ? idle + 1 : 0;
    if (records > 0) --buffers;
  }
  const bool at_end = idle == read_.size();
  if (at_end && source_.has_ended() && !std::exchange(ended_, true)) {
    consumer_.EndOfInput();
  }
  return staged;
}

size_t FakeSource::Reader::StageOne(uint32_t partition) {
  Range range;
  range.begin = read_[partition];
  range.end = std::min(source_.PartitionSize(partition),
                       range.begin + source_.options_.records_per_buffer);
  if (range.begin == range.end) return 0;
  Queue::Entry entry;
  std::vector<ParseError> errors;
  entry.buffer = MakeRecords(partition, range, errors);
  entry.timestamp = absl::UnixEpoch();
  entry.aux = {.partition = partition, .range = range};
  if (start_label_.has_value()) {
    entry.start_transaction = std::exchange(start_label_, std::nullopt);
  }
  entry.commit_transaction = std::exchange(commit_, false);
  read_[partition] = range.end;
  queue_.PushEntry(std::move(entry), std::move(errors));
  return range.end - range.begin;
}

void FakeSource::Reader::StageNothing() {
  MutexLock lock(mu_);
  if (gone_) return;
  Queue::Entry entry;
  entry.aux = {.partition = 0, .range = {.begin = 0, .end = 0}};
  queue_.PushEntry(std::move(entry), {});
}

void FakeSource::Reader::StartTransaction(std::string label) {
  MutexLock lock(mu_);
  start_label_ = std::move(label);
}

void FakeSource::Reader::CommitTransaction() {
  MutexLock lock(mu_);
  commit_ = true;
}

}  // namespace penstock::core
