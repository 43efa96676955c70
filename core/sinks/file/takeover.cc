#include "core/sinks/file/takeover.h"

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "core/sinks/file/committed_state.h"
#include "core/sinks/file/durable.h"
#include "core/sinks/file/finished_files.h"
#include "core/sinks/file/layout.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

absl::Status Fenced(absl::string_view directory, const Writer& writer,
                    const Writer& other) {
  return MakeError(
      Reason::WRITER_FENCED,
      absl::StrCat(
          "writer ", WriterName(writer), " of ", directory,
          other == writer ? " was used before" : " is fenced by writer ",
          other == writer ? "" : WriterName(other),
          "; assert the epoch, then reopen with a higher writer"),
      {{"path", std::string(directory)},
       {"writer", WriterName(writer)},
       {"higher_writer", WriterName(other)}});
}

absl::Status Foreign(absl::string_view directory, const SinkIdentity& other) {
  return MakeError(
      Reason::FOREIGN_PROGRESS,
      absl::StrCat("directory ", directory, " belongs to connector ",
                   other.connector, " of pipeline ", other.pipeline,
                   ", incarnation ", other.incarnation,
                   "; choose another directory, or move its claims, manifests, "
                   "segments and data files away"),
      {{"path", std::string(directory)},
       {"incarnation", other.incarnation},
       {"pipeline", other.pipeline},
       {"connector", other.connector}});
}

// The steps of one open, in order.
// Threads: confined to the call that made it.
class Opening {
 public:
  Opening(FileSystem& files, absl::string_view directory,
          const OutputOpen& open, const TakeoverOptions& options)
      : files_(files),
        directory_(directory),
        open_(open),
        options_(options),
        header_{.identity = {.incarnation = open.incarnation,
                             .pipeline = open.pipeline,
                             .connector = open.connector},
                .writer = open.writer,
                .shards = open.shards,
                .level = open.level,
                .format = options.format} {}

  absl::StatusOr<TakenOver> Run() {
    absl::StatusOr<TakenOver> taken = CheckAndTake();
    if (taken.ok()) return taken;
    if (claimed_) WithdrawClaim();
    return Explain(taken.status());
  }

 private:
  absl::StatusOr<TakenOver> CheckAndTake() {
    RETURN_IF_ERROR(CheckBeforeClaim());
    return ClaimAndTake();
  }

  // A higher writer removes what it supersedes, also what we listed and were
  // about to read. So whatever looks like damage says nothing once there is
  // one.
  absl::Status Explain(const absl::Status& error) const {
    if (HasReason(error, Reason::FOREIGN_PROGRESS)) return error;
    const absl::Status fence = CheckFence(files_, directory_, open_.writer);
    return HasReason(fence, Reason::WRITER_FENCED) ? fence : error;
  }

  absl::StatusOr<TakenOver> ClaimAndTake() {
    RETURN_IF_ERROR(MakeClaim());
    // What lower writers add from here on they never report, for they look
    // for our claim after it. So the state read now holds all they reported.
    // Before claims, so that whoever wrote them is seen to be higher.
    ASSIGN_OR_RETURN(const std::vector<SinkFile> hidden,
                     ListHiddenFiles(files_, directory_));
    ASSIGN_OR_RETURN(const std::vector<SinkFile> listing,
                     ListSinkFiles(files_, directory_));
    RETURN_IF_ERROR(RefuseHigher(listing));
    std::vector<SinkFile> all = listing;
    all.insert(all.end(), hidden.begin(), hidden.end());
    ASSIGN_OR_RETURN(const std::optional<FoundState> found,
                     FindCommittedState(files_, directory_, all));
    if (found.has_value() && found->header.identity != header_.identity) {
      return Foreign(directory_, found->header.identity);
    }
    ASSIGN_OR_RETURN(CommittedState state, Adopt(found));
    RETURN_IF_ERROR(CheckCommittedData(files_, directory_, state));
    RETURN_IF_ERROR(CheckFence(files_, directory_, open_.writer));
    uint32_t next_segment = 0;
    const std::optional<SegmentId> newest_segment = state.sealed;
    RETURN_IF_ERROR(Tidy(next_segment, state));
    ASSIGN_OR_RETURN(ManifestPart manifest,
                     MakeManifestPart(files_, directory_, header_, state, 0));
    // A higher writer that did not see our manifest is seen here.
    RETURN_IF_ERROR(CheckFence(files_, directory_, open_.writer));
    RemoveSuperseded(listing, found, newest_segment);
    RETURN_IF_ERROR(Place(state));
    RemoveLeftovers(hidden, found, state);
    return TakenOver{.header = std::move(header_),
                     .state = std::move(state),
                     .manifest = std::move(manifest),
                     .next_segment = next_segment};
  }

