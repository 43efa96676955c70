#include "tests/core/sinks/file/sink_process.h"

#include "core/base/status_macros.h"
#include "core/compress/decoder.h"
#include "core/sinks/file/file_sink_reader.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <gtest/gtest.h>

#include <span>
#include <utility>

namespace penstock::core {
namespace {

FileSinkConfig WithPath(FileSinkConfig config) {
  config.path = kDirectory;
  return config;
}

std::string Decompressed(Compression compression, absl::string_view bytes) {
  if (compression == Compression::kNone) return std::string(bytes);
  const std::unique_ptr<Decoder> decoder = MakeDecoder(compression);
  std::string result;
  std::string out(1 << 16, '\0');
  while (true) {
    const auto progress = decoder->Decode(bytes, std::span(out));
    EXPECT_EQ(decoder->defect(), std::nullopt);
    if (progress.consumed == 0 && progress.produced == 0) break;
    result.append(out, 0, progress.produced);
    bytes.remove_prefix(progress.consumed);
  }
  EXPECT_TRUE(bytes.empty());
  EXPECT_TRUE(decoder->MayEnd());
  return result;
}

}  // namespace

std::vector<std::string> RowsOf(ShardIndex shard, Step step) {
  std::vector<std::string> rows;
  for (Step row = 0; row < (step * 3 + shard) % 4; ++row) {
    const size_t padding = (step * 7 + row * 5 + shard) % 3 * 400;
    rows.push_back(absl::StrCat("shard ", shard, " step ", step, " row ", row,
                                " ", std::string(padding, '.'), "\n"));
  }
  return rows;
}

std::string ContentsBelow(ShardIndex shard, Step steps) {
  std::string contents;
  for (Step step = 0; step < steps; ++step) {
    for (const std::string& row : RowsOf(shard, step)) contents += row;
  }
  return contents;
}

OutputOpen OpenOf(uint64_t open_number, bool first_open) {
  return {.incarnation = "1234abcd",
          .pipeline = "p",
          .connector = "c",
          .writer = {.epoch = 1, .open_number = open_number},
          .base_steps = 0,
          .first_open = first_open,
          .shards = kShards,
          .level = FtModel::kExactlyOnce};
}

SinkProcess::SinkProcess(FileSystem& files, Options options)
    : options_(options),
      sink_(
          WithPath(options.config),
          {.files = files, .io = io_, .clock = RealClock(), .paths = paths_}) {}

FileSinkConfig InParts(uint64_t manifest_bytes_max) {
  FileSinkConfig config;
  config.manifest_bytes_max = manifest_bytes_max;
  return config;
}

FileSinkConfig Rolling() {
  FileSinkConfig config = InParts(200);
  config.roll.bytes = 500;
  config.segment_files = 2;
  return config;
}

FileSinkConfig Renaming(Compression compression) {
  FileSinkConfig config = InParts(200);
  config.roll.steps = 2;
  config.segment_files = 2;
  config.visibility = FileVisibility::kRename;
  config.compression = compression;
  return config;
}

void SinkProcess::Run() {
  Open();
  if (opened_.ok()) WriteAll();
}

void SinkProcess::Open() {
  opened_ = sink_.Open(OpenOf(options_.open_number, options_.first_open));
  if (!opened_.ok()) return;
  confirmed_ = *opened_;
  for (ShardIndex shard = 0; shard < kShards; ++shard) {
    auto endpoint = sink_.MakeEndpoint(shard);
    ASSERT_TRUE(endpoint.ok()) << endpoint.status();
    endpoints_.push_back(*std::move(endpoint));
  }
}

void SinkProcess::WriteAll() {
  for (Step step = 0; step < options_.steps; ++step) {
    std::vector<std::vector<ShardIndex>> rounds;
    for (ShardIndex shard = 0; shard < kShards; ++shard) {
      if (step < confirmed_[shard]) continue;
      if (rounds.empty() || step % 2 == 1) rounds.emplace_back();
      rounds.back().push_back(shard);
    }
    for (const std::vector<ShardIndex>& shards : rounds) {
      for (int tries = 0; tries <= options_.retries; ++tries) {
        const absl::Status status = WriteStep(step, shards);
        if (status_.ok()) status_ = status;
        if (status.ok()) break;
      }
      if (!status_.ok()) return;
    }
  }
}

void SinkProcess::Advance(absl::Duration duration) {
  io_.Advance(duration);
  io_.RunUntilIdle();
}

absl::Status SinkProcess::WriteBatch(ShardIndex shard, Step step) {
  OutputEndpoint& endpoint = *endpoints_[shard];
  RETURN_IF_ERROR(endpoint.BatchStart({.steps = {step, step + 1}}));
  for (const std::string& row : RowsOf(shard, step)) {
    RETURN_IF_ERROR(endpoint.PushBuffer(row));
  }
  return endpoint.BatchEnd();
}

absl::Status SinkProcess::WriteStep(Step step,
                                    const std::vector<ShardIndex>& shards) {
  absl::Status result;
  for (const ShardIndex shard : shards) {
    if (confirmed_[shard] > step) continue;
    const absl::Status written = WriteBatch(shard, step);
    if (!written.ok()) {
      result = written;
      continue;
    }
    sink_.Committer().Commit(
        shard, {step, step + 1},
        [this, shard, step, &result](const absl::Status& status) {
          if (status.ok()) {
            confirmed_[shard] = step + 1;
          } else {
            result = status;
          }
        });
  }
  io_.RunUntilIdle();
  return result;
}

absl::StatusOr<Committed> ReadCommitted(FileSystem& files,
                                        absl::string_view directory) {
  ASSIGN_OR_RETURN(const FileSinkReader reader,
                   FileSinkReader::Open(files, directory));
  Committed committed;
  committed.progress = reader.progress();
  committed.settled = reader.settled();
  for (ShardIndex shard = 0; shard < reader.shards(); ++shard) {
    std::string& contents = committed.contents.emplace_back();
    ASSIGN_OR_RETURN(const auto data, reader.Files(shard));
    for (const FileSinkReader::DataFile& file : data) {
      ASSIGN_OR_RETURN(const std::string bytes, files.ReadFile(file.path));
      EXPECT_GE(bytes.size(), file.committed_bytes) << file.path;
      contents +=
          Decompressed(file.compression, bytes.substr(0, file.committed_bytes));
    }
  }
  return committed;
}

std::vector<std::string> ReadWholeFiles(FakeFileSystem& files) {
  std::vector<std::string> shards(kShards);
  const std::string directory = absl::StrCat(kDirectory, "/files/");
  for (const std::string& path : files.Files()) {
    if (!absl::StartsWith(path, directory)) continue;
    const std::string name = path.substr(directory.size());
    if (name.front() == '.') continue;
    Compression compression = Compression::kNone;
    if (absl::EndsWith(name, ".gz")) compression = Compression::kGzip;
    if (absl::EndsWith(name, ".zst")) compression = Compression::kZstd;
    const ShardIndex shard = static_cast<ShardIndex>(name[8] - '0');
    shards[shard] += Decompressed(compression, *files.Contents(path));
  }
  return shards;
}

void ExpectConsistent(const Committed& committed) {
  ASSERT_EQ(committed.progress.size(), kShards);
  ASSERT_EQ(committed.contents.size(), kShards);
  for (ShardIndex shard = 0; shard < kShards; ++shard) {
    EXPECT_EQ(committed.contents[shard],
              ContentsBelow(shard, committed.progress[shard]))
        << "shard " << shard << " at " << committed.progress[shard];
  }
}

}  // namespace penstock::core
