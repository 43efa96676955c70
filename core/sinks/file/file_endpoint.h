// Writes one shard of a file sink.
#pragma once

#include "core/base/filesystem.h"
#include "core/compress/compressor.h"
#include "core/contract/output_endpoint.h"
#include "core/record/step.h"
#include "core/sinks/file/file_committer.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace penstock::core {

// Appends frames as they come to a data file, made with the first of them and
// synced in BatchEnd; so the shards sync side by side and the committer only
// its record. What a failed batch left is cut off before the next write; never
// below the committed length, and never once the committer is broken, for then
// a higher writer may count on more. A batch is a member of its own, where the
// file is compressed: a file cut back to what is committed is whole.
//
// Owner:     the shard worker. Threads: as OutputEndpoint.
// Lifecycle: Connect, batches; it does not outlive the file system.
// Bound:     one open file; no buffer but the compressor's.
class FileEndpoint final : public OutputEndpoint {
 public:
  struct Options {
    // The sink's.
    std::string directory;
    int compression_level = 0;
    ShardIndex shard = 0;
    size_t buffer_bytes_max = 0;
    bool fault_tolerant = false;
  };
  FileEndpoint(FileSystem& files, Options options,
               std::shared_ptr<FileCommitter> committer);

  absl::Status Connect(AsyncErrorCallback on_error) override;
  size_t MaxBufferSizeBytes() const override;
  absl::Status BatchStart(const OutputBatch& started) override;
  absl::Status PushBuffer(absl::string_view buffer) override;
  // UNSUPPORTED: rows only.
  absl::Status PushKey(std::optional<absl::string_view> key,
                       std::optional<absl::string_view> value,
                       std::span<const MessageHeader> headers) override;
  absl::Status BatchEnd() override;
  bool IsFaultTolerant() const override { return options_.fault_tolerant; }
  uint64_t MemoryBytes() const override;

 private:
  // The file with that number is the one to write.
  void TurnTo(uint32_t number);
  absl::Status CutBack(uint64_t bytes);
  // Adds to the file.
  absl::Status Append(absl::string_view bytes);
  absl::Status EndMember();
  absl::Status MakeFile();
  absl::Status CheckInBatch(absl::string_view what) const;

  FileSystem& files_;
  const Options options_;
  // Shared by: the sink, the endpoints, the round under way.
  const std::shared_ptr<FileCommitter> committer_;

  // Null: files are not compressed.
  const std::unique_ptr<Compressor> compressor_;

  uint32_t number_ = 0;
  std::string path_;
  std::unique_ptr<File> file_;
  bool name_synced_ = false;
  // False also while a call runs: one that fails ends the batch.
  bool in_batch_ = false;
  StepRange steps_;
  // The batch was committed before: nothing of it is written.
  bool held_ = false;
  // The compressor has something of this batch.
  bool in_member_ = false;
  uint64_t committed_bytes_ = 0;
  // The file's size; after a failed append the file may be longer.
  uint64_t bytes_ = 0;
  bool may_be_longer_ = false;
  // Of this batch the disk was told up to here.
  uint64_t advised_bytes_ = 0;
};

}  // namespace penstock::core
