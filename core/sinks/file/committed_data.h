// What is committed: which files, how much of each, in which order.
#pragma once

#include "core/compress/compression.h"
#include "core/contract/output_target.h"
#include "core/record/step.h"
#include "core/sinks/file/layout.h"

#include <absl/strings/string_view.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace penstock::core {

// What a writer's data files are like.
struct DataFormat {
  Compression compression = Compression::kNone;
  // FinalName's pattern, with FileVisibility::kRename; empty: files keep the
  // name they were made with.
  std::string name;

  bool renames() const { return !name.empty(); }
  friend bool operator==(const DataFormat&, const DataFormat&) = default;
};

//   kOpen ──the commit that finishes it──▶ kFinished ──its final name──▶
//   kPlaced
//     │                                                                    ▲
//     └──────────── files keep their names: the commit, or ────────────────┘
//                   a higher writer that takes over
//
// A file that is to be renamed and was not finished when a higher writer took
// over never is: that writer makes a finished copy of it.
enum class DataStage : uint8_t { kOpen = 0, kFinished = 1, kPlaced = 2 };

// The first `bytes` of a file are committed.
struct CommittedData {
  ShardIndex shard = 0;
  Writer writer;
  // Counted from 0 for each shard of a writer.
  uint32_t number = 0;
  uint64_t bytes = 0;
  DataStage stage = DataStage::kOpen;
  Compression compression = Compression::kNone;
  // A copy of what a lower writer left.
  bool is_copy = false;
  // In files/; empty: it keeps its name.
  std::string final_name;

  friend bool operator==(const CommittedData&, const CommittedData&) = default;
};

// The name in its listing, without a directory.
SinkFile FileOf(const CommittedData& data);
// The file while it is kOpen or kFinished, and below `directory`; for ever, if
// it keeps its name.
std::string WorkPathOf(absl::string_view directory, const CommittedData& data);
// Where a file stands that is kPlaced.
std::string FinalPathOf(absl::string_view directory, const CommittedData& data);
// The first data of a file that is begun now.
CommittedData NewData(const Writer& writer, const DataFormat& format,
                      ShardIndex shard, uint32_t number);

// A segment file: what was kPlaced, and will never change.
struct SegmentId {
  Writer writer;
  uint32_t number = 0;
  friend bool operator==(const SegmentId&, const SegmentId&) = default;
};

// All that is committed.
struct CommittedState {
  // By shard; empty below exactly-once.
  std::vector<Step> progress;
  // The newest segment, which names the one before it. All files in segments
  // are to be read before those below.
  std::optional<SegmentId> sealed;
  // Those of one shard stand in the order in which they are to be read.
  // Bound: one open file a shard, and those finished that no segment holds.
  std::vector<CommittedData> data;

  friend bool operator==(const CommittedState&,
                         const CommittedState&) = default;
};

// One shard's part of a commit.
struct ShardCommit {
  ShardIndex shard = 0;
  // Of its data file under this writer.
  uint32_t number = 0;
  // The file's new committed length.
  uint64_t bytes = 0;
  // New progress; 0 below exactly-once.
  Step progress = 0;
  // With it the file is finished.
  bool finishes = false;

  friend bool operator==(const ShardCommit&, const ShardCommit&) = default;
};

// Applies one commit of `writer`. False: it contradicts `state` (shard out of
// range, something would go back, another file is open); `state` may then be
// half changed.
[[nodiscard]] bool ApplyCommit(const Writer& writer, const DataFormat& format,
                               uint32_t shards,
                               const std::vector<ShardCommit>& commits,
                               CommittedState& state);

}  // namespace penstock::core
