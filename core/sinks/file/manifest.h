// What a manifest says, and how: checksummed records, appended, never changed.
// A public format: core/sinks/file/README.md draws it byte by byte.
#pragma once

#include "core/contract/ft_model.h"
#include "core/contract/output_target.h"
#include "core/record/step.h"
#include "core/sinks/file/committed_data.h"

#include <absl/strings/string_view.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace penstock::core {

inline constexpr uint32_t kManifestVersion = 2;
// Written before there were segments, compression and several files a shard.
inline constexpr uint32_t kManifestVersionOldest = 1;
inline constexpr uint32_t kSinkShardsMax = 4096;
// Beyond this a manifest cannot be ours: every part is rolled long before.
inline constexpr uint64_t kManifestReadBytesMax = uint64_t{256} << 20;

// Whose files they are.
struct SinkIdentity {
  std::string incarnation;
  std::string pipeline;
  std::string connector;

  friend bool operator==(const SinkIdentity&, const SinkIdentity&) = default;
};

// The head of every claim and manifest.
struct ManifestHeader {
  SinkIdentity identity;
  Writer writer;
  uint32_t shards = 1;
  std::optional<FtModel> level;
  DataFormat format;

  friend bool operator==(const ManifestHeader&,
                         const ManifestHeader&) = default;
};

// Encoders: each gives the bytes of one record. `sequence` counts the records
// of one file from 0: header, state, commits, perhaps a continuation.
std::string EncodeHeader(const ManifestHeader& header);
std::string EncodeState(const CommittedState& state);
std::string EncodeCommit(uint64_t sequence,
                         const std::vector<ShardCommit>& commits);
// The last record of a part that goes on in part `next_part`.
std::string EncodeContinued(uint64_t sequence, uint32_t next_part);

// A segment, and all of its file: files that are kPlaced, and the segment
// before it.
struct Segment {
  ManifestHeader header;
  std::optional<SegmentId> previous;
  std::vector<CommittedData> data;

  friend bool operator==(const Segment&, const Segment&) = default;
};
std::string EncodeSegment(const Segment& segment);
// nullopt: `bytes` are not a whole segment of `writer`.
std::optional<Segment> ParseSegment(absl::string_view bytes,
                                    const Writer& writer);

// The sequence number of the first commit in a part.
inline constexpr uint64_t kFirstCommitSequence = 2;

// A manifest, read.
struct Manifest {
  enum class Outcome {
    // Header and state are whole; so is every commit up to `good_bytes`.
    // What follows, if anything, is what a crash leaves of one record.
    kComplete,
    // As an open that a crash cut short may leave it: nothing was ever
    // committed here.
    kIncomplete,
    // Nothing but damage explains it.
    kDamaged,
    // Made by a newer version of this program.
    kNewerVersion,
  };
  Outcome outcome = Outcome::kIncomplete;
  ManifestHeader header;
  CommittedState state;
  // Where the good records end.
  uint64_t good_bytes = 0;
  // Set: commits go on in that part, from exactly this state.
  std::optional<uint32_t> continued_in;
  // What is wrong, and where; empty if complete.
  std::string problem;
};

// Reads all bytes of a manifest that should be `writer`'s.
// A crash may leave of the record that was being appended any prefix, and NUL
// bytes instead of any sector or of its end; all older records were synced.
// Whatever cannot have come about so is damage: a good record after a bad one,
// more bytes than one record has, a whole record with a wrong byte.
Manifest ParseManifest(absl::string_view bytes, const Writer& writer);

// The header at the start of a claim or manifest; nullopt: none that is whole.
std::optional<ManifestHeader> ParseHeader(absl::string_view bytes);
// How many bytes are enough for ParseHeader.
inline constexpr size_t kHeaderBytesMax = size_t{16} << 10;

}  // namespace penstock::core