  // No file that is committed will grow any more, and few are listed in the
  // manifest to come.
  absl::Status Tidy(uint32_t& next_segment, CommittedState& state) {
    if (header_.format.renames()) {
      RETURN_IF_ERROR(
          files_.CreateDirectories(JoinPath(directory_, kFilesDirectory)));
    }
    RETURN_IF_ERROR(FinishLeftovers(files_, directory_, header_, state, made_));
    const absl::Status sealed =
        SealPlaced(files_, directory_, header_, options_.segment_files,
                   next_segment, state);
    for (uint32_t number = 0; number < next_segment; ++number) {
      made_.push_back(JoinPath(directory_, SegmentName(open_.writer, number)));
    }
    return sealed;
  }

  // Nobody can take back what our manifest says is finished. A full disk holds
  // up no open: commits try again.
  absl::Status Place(CommittedState& state) const {
    const absl::Status placed = PlaceFinished(files_, directory_, state);
    if (!HasReason(placed, Reason::STORAGE_FULL)) return placed;
    LOG(WARNING).With("path", directory_)
        << "finished files will be renamed later: " << placed.message();
    return absl::OkStatus();
  }

  // An open that ends before anybody can take its manifest for complete has
  // never been, and without its claim nothing tells of it: otherwise each
  // attempt on a full disk would leave one more. Who saw the claim gave way
  // for nothing, no more. If a crash brings it back, it is one of many.
  void WithdrawClaim() const {
    const std::string manifest =
        JoinPath(directory_, ManifestName(open_.writer, 0));
    if (!HasReason(files_.Stat(manifest).status(), Reason::NOT_FOUND)) return;
    for (const std::string& path : made_) files_.Remove(path).IgnoreError();
    const absl::Status removed =
        files_.Remove(JoinPath(directory_, ClaimName(open_.writer)));
    // A higher writer may have been faster.
    if (!removed.ok() && !HasReason(removed, Reason::NOT_FOUND)) {
      LOG(WARNING) << "taking back the claim of an open that failed: "
                   << removed;
    }
  }

  // Whoever claims from here on finds our manifest, and lower writers find that
  // they are fenced: their claims and manifests serve nobody, and each commit
  // would list them. What we took over from stays, for those who are just
  // reading it, and so do all data. Segments name those before them, so one
  // above the newest is what a crash left.
  void RemoveSuperseded(const std::vector<SinkFile>& listing,
                        const std::optional<FoundState>& found,
                        const std::optional<SegmentId>& newest) const {
    const auto is_superseded = [&](const SinkFile& file) {
      if (!(file.writer < open_.writer)) return false;
      if (file.kind == SinkFileKind::kSegment) {
        return !newest.has_value() ||
               std::pair(newest->writer, newest->number) <
                   std::pair(file.writer, file.number);
      }
      return (file.kind == SinkFileKind::kClaim ||
              file.kind == SinkFileKind::kManifest) &&
             (!found.has_value() || file.writer != found->header.writer);
    };
    for (const SinkFile& file : listing) {
      if (!is_superseded(file)) continue;
      const absl::Status removed =
          files_.Remove(JoinPath(directory_, SinkFileName(file)));
      // Another open may have been faster; the next one tries again.
      if (!removed.ok() && !HasReason(removed, Reason::NOT_FOUND)) {
        LOG(WARNING) << "removing what is superseded: " << removed;
        return;
      }
    }
  }

