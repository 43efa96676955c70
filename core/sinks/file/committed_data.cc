#include "core/sinks/file/committed_data.h"

#include "core/base/filesystem.h"

#include <absl/strings/str_cat.h>

namespace penstock::core {
namespace {

// The file of `commit`, if it was committed before; `is_new`: it was not, and
// may begin now.
CommittedData* FindData(const Writer& writer, const ShardCommit& commit,
                        CommittedState& state, bool& is_new) {
  is_new = true;
  // This writer's data stand last.
  for (auto data = state.data.rbegin();
       data != state.data.rend() && data->writer == writer; ++data) {
    if (data->shard != commit.shard) continue;
    is_new = data->number < commit.number && data->stage != DataStage::kOpen;
    return data->number == commit.number ? &*data : nullptr;
  }
  return nullptr;
}

}  // namespace

SinkFile FileOf(const CommittedData& data) {
  return {.kind = data.is_copy ? SinkFileKind::kCopy : SinkFileKind::kData,
          .writer = data.writer,
          .number = data.number,
          .shard = data.shard,
          .compression = data.compression};
}

std::string WorkPathOf(absl::string_view directory, const CommittedData& data) {
  const std::string name = SinkFileName(FileOf(data));
  if (data.final_name.empty()) return JoinPath(directory, name);
  return JoinPath(JoinPath(directory, kFilesDirectory),
                  absl::StrCat(".", name));
}

std::string FinalPathOf(absl::string_view directory,
                        const CommittedData& data) {
  if (data.final_name.empty()) return WorkPathOf(directory, data);
  return JoinPath(JoinPath(directory, kFilesDirectory), data.final_name);
}

CommittedData NewData(const Writer& writer, const DataFormat& format,
                      ShardIndex shard, uint32_t number) {
  CommittedData data = {.shard = shard,
                        .writer = writer,
                        .number = number,
                        .compression = format.compression};
  if (format.renames()) data.final_name = FinalName(format.name, FileOf(data));
  return data;
}

bool ApplyCommit(const Writer& writer, const DataFormat& format,
                 uint32_t shards, const std::vector<ShardCommit>& commits,
                 CommittedState& state) {
  for (const ShardCommit& commit : commits) {
    if (commit.shard >= shards) return false;
    if (!state.progress.empty()) {
      Step& progress = state.progress[commit.shard];
      if (commit.progress < progress) return false;
      progress = commit.progress;
    }
    bool is_new = false;
    CommittedData* data = FindData(writer, commit, state, is_new);
    if (data == nullptr) {
      if (commit.bytes == 0 && !commit.finishes) continue;
      if (commit.bytes == 0 || !is_new) return false;
      state.data.push_back(
          NewData(writer, format, commit.shard, commit.number));
      data = &state.data.back();
    }
    if (data->stage != DataStage::kOpen || commit.bytes < data->bytes) {
      return false;
    }
    data->bytes = commit.bytes;
    if (commit.finishes) {
      data->stage =
          data->final_name.empty() ? DataStage::kPlaced : DataStage::kFinished;
    }
  }
  return true;
}

}  // namespace penstock::core
