#include "tests/core/handoff/handoff_fixtures.h"

#include "core/base/byte_order.h"
#include "core/base/check.h"
#include "core/contract/message_frame.h"
#include "core/handoff/basic_sink_handoff.h"
#include "core/record/key_hash.h"
#include "core/record/record_batch_builder.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace penstock::core {
namespace {

void AppendRow(absl::string_view value, FrameBuffer& out) {
  StoreLe32(static_cast<uint32_t>(value.size()), out.Reserve(4));
  out.Commit(4);
  out.Append(value);
}

std::string TakeRow(absl::string_view& frame) {
  uint32_t size = 0;
  CHECK(ConsumeLe(frame, size)) << "half a row";
  CHECK_GE(frame.size(), size_t{size}) << "half a row";
  std::string row(frame.substr(0, size));
  frame.remove_prefix(size);
  return row;
}

}  // namespace

std::optional<AckStatus> RecordingAckListener::Of(Step step) const {
  std::optional<AckStatus> status;
  for (const auto& [number, worst] : acks) {
    if (number != step) continue;
    CHECK(!status.has_value()) << "step " << step << " resolved twice";
    status = worst;
  }
  return status;
}

RecordBatch MakeBatch(const std::vector<TestRow>& records, uint32_t partition,
                      int64_t first_offset) {
  size_t bytes = 1;
  for (const TestRow& record : records) {
    bytes += record.value.size() + record.key.value_or("").size();
  }
  auto block = std::make_shared<Block>(bytes);
  uint32_t end = 0;
  const auto add = [&](absl::string_view text) {
    std::copy(text.begin(), text.end(), block->data() + end);
    return std::exchange(end, end + static_cast<uint32_t>(text.size()));
  };
  RecordBatchBuilder builder(block, partition);
  for (const TestRow& record : records) {
    RecordEntry entry;
    entry.value_begin = add(record.value);
    entry.value_size = static_cast<uint32_t>(record.value.size());
    if (record.key.has_value()) {
      entry.key_begin = add(*record.key);
      entry.key_size = static_cast<uint32_t>(record.key->size());
      entry.key_hash = KeyHash(*record.key);
      entry.has_key_hash = true;
    }
    entry.offset = first_offset++;
    entry.event_time_ms = record.event_time_ms;
    builder.Add(entry);
  }
  return std::move(builder).Build();
}

RecordBatch MakeBatch(std::initializer_list<const char*> values) {
  std::vector<TestRow> records;
  for (const char* const value : values) records.push_back({.value = value});
  return MakeBatch(records);
}

absl::Status PrefixEncoder::Encode(const Record& record, FrameBuffer& out) {
  StoreLe32(static_cast<uint32_t>(record.value->size()), out.Reserve(4));
  out.Commit(4);
  if (absl::StrContains(*record.value, "BAD")) {
    return MakeError(Reason::MALFORMED_FRAME, "a bad row");
  }
  if (absl::StrContains(*record.value, "BROKEN")) {
    return MakeError(Reason::INTERNAL, "a broken encoder");
  }
  if (absl::StrContains(*record.value, "THROW")) {
    throw std::runtime_error("thrown by a library");
  }
  out.Append(*record.value);
  return absl::OkStatus();
}

std::vector<std::string> DecodeRows(absl::string_view frame) {
  std::vector<std::string> rows;
  while (!frame.empty()) rows.push_back(TakeRow(frame));
  return rows;
}

absl::Status BlockEncoder::Encode(const Record& record, FrameBuffer& /*out*/) {
  if (absl::StrContains(*record.value, "BAD")) {
    return MakeError(Reason::MALFORMED_FRAME, "a bad row");
  }
  if (absl::StrContains(*record.value, "THROW")) {
    throw std::runtime_error("thrown by a library");
  }
  if (absl::StrContains(*record.value, "HALF")) {
    held_bytes_ += 4;
    return MakeError(Reason::MALFORMED_FRAME, "half a row");
  }
  held_.emplace_back(*record.value);
  held_bytes_ += 4 + record.value->size();
  return absl::OkStatus();
}