  // Hidden files of lower writers were copied, or never committed, unless they
  // wait for their final name. Those of the writer that we took over from stay
  // for those who are just reading them.
  void RemoveLeftovers(const std::vector<SinkFile>& hidden,
                       const std::optional<FoundState>& found,
                       const CommittedState& state) const {
    for (const SinkFile& file : hidden) {
      const bool is_needed =
          !(file.writer < open_.writer) ||
          (found.has_value() && file.writer == found->header.writer) ||
          std::any_of(state.data.begin(), state.data.end(),
                      [&file](const CommittedData& data) {
                        return FileOf(data) == file;
                      });
      if (is_needed) continue;
      const absl::Status removed =
          files_.Remove(JoinPath(JoinPath(directory_, kFilesDirectory),
                                 absl::StrCat(".", SinkFileName(file))));
      if (!removed.ok() && !HasReason(removed, Reason::NOT_FOUND)) {
        LOG(WARNING) << "removing what nobody lists: " << removed;
        return;
      }
    }
  }

  // Leaves no trace where we have no business.
  absl::Status CheckBeforeClaim() const {
    ASSIGN_OR_RETURN(const std::vector<SinkFile> listing,
                     ListSinkFiles(files_, directory_));
    const std::optional<Writer> highest = HighestWriter(listing);
    if (!highest.has_value()) return absl::OkStatus();
    RETURN_IF_ERROR(RefuseForeign(listing, *highest));
    if (*highest == open_.writer) {
      return Fenced(directory_, open_.writer, *highest);
    }
    return RefuseHigher(listing);
  }

  // Looks at the highest claim and at the highest manifest that has a header.
  absl::Status RefuseForeign(const std::vector<SinkFile>& listing,
                             const Writer& highest) const {
    for (auto file = listing.rbegin(); file != listing.rend(); ++file) {
      if (file->kind != SinkFileKind::kManifest) continue;
      ASSIGN_OR_RETURN(const std::optional<ManifestHeader> header,
                       ReadHeaderOf(files_, directory_, *file));
      if (!header.has_value()) continue;
      if (header->identity != header_.identity) {
        return Foreign(directory_, header->identity);
      }
      break;
    }
    const SinkFile claim = {.kind = SinkFileKind::kClaim, .writer = highest};
    ASSIGN_OR_RETURN(const std::optional<ManifestHeader> header,
                     ReadHeaderOf(files_, directory_, claim));
    if (header.has_value() && header->identity != header_.identity) {
      return Foreign(directory_, header->identity);
    }
    return absl::OkStatus();
  }

  absl::Status RefuseHigher(const std::vector<SinkFile>& listing) const {
    const std::optional<Writer> highest = HighestWriter(listing);
    if (highest.has_value() && open_.writer < *highest) {
      return Fenced(directory_, open_.writer, *highest);
    }
    return absl::OkStatus();
  }

  absl::Status MakeClaim() {
    const std::string path = JoinPath(directory_, ClaimName(open_.writer));
    auto claim =
        files_.OpenForAppend(path, {.create = true, .exclusive = true});
    if (HasReason(claim.status(), Reason::ALREADY_EXISTS)) {
      return Fenced(directory_, open_.writer, open_.writer);
    }
    RETURN_IF_ERROR(claim.status());
    claimed_ = true;
    RETURN_IF_ERROR(AppendRecord(**claim, path, 0, EncodeHeader(header_)));
    RETURN_IF_ERROR(SyncFile(**claim, path));
    return SyncNames(files_, directory_);
  }

  absl::StatusOr<CommittedState> Adopt(
      const std::optional<FoundState>& found) const {
    CommittedState state;
    if (found.has_value()) state = found->state;
    if (open_.level != FtModel::kExactlyOnce) {
      state.progress.clear();
      return state;
    }
    if (state.progress.empty()) {
      if (!open_.first_open) return ProgressLost(found);
      state.progress.assign(open_.shards, open_.base_steps);
    } else if (state.progress.size() != open_.shards) {
      RETURN_IF_ERROR(CheckReshard(state.progress));
      state.progress.assign(open_.shards, open_.base_steps);
    }
    return state;
  }

