#include "core/sources/kafka/kafka_reader.h"

#include "core/base/error.h"
#include "core/base/json_text.h"
#include "core/base/status_macros.h"
#include "core/kafka/kafka_error.h"
#include "core/sources/kafka/kafka_reader_work.h"

#include <absl/container/flat_hash_map.h>
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <utility>
#include <variant>

namespace penstock::core {
namespace {

constexpr absl::string_view kReadTag = "kafka_read";
// Of one task.
constexpr size_t kEventsMax = 512;
constexpr absl::Duration kLookUpMax = absl::Seconds(5);
// Steps whose ends are kept apart until they are acknowledged.
constexpr size_t kUnacknowledgedMax = 1'024;
// So far before its place a partition is read again for the sake of its last
// message: what lies between is of aborted transactions, and is fetched.
constexpr int64_t kLastDistanceMax = 1'000;

Watermark WatermarkOf(absl::Time time, absl::string_view topic,
                      int32_t partition, int64_t offset) {
  std::string metadata = "{\"topic\":";
  AppendJsonString(topic, metadata);
  absl::StrAppend(&metadata, ",\"partition\":", partition,
                  ",\"offset\":", offset, "}");
  return {.timestamp = time, .metadata = std::move(metadata)};
}

}  // namespace

KafkaReader::Work::Work(const Environment& environment, InputConsumer& consumer,
                        std::unique_ptr<TopicConsumer> client,
                        std::unique_ptr<MessagePacker> packer, Options options)
    : StrandWork(environment.io),
      environment_(environment),
      consumer_(consumer),
      config_(std::move(options.config)),
      packer_(std::move(packer)),
      queue_(consumer, [this] { StartReading(); }),
      metrics_(std::make_shared<KafkaMetrics>()),
      ends_(std::move(options.ends)),
      flushed_(std::move(options.position)),
      client_(std::move(client)),
      discovered_(options.was_away ? absl::InfinitePast()
                                   : environment.clock.SteadyNow()),
      looked_(environment.clock.SteadyNow()) {
  consumer_.SetCustomMetrics(metrics_);
  ResetReadings();
  if (!config_.commits()) return;
  acknowledged_ = consumer_.CheckpointWatcher();
  if (acknowledged_ == nullptr) acknowledged_ = consumer_.CompletionWatcher();
}

void KafkaReader::Work::Start() {
  const auto wake = [weak = weak_from_this()] {
    if (const std::shared_ptr<Work> self = weak.lock()) self->StartReading();
  };
  client_->SetWake(wake);
  if (packer_->gate() != nullptr) packer_->gate()->SetWake(wake);
  Post(&Work::KeepHouse);
}

void KafkaReader::Work::Stop() {
  is_closed_.store(true);
  StopSteps();
  client_.reset();
  // Here, for a gate joins its thread: the last to let go of this might be just
  // that thread, in its wake-up.
  packer_.reset();
}

void KafkaReader::Work::Extend() {
  is_extended_.store(true);
  StartReading();
}

void KafkaReader::Work::ReadSome() {
  is_read_posted_.store(false);
  if (const absl::Status status = TryReadSome(); !status.ok()) {
    Fail(status, kReadTag);
  }
}

absl::Status KafkaReader::Work::TryReadSome() {
  RETURN_IF_ERROR(client_->Serve());
  ShowHealth();
  const bool replays = replaying_.has_value();
  if (!replays && (!is_extended_.load() || is_ended_)) return absl::OkStatus();
  if (!replays && !std::exchange(has_rest_, true)) AddRest();
  if (!is_assigned_) {
    RETURN_IF_ERROR(Assign());
  }
  bool has_more = !pending_.empty();
  if (!has_more) {
    pending_ = client_->Receive(kEventsMax);
    has_more = pending_.size() == kEventsMax;
  }
  while (!pending_.empty()) {
    // A Queue makes room while this runs: a Pause counts for what is pending,
    // too. Extend posts this again.
    if (!replays && !is_extended_.load()) return absl::OkStatus();
    // True arms the queue's callback, which posts this again.
    if (!replays && queue_.IsFull()) return absl::OkStatus();
    RETURN_IF_ERROR(TakeEvent());
    // The gate's wake-up posts this again, and the house does so each second.
    if (std::exchange(is_waiting_, false)) {
      ShowHealth();
      return absl::OkStatus();
    }
  }
  if (IsAllDone()) {
    if (replays) return EndReplay();
    if (config_.stop_at_end) {
      is_ended_ = true;
      consumer_.EndOfInput();
      return client_->Assign({});
    }
  }
  if (has_more || !is_assigned_) StartReading();
  return absl::OkStatus();
}

absl::Status KafkaReader::Work::Assign() {
  std::vector<TopicConsumer::Assignment> partitions;
  for (auto& [id, reading] : readings_) {
    if (reading.is_done()) continue;
    reading.checks_last =
        reading.last.has_value() &&
        reading.next - reading.last->offset <= kLastDistanceMax;
    partitions.push_back(
        {.place = {.topic = reading.topic,
                   .partition = KafkaPosition::PartitionOf(id)},
         .id = id,
         .offset = reading.checks_last ? reading.last->offset : reading.next});
  }
  pending_ = {};
  RETURN_IF_ERROR(client_->Assign(partitions));
  metrics_->partitions.store(partitions.size());
  is_assigned_ = true;
  return absl::OkStatus();
}

void KafkaReader::Work::Advance(uint32_t id, Reading& reading, int64_t next) {
  const bool was_done = reading.is_done();
  reading.next = next;
  if (was_done || !reading.is_done()) return;
  client_->Finish(
      {.topic = reading.topic, .partition = KafkaPosition::PartitionOf(id)});
}

absl::Status KafkaReader::Work::CheckLast(const KafkaEvent& event,
                                          Reading& reading) {
  if (!std::exchange(reading.checks_last, false)) return absl::OkStatus();
  if (event.kind == KafkaEvent::Kind::kEnd && event.offset < reading.next) {
    // The partition ends before its place: assigned to that it says so.
    reading.last.reset();
    is_assigned_ = false;
    return absl::OkStatus();
  }
  // It may have been compacted, or have expired, meanwhile.
  if (event.kind != KafkaEvent::Kind::kMessage ||
      event.offset != reading.last->offset ||
      event.timestamp_ms == reading.last->timestamp_ms) {
    return absl::OkStatus();
  }
  const std::string name =
      KafkaPartitionName(reading.topic, KafkaPosition::PartitionOf(event.id));
  return MakeError(
      Reason::POSITION_EXPIRED,
      absl::StrCat("go on in ", name, " at offset ", reading.next,
                   ": the message at ", event.offset,
                   " is another one than was read there; the topic was deleted "
                   "and made anew; start anew: another connector name"),
      {{"partition", name},
       {"wanted", absl::StrCat(reading.next)},
       {"offset", absl::StrCat(event.offset)},
       {"expected_timestamp_ms", absl::StrCat(reading.last->timestamp_ms)},
       {"found_timestamp_ms", absl::StrCat(event.timestamp_ms)}});
}

absl::Status KafkaReader::Work::TakeEvent() {
  const KafkaEvent& event = pending_.front();
  if (event.kind == KafkaEvent::Kind::kError) {
    const absl::Status status = TakeError(event);
    // An assignment forgets what is pending.
    if (!pending_.empty()) pending_ = pending_.subspan(1);
    return status;
  }
  const auto found =
      event.has_partition ? readings_.find(event.id) : readings_.end();
  if (found != readings_.end()) {
    RETURN_IF_ERROR(CheckLast(event, found->second));
  }
  const bool is_stale = found == readings_.end() || found->second.is_done() ||
                        event.offset < found->second.next;
  if (is_stale) {
    pending_ = pending_.subspan(1);
    return absl::OkStatus();
  }
  Reading& reading = found->second;
  const bool is_behind_end =
      reading.end.has_value() && event.offset >= *reading.end;
  if (is_behind_end) {
    Move(event.id, *reading.end);
    Advance(event.id, reading, *reading.end);
  } else if (event.kind == KafkaEvent::Kind::kEnd) {
    Move(event.id, event.offset);
    Advance(event.id, reading, event.offset);
  } else {
    TakeMessages();
    return absl::OkStatus();
  }
  pending_ = pending_.subspan(1);
  return absl::OkStatus();
}

void KafkaReader::Work::TakeMessages() {
  const uint32_t id = pending_.front().id;
  Reading& reading = readings_.at(id);
  run_.clear();
  for (const KafkaEvent& event : pending_) {
    if (event.kind != KafkaEvent::Kind::kMessage || event.id != id ||
        !event.has_partition ||
        (reading.end.has_value() && event.offset >= *reading.end)) {
      break;
    }
    run_.push_back(&event);
  }
  MessagePacker::Packed packed =
      packer_->Pack(id, reading.topic, run_, *client_);
  const size_t taken = packed.taken;
  is_waiting_ = packed.waits;
  if (taken == 0) return;
  const KafkaEvent& last = *run_[taken - 1];
  const int64_t next = last.offset + 1;
  if (last.timestamp_ms != RecordMeta::kNoEventTime) {
    reading.last = {.offset = last.offset, .timestamp_ms = last.timestamp_ms};
  }
  Stage(std::move(packed), {.id = id, .end = next, .last = reading.last});
  Advance(id, reading, next);
  pending_ = pending_.subspan(taken);
}

void KafkaReader::Work::Stage(MessagePacker::Packed packed,
                              const Moved& moved) {
  metrics_->ignored.fetch_add(packed.ignored);
  if (!replaying_.has_value()) {
    std::optional<RecordBatch> batch;
    if (!packed.batch.IsEmpty()) batch = std::move(packed.batch);
    queue_.PushWithAux(std::move(batch), std::move(packed.errors),
                       environment_.clock.Now(), moved);
    return;
  }
  if (!packed.errors.empty()) consumer_.ParseErrors(std::move(packed.errors));
  if (packed.batch.IsEmpty()) return;
  const BufferSize size = packed.batch.size();
  replaying_->total += size;
  if (replaying_->hasher.has_value()) {
    packed.batch.HashInto(*replaying_->hasher);
  }
  consumer_.Buffered(size);
  // Always true in a replay.
  consumer_.Admit(packed.batch);
  consumer_.Flush(std::move(packed.batch));
}

void KafkaReader::Work::Move(uint32_t id, int64_t end) {
  if (replaying_.has_value() || readings_.at(id).next == end) return;
  queue_.PushWithAux(std::nullopt, {}, environment_.clock.Now(),
                     {.id = id, .end = end});
}

absl::Status KafkaReader::Work::TakeError(const KafkaEvent& event) {
  const std::optional<ErrorInfo> info = GetErrorInfo(event.error);
  const Reason reason = info.has_value() ? info->reason : Reason::INTERNAL;
  if (reason == Reason::POSITION_EXPIRED && event.has_partition) {
    return Expired(event.id, event.error);
  }
  // A broker that does not know itself what is wrong with it may recover. One
  // that does not know a topic may be out of date: Discover judges that.
  const bool may_pass =
      reason == Reason::UNAVAILABLE || reason == Reason::DEADLINE ||
      reason == Reason::NOT_FOUND || KafkaErrorOf(event.error) == "UNKNOWN";
  if (may_pass) {
    consumer_.Error(false, event.error, kReadTag);
    return absl::OkStatus();
  }
  // Also messages that cannot be decoded: passing them over would lose them.
  return event.error;
}

absl::Status KafkaReader::Work::Expired(uint32_t id,
                                        const absl::Status& error) {
  const auto found = readings_.find(id);
  if (found == readings_.end() || found->second.is_done()) {
    return absl::OkStatus();
  }
  Reading& reading = found->second;
  if (std::exchange(reading.checks_last, false)) {
    // Only what was asked for again, perhaps: what is wanted shows next.
    reading.last.reset();
    is_assigned_ = false;
    return absl::OkStatus();
  }
  const TopicConsumer::TopicPartition place{
      .topic = reading.topic, .partition = KafkaPosition::PartitionOf(id)};
  const std::string name = KafkaPartitionName(place.topic, place.partition);
  const absl::Time deadline = environment_.clock.SteadyNow() + kLookUpMax;
  const auto low =
      client_->FindOffsets({&place, 1}, TopicConsumer::kEarliest, deadline);
  const auto high =
      client_->FindOffsets({&place, 1}, TopicConsumer::kLatest, deadline);
  is_assigned_ = false;
  if (!low.ok() || !high.ok()) {
    // Assigned again, it is asked again.
    consumer_.Error(false, low.ok() ? high.status() : low.status(), kReadTag);
    return absl::OkStatus();
  }
  const int64_t next = reading.next;
  const ErrorMetadata metadata = {{"partition", name},
                                  {"wanted", absl::StrCat(next)},
                                  {"available", absl::StrCat(low->front())},
                                  {"end", absl::StrCat(high->front())}};
  if (next > high->front()) {
    return MakeError(
        Reason::POSITION_EXPIRED,
        absl::StrCat("read ", name, " from offset ", next,
                     ": the partition ends at ", high->front(),
                     "; the topic was deleted and made anew, or lost messages; "
                     "start anew: another connector name"),
        metadata);
  }
  if (next >= low->front()) {
    consumer_.Error(false, error, kReadTag);
    return absl::OkStatus();
  }
  if (replaying_.has_value() || config_.expired == KafkaExpired::kFail) {
    return MakeError(
        Reason::POSITION_EXPIRED,
        absl::StrCat(replaying_.has_value() ? "replay " : "read ", name,
                     " from offset ", next, ": messages below ", low->front(),
                     " have expired (retention), ", low->front() - next,
                     " of them unread; keep them for longer",
                     replaying_.has_value()
                         ? ""
                         : ", or set expired: SKIP to go on behind them"),
        metadata);
  }
  metrics_->skipped.fetch_add(static_cast<uint64_t>(low->front() - next));
  consumer_.Error(
      false,
      MakeError(Reason::POSITION_EXPIRED,
                absl::StrCat("read ", name, ": offsets ", next, " to ",
                             low->front() - 1, " had expired and are skipped"),
                metadata),
      kReadTag);
  Move(id, low->front());
  reading.next = low->front();
  return absl::OkStatus();
}

bool KafkaReader::Work::IsAllDone() const {
  return std::all_of(readings_.begin(), readings_.end(),
                     [](const auto& one) { return one.second.is_done(); });
}

void KafkaReader::Work::AddRest() {
  MutexLock lock(mu_);
  for (const auto& [place, bounds] : ends_) {
    const auto& [topic, partition] = place;
    if (std::as_const(flushed_).Find(topic, partition) != nullptr) continue;
    flushed_.Add(topic, partition, bounds.begin);
    readings_.emplace(
        KafkaPosition::IdOf(*flushed_.FindTopic(topic), partition),
        Reading{.topic = topic, .next = bounds.begin, .end = bounds.end});
    is_assigned_ = false;
  }
}

void KafkaReader::Work::ResetReadings() {
  readings_.clear();
  is_assigned_ = false;
  pending_ = {};
  MutexLock lock(mu_);
  for (size_t i = 0; i < flushed_.topics.size(); ++i) {
    for (const KafkaRange& range : flushed_.topics[i].ranges) {
      const uint32_t id = KafkaPosition::IdOf(i, range.partition);
      Reading reading{.topic = flushed_.topics[i].topic,
                      .next = range.end,
                      .last = range.last};
      if (config_.stop_at_end) {
        const auto end = ends_.find({reading.topic, range.partition});
        reading.end = end == ends_.end() ? range.end : end->second.end;
      }
      readings_.emplace(id, std::move(reading));
    }
  }
}

void KafkaReader::Work::Flush(const QueueCommand& command) {
  FlushResult<Moved> flushed = queue_.FlushWithAux();
  absl::flat_hash_map<uint32_t, absl::Time> times;
  std::optional<uint64_t> hash;
  if (flushed.hash.has_value()) hash = flushed.hash->value;
  std::vector<Watermark> watermarks;
  Resume resume;
  {
    MutexLock lock(mu_);
    for (KafkaTopicRanges& topic : flushed_.topics) {
      for (KafkaRange& range : topic.ranges) range.start = range.end;
    }
    for (const auto& [time, moved] : flushed.aux) {
      KafkaRange& range = flushed_.At(moved.id);
      range.end = moved.end;
      if (moved.last.has_value()) range.last = moved.last;
      times[moved.id] = time;
    }
    Unacknowledged step{.step = command.step, .moved = {}};
    for (const auto& [id, time] : times) {
      const int64_t end = flushed_.At(id).end;
      watermarks.push_back(WatermarkOf(time, flushed_.TopicOf(id),
                                       KafkaPosition::PartitionOf(id), end));
      step.moved.push_back({.id = id, .end = end});
    }
    if (acknowledged_ != nullptr && !step.moved.empty()) {
      unacknowledged_.push_back(std::move(step));
    }
    resume = Resume::MetadataOnly(flushed_.ToJson(), hash);
  }
  consumer_.Extended(flushed.total, std::move(resume), std::move(watermarks));
}

void KafkaReader::Work::Acknowledge() {
  if (acknowledged_ == nullptr) return;
  const uint64_t count = acknowledged_->value();
  std::map<uint32_t, int64_t> ends;
  std::vector<TopicConsumer::Assignment> partitions;
  {
    MutexLock lock(mu_);
    // Too many are told apart no longer: the older waits for the newer.
    while (unacknowledged_.size() > kUnacknowledgedMax) {
      std::vector<Moved> moved = std::move(unacknowledged_.front().moved);
      unacknowledged_.pop_front();
      std::vector<Moved>& newer = unacknowledged_.front().moved;
      newer.insert(newer.begin(), moved.begin(), moved.end());
      if (newer.size() > KafkaPosition::kPartitionsMax) {
        newer.erase(newer.begin(), newer.end() - KafkaPosition::kPartitionsMax);
      }
    }
    while (!unacknowledged_.empty() && unacknowledged_.front().step < count) {
      for (const Moved& one : unacknowledged_.front().moved) {
        ends[one.id] = one.end;
      }
      unacknowledged_.pop_front();
    }
    for (const auto& [id, end] : ends) {
      partitions.push_back(
          {.place = {.topic = flushed_.TopicOf(id),
                     .partition = KafkaPosition::PartitionOf(id)},
           .id = id,
           .offset = end});
    }
  }
  if (!partitions.empty()) client_->Commit(partitions);
}

void KafkaReader::Work::Fail(const absl::Status& status,
                             absl::string_view tag) {
  is_closed_.store(true);
  replaying_.reset();
  consumer_.Error(true, status, tag);
}

KafkaReader::KafkaReader(const Environment& environment,
                         InputConsumer& consumer,
                         std::unique_ptr<TopicConsumer> client,
                         std::unique_ptr<MessagePacker> packer, Options options)
    : work_(std::make_shared<Work>(environment, consumer, std::move(client),
                                   std::move(packer), std::move(options))) {
  work_->Start();
}

KafkaReader::~KafkaReader() { work_->Stop(); }

void KafkaReader::Request(InputReaderCommand command) {
  if (work_->is_closed()) return;
  struct Obey {
    Work& work;
    void operator()(ReplayCommand replay) {
      work.PostCommand(&Work::Replay, std::move(replay));
    }
    void operator()(SkipCommand skip) {
      work.PostCommand(&Work::Skip, std::move(skip));
    }
    void operator()(ExtendCommand) { work.Extend(); }
    void operator()(PauseCommand) { work.Pause(); }
    void operator()(const QueueCommand& queue) { work.Flush(queue); }
    void operator()(DisconnectCommand) { work.Disconnect(); }
  };
  std::visit(Obey{*work_}, std::move(command));
}

bool KafkaReader::IsClosed() const { return work_->is_closed(); }

uint64_t KafkaReader::MemoryBytes() const { return work_->client_bytes(); }

}  // namespace penstock::core