absl::Status BlockEncoder::FinishChunk(FrameBuffer& out) {
  StoreLe32(static_cast<uint32_t>(held_.size()), out.Reserve(4));
  out.Commit(4);
  for (const std::string& row : held_) AppendRow(row, out);
  if (state_->fail_finish > 0 && --state_->fail_finish == 0) {
    return MakeError(Reason::INTERNAL, "the block cannot be finished");
  }
  if (state_->throw_finish > 0 && --state_->throw_finish == 0) {
    throw std::runtime_error("thrown by a library");
  }
  ++state_->finished;
  held_.clear();
  held_bytes_ = 0;
  return absl::OkStatus();
}

absl::Status MessagingEncoder::Encode(const Record& record, FrameBuffer& out) {
  const std::string number = absl::StrCat(number_);
  const MessageHeader headers[] = {{"n", number}};
  const size_t before = out.size();
  AppendMessage(record.key, record.value, headers, out);
  if (absl::StrContains(record.value.value_or(""), "BAD")) {
    out.Truncate(before + (out.size() - before) / 2);
    return MakeError(Reason::MALFORMED_FRAME, "a bad message");
  }
  ++number_;
  return absl::OkStatus();
}

std::vector<std::vector<std::string>> DecodeBlocks(absl::string_view frame) {
  std::vector<std::vector<std::string>> blocks;
  while (!frame.empty()) {
    uint32_t rows = 0;
    CHECK(ConsumeLe(frame, rows)) << "half a block";
    blocks.emplace_back();
    for (uint32_t i = 0; i < rows; ++i) blocks.back().push_back(TakeRow(frame));
  }
  return blocks;
}

HandoffHarness::HandoffHarness(Options options_in)
    : options(std::move(options_in)),
      budget(std::make_shared<InflightBudget>(
          InflightBudget::Options{.limit = options.limit})),
      queues(options.shards, options.queue_items) {
  std::unique_ptr<RowEncoder> encoder;
  if (options.blocks != nullptr) {
    encoder = std::make_unique<BlockEncoder>(options.blocks);
  } else if (options.messages) {
    encoder = std::make_unique<MessagingEncoder>();
  }
  if (encoder != nullptr) {
    handoff = std::make_unique<SinkHandoff<RowEncoder, DigitRouter>>(
        std::move(encoder), DigitRouter(), queues, budget, options.config,
        clock);
  } else {
    handoff = std::make_unique<SinkHandoff<PrefixEncoder, DigitRouter>>(
        std::make_unique<PrefixEncoder>(), DigitRouter(), queues, budget,
        options.config, clock);
  }
}

void HandoffHarness::BeginStep(Step step) {
  BudgetLease reservation;
  if (options.reserve > 0) reservation = *budget->TryReserve(options.reserve);
  handoff->BeginStep(StepHandle(step, acks), std::move(reservation));
}

void HandoffHarness::Push(const std::vector<std::string>& values) {
  std::vector<TestRow> records;
  for (const std::string& value : values) records.push_back({.value = value});
  handoff->PushBatch(MakeBatch(records, 0, next_offset_));
  next_offset_ += static_cast<int64_t>(values.size());
}

Flow HandoffHarness::RunStep(Step step,
                             const std::vector<std::string>& values) {
  BeginStep(step);
  Push(values);
  return handoff->EndStep();
}

EncodedChunk HandoffHarness::TakeChunk(ShardIndex shard) {
  std::optional<ShardItem> item = queues.at(shard).TryReceive();
  CHECK(item.has_value());
  return std::get<EncodedChunk>(*std::move(item));
}

StepEnd HandoffHarness::TakeEnd(ShardIndex shard) {
  std::optional<ShardItem> item = queues.at(shard).TryReceive();
  CHECK(item.has_value());
  return std::get<StepEnd>(*std::move(item));
}

std::string HandoffHarness::Drain(ShardIndex shard) {
  std::vector<std::string> items;
  for (ShardItem& item : queues.at(shard).ReceiveAll()) {
    if (auto* const end = std::get_if<StepEnd>(&item)) {
      items.push_back(absl::StrCat("#", end->step));
      std::move(end->acks).Deliver();
      continue;
    }
    auto& chunk = std::get<EncodedChunk>(item);
    const std::vector<std::string> rows = DecodeRows(chunk.frame.view());
    CHECK_EQ(rows.size(), size_t{chunk.rows});
    items.push_back(absl::StrJoin(rows, " "));
    std::move(chunk.acks).Deliver();
  }
  return absl::StrJoin(items, "|");
}

}  // namespace penstock::core