  absl::Status ProgressLost(const std::optional<FoundState>& found) const {
    return MakeError(
        Reason::PROGRESS_LOST,
        absl::StrCat("directory ", directory_,
                     " holds no progress of connector ", open_.connector,
                     found.has_value() ? ", which last ran below exactly-once"
                                       : " and no manifest",
                     ", though it was opened before; restore the directory, or "
                     "start anew: another connector name, another directory"),
        {{"path", std::string(directory_)}});
  }

  // Shards may change in number only where all stand at the checkpoint.
  absl::Status CheckReshard(const std::vector<Step>& progress) const {
    const auto [low, high] =
        std::minmax_element(progress.begin(), progress.end());
    if (*low == open_.base_steps && *high == open_.base_steps) {
      return absl::OkStatus();
    }
    return MakeError(
        *low < open_.base_steps ? Reason::PROGRESS_BEHIND
                                : Reason::PROGRESS_AHEAD,
        absl::StrCat("changing from ", progress.size(), " to ", open_.shards,
                     " shards: progress of the old ones is ", *low, " to ",
                     *high, ", not the checkpoint ", open_.base_steps,
                     "; take a clean checkpoint first"),
        {{"path", std::string(directory_)}});
  }

  FileSystem& files_;
  const absl::string_view directory_;
  const OutputOpen& open_;
  const TakeoverOptions& options_;
  ManifestHeader header_;
  // The claim is there, and it was this open that made it.
  bool claimed_ = false;
  // Copies and segments, which an open that fails takes back.
  std::vector<std::string> made_;
};

}  // namespace

absl::Status CheckFence(FileSystem& files, absl::string_view directory,
                        const Writer& writer) {
  ASSIGN_OR_RETURN(const std::optional<Writer> highest,
                   FindHighestWriter(files, directory));
  if (highest.has_value() && writer < *highest) {
    return Fenced(directory, writer, *highest);
  }
  return absl::OkStatus();
}

absl::Status CheckThere(FileSystem& files, absl::string_view directory,
                        const Writer& writer, absl::string_view path,
                        uint64_t bytes) {
  const absl::StatusOr<FileStat> stat = files.Stat(path);
  if (stat.ok() && stat->size >= bytes) return absl::OkStatus();
  const absl::Status fence = CheckFence(files, directory, writer);
  if (HasReason(fence, Reason::WRITER_FENCED)) return fence;
  if (!stat.ok()) return UnknownOutcome("look for", path, stat.status());
  return UnknownOutcome(
      "look at", path,
      MakeError(Reason::IO_ERROR,
                absl::StrCat("it has ", stat->size, " bytes of the ", bytes,
                             " written; somebody cut it off or put another "
                             "in its place")));
}

absl::StatusOr<ManifestPart> MakeManifestPart(FileSystem& files,
                                              absl::string_view directory,
                                              const ManifestHeader& header,
                                              const CommittedState& state,
                                              uint32_t part) {
  const std::string path =
      JoinPath(directory, ManifestName(header.writer, part));
  const std::string content =
      absl::StrCat(EncodeHeader(header), EncodeState(state));
  ASSIGN_OR_RETURN(
      std::unique_ptr<File> file,
      files.OpenForAppend(path, {.create = true, .exclusive = true}));
  const absl::Status appended = AppendRecord(*file, path, 0, content);
  if (!appended.ok()) {
    // It is empty, and would be one of many that a full disk leaves. Who
    // listed it before finds it gone, which means the same.
    if (HasReason(appended, Reason::STORAGE_FULL)) {
      files.Remove(path).IgnoreError();
    }
    return appended;
  }
  RETURN_IF_ERROR(SyncFile(*file, path));
  RETURN_IF_ERROR(SyncNames(files, directory));
  return ManifestPart{.file = std::move(file), .bytes = content.size()};
}

absl::StatusOr<TakenOver> TakeOver(FileSystem& files,
                                   absl::string_view directory,
                                   const OutputOpen& open,
                                   const TakeoverOptions& options) {
  return Opening(files, directory, open, options).Run();
}

}  // namespace penstock::core
