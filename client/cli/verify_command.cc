#include "client/cli/verify_command.h"

#include "client/cli/line_file.h"
#include "client/cli/multiset_check.h"
#include "client/cli/progress_meter.h"
#include "client/cli/record_file.h"
#include "client/pipeline_file.h"
#include "core/base/error.h"
#include "core/base/filesystem.h"
#include "core/base/json_text.h"
#include "core/base/status_macros.h"
#include "core/connector/requests.h"
#include "core/contract/ft_model.h"
#include "core/sinks/file/config.h"
#include "core/sinks/file/file_sink_reader.h"
#include "core/sources/file/config.h"
#include "core/sources/file/file_finder.h"
#include "core/sources/file/open_file.h"
#include "core/sources/file/path_pattern.h"
#include "core/sources/file/stream_source.h"

#include <absl/strings/str_cat.h>
#include <simdjson.h>

#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace penstock::client {
namespace {

std::string Quoted(absl::string_view text) {
  std::string json;
  core::AppendJsonString(text, json);
  return json;
}

// One comparison: the inputs of a connector against the sink's directory.
struct Comparison {
  std::string name;
  // Paths or patterns.
  std::vector<std::string> inputs;
  core::FileCompression compression = core::FileCompression::kAuto;
  std::string output;
  // Bad records are skipped by the source and not expected in the output.
  bool is_ndjson = true;
  // Of records that are not lines; otherwise null.
  std::shared_ptr<const core::ComponentConfig> format = nullptr;
  core::Schema schema = {};
  // What lacks its line end is not read yet.
  bool is_followed = false;
  uint64_t record_bytes_max = core::ConnectorLimits{}.record_bytes_max;
  // nullopt: none.
  std::optional<core::FtModel> level = core::FtModel::kExactlyOnce;
};

struct Verdict {
  uint64_t records_in = 0;
  uint64_t records_out = 0;
  uint64_t lost = 0;
  uint64_t skipped = 0;
  uint64_t doubled = 0;
  uint64_t foreign = 0;
  uint64_t disordered = 0;
  bool settled = true;
  std::vector<Finding> findings;

  // What each level promises, and no more.
  bool IsGood(std::optional<core::FtModel> level) const {
    if (foreign > 0 || !settled) return false;
    if (!level.has_value()) return true;
    if (lost > 0) return false;
    return level == core::FtModel::kAtLeastOnce ||
           (doubled == 0 && disordered == 0);
  }
};

const char* KindName(Finding::Kind kind) {
  switch (kind) {
    case Finding::Kind::kLost:
      return "lost";
    case Finding::Kind::kDoubled:
      return "doubled";
    case Finding::Kind::kForeign:
      return "not in the input";
    case Finding::Kind::kDisordered:
      return "out of order";
  }
  return "?";
}

absl::StatusOr<std::optional<core::FtModel>> LevelOf(absl::string_view name) {
  for (const std::optional<core::FtModel> level :
       {std::optional<core::FtModel>(),
        std::optional(core::FtModel::kAtLeastOnce),
        std::optional(core::FtModel::kExactlyOnce)}) {
    if (name == core::LevelName(level)) return level;
  }
  return core::MakeError(
      core::Reason::INVALID_CONFIG,
      absl::StrCat("verifying at level '", name,
                   "': name none, at_least_once or exactly_once"));
}

// What the verdict says if all is well.
std::string Praise(std::optional<core::FtModel> level, uint64_t doubled) {
  if (level == core::FtModel::kExactlyOnce) return "every record exactly once";
  if (!level.has_value()) return "level none promises no more";
  return absl::StrCat("every record at least once, ", doubled, " doubled");
}

absl::StatusOr<std::vector<Comparison>> ComparisonsOf(
    const VerifyOptions& options) {
  if (options.pipeline_file.empty()) {
    Comparison comparison;
    comparison.inputs = options.inputs;
    comparison.output = options.output;
    ASSIGN_OR_RETURN(comparison.level, LevelOf(options.level));
    return std::vector<Comparison>{std::move(comparison)};
  }
  ASSIGN_OR_RETURN(
      const PipelineFile pipeline,
      LoadPipelineFile(core::PosixFileSystem(), options.pipeline_file));
  std::vector<Comparison> comparisons;
  for (const core::ConnectorSpec& spec : pipeline.connectors) {
    if (spec.source == nullptr || spec.source->type() != "file" ||
        spec.sink == nullptr || spec.sink->type() != "file") {
      continue;
    }
    const absl::string_view format =
        spec.format == nullptr ? "" : spec.format->type();
    const bool has_lines = format == "raw" || format == "ndjson";
    const auto& source =
        static_cast<const core::FileSourceConfig&>(*spec.source);
    if (source.path == core::kStandardInput) {
      return core::MakeError(
          core::Reason::UNSUPPORTED,
          absl::StrCat(
              "verifying ", options.pipeline_file, ": connector ", spec.name,
              " read what was piped in, which is nowhere "
              "any more; compare a copy of it with --input and --sink"));
    }
    const auto& sink = static_cast<const core::FileSinkConfig&>(*spec.sink);
    comparisons.push_back({.name = spec.name,
                           .inputs = {source.path},
                           .compression = source.compression,
                           .output = sink.path,
                           .is_ndjson = format == "ndjson",
                           .format = has_lines ? nullptr : spec.format,
                           .schema = spec.schema,
                           .is_followed = source.follow,
                           .record_bytes_max = spec.limits.record_bytes_max,
                           .level = spec.level});
  }
  if (comparisons.empty()) {
    return core::MakeError(
        core::Reason::INVALID_CONFIG,
        absl::StrCat("verifying ", options.pipeline_file,
                     ": it has no connector from files to files"));
  }
  return comparisons;
}

// The files that a comparison's inputs name now.
absl::StatusOr<std::vector<std::string>> FilesOf(core::FileSystem& files,
                                                 const Comparison& comparison) {
  std::vector<std::string> paths;
  std::set<std::pair<uint64_t, uint64_t>> seen;
  for (const std::string& input : comparison.inputs) {
    core::FileFinder finder(files, core::PathPattern(input),
                            core::FileOrder::kName);
    const std::vector<core::FoundFile> found = finder.FindAll();
    RETURN_IF_ERROR(finder.problem());
    if (found.empty()) {
      return core::MakeError(
          core::Reason::NOT_FOUND,
          absl::StrCat("verifying: no file matches ", input));
    }
    for (const core::FoundFile& file : found) {
      // Two names of one file are one, as for the source.
      if (!seen.emplace(file.stat.device, file.stat.inode).second) continue;
      paths.push_back(file.path);
    }
  }
  if (paths.size() <= MultisetCheck::kPartitionsMax) return paths;
  return core::MakeError(
      core::Reason::UNSUPPORTED,
      absl::StrCat("verifying: ", paths.size(), " files match, and at most ",
                   MultisetCheck::kPartitionsMax, " can be compared"));
}

// Splits what no output had into lost and bad records.
absl::Status Judge(core::FileSystem& files, const Comparison& comparison,
                   const std::vector<std::string>& paths,
                   const MultisetCheck& check, size_t findings_max,
                   Verdict& verdict) {
  simdjson::dom::parser parser;
  std::optional<core::OpenFile> file;
  std::optional<uint32_t> opened;
  for (const MultisetCheck::Missing& missing : check.Finish()) {
    const std::string& path = paths[missing.partition];
    const auto lose = [&] {
      ++verdict.lost;
      if (verdict.findings.size() < findings_max) {
        verdict.findings.push_back(
            {Finding::Kind::kLost, path, missing.offset});
      }
    };
    // Bad ones are not among these.
    if (comparison.format != nullptr) {
      lose();
      continue;
    }
    if (opened != missing.partition) {
      ASSIGN_OR_RETURN(
          file, core::OpenFile::Open(files, path, comparison.compression));
      opened = missing.partition;
    }
    ASSIGN_OR_RETURN(const std::string line,
                     LineAt(file->content(), missing.offset));
    if (line.size() > comparison.record_bytes_max ||
        (comparison.is_ndjson &&
         parser.parse(simdjson::padded_string(line)).error() !=
             simdjson::SUCCESS)) {
      ++verdict.skipped;
      continue;
    }
    lose();
  }
  return absl::OkStatus();
}

// Bytes of their content; 0 where that is not known before it is read.
uint64_t SizeOf(core::FileSystem& files, const Comparison& comparison,
                const std::vector<std::string>& paths) {
  uint64_t bytes = 0;
  for (const std::string& path : paths) {
    const auto file = core::OpenFile::Open(files, path, comparison.compression);
    const auto size = files.Stat(path);
    // What cannot be opened is told when it is read.
    if (!file.ok() || !size.ok() || file->is_compressed()) return 0;
    bytes += size->size;
  }
  return bytes;
}

absl::Status AddInputs(core::FileSystem& files, const Comparison& comparison,
                       const std::vector<std::string>& paths,
                       RecordFormat* format, MultisetCheck& check,
                       uint64_t& skipped, ProgressMeter& meter) {
  for (size_t i = 0; i < paths.size(); ++i) {
    ASSIGN_OR_RETURN(
        const core::OpenFile file,
        core::OpenFile::Open(files, paths[i], comparison.compression));
    const auto add = [&](uint64_t offset, absl::string_view record) {
      check.AddInput(static_cast<uint32_t>(i), offset, record);
      meter.Add(record.size() + 1);
    };
    if (format != nullptr) {
      ASSIGN_OR_RETURN(
          const uint64_t bad,
          format->ForEachInput(file.content(), comparison.is_followed, add));
      skipped += bad;
      continue;
    }
    RETURN_IF_ERROR(ForEachLine(file.content(),
                                {.skip_blank = comparison.is_ndjson,
                                 .whole_only = comparison.is_followed},
                                add));
  }
  return absl::OkStatus();
}

absl::Status AddOutputs(const core::FileSinkReader& reader,
                        RecordFormat* format, MultisetCheck& check,
                        ProgressMeter& meter) {
  for (uint32_t shard = 0; shard < reader.shards(); ++shard) {
    check.BeginShard();
    core::FileSinkLines lines = reader.Lines(shard);
    const auto add = [&](const std::string& path, uint64_t offset,
                         absl::string_view record) {
      check.AddOutput(path, offset, record);
      meter.Add(record.size() + 1);
    };
    if (format != nullptr) {
      RETURN_IF_ERROR(format->ForEachOutput(lines, add));
      continue;
    }
    absl::string_view line;
    while (true) {
      ASSIGN_OR_RETURN(const bool more, lines.Next(line));
      if (!more) break;
      add(lines.path(), lines.offset(), line);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Verdict> Compare(const Comparison& comparison,
                                size_t findings_max) {
  core::FileSystem& files = core::PosixFileSystem();
  ASSIGN_OR_RETURN(const std::vector<std::string> paths,
                   FilesOf(files, comparison));
  MultisetCheck check(findings_max);
  // Input and output have about as many bytes.
  ProgressMeter meter("verifying", 2 * SizeOf(files, comparison, paths));
  std::optional<RecordFormat> format;
  if (comparison.format != nullptr) {
    ASSIGN_OR_RETURN(format,
                     RecordFormat::Make(*comparison.format, comparison.schema));
  }
  RecordFormat* const records = format.has_value() ? &*format : nullptr;
  Verdict verdict;
  RETURN_IF_ERROR(AddInputs(files, comparison, paths, records, check,
                            verdict.skipped, meter));
  check.EndInput();
  ASSIGN_OR_RETURN(const core::FileSinkReader reader,
                   core::FileSinkReader::Open(files, comparison.output));
  RETURN_IF_ERROR(AddOutputs(reader, records, check, meter));
  verdict.records_in = check.records_in();
  verdict.records_out = check.records_out();
  verdict.doubled = check.doubled();
  verdict.foreign = check.foreign();
  verdict.disordered = check.disordered();
  verdict.settled = reader.settled();
  verdict.findings = check.findings();
  RETURN_IF_ERROR(
      Judge(files, comparison, paths, check, findings_max, verdict));
  return verdict;
}

void PrintText(const Comparison& comparison, const Verdict& verdict) {
  if (!comparison.name.empty()) std::cout << comparison.name << ":\n";
  std::cout << "  records in    " << verdict.records_in << "\n"
            << "  records out   " << verdict.records_out << "\n"
            << "  lost          " << verdict.lost << "\n"
            << "  doubled       " << verdict.doubled << "\n"
            << "  not in input  " << verdict.foreign << "\n"
            << "  out of order  " << verdict.disordered << "\n";
  if (verdict.skipped > 0) {
    std::cout << "  bad, skipped  " << verdict.skipped << "\n";
  }
  if (!verdict.settled) {
    std::cout << "  a writer has claimed the output and has not taken over: "
                 "run the pipeline to its end, then verify again\n";
  }
  for (const Finding& finding : verdict.findings) {
    std::cout << "  " << KindName(finding.kind) << ": " << finding.path
              << " byte " << finding.offset << "\n";
  }
  std::cout << "  "
            << (verdict.IsGood(comparison.level)
                    ? "OK: " + Praise(comparison.level, verdict.doubled)
                    : "FAILED")
            << std::endl;
}

void PrintJson(const Comparison& comparison, const Verdict& verdict) {
  std::cout << "{\"connector\":" << Quoted(comparison.name)
            << ",\"records_in\":" << verdict.records_in
            << ",\"records_out\":" << verdict.records_out
            << ",\"lost\":" << verdict.lost
            << ",\"doubled\":" << verdict.doubled
            << ",\"not_in_input\":" << verdict.foreign
            << ",\"out_of_order\":" << verdict.disordered
            << ",\"skipped\":" << verdict.skipped
            << ",\"settled\":" << (verdict.settled ? "true" : "false")
            << ",\"findings\":[";
  const char* separator = "";
  for (const Finding& finding : verdict.findings) {
    std::cout << separator << "{\"kind\":" << Quoted(KindName(finding.kind))
              << ",\"path\":" << Quoted(finding.path)
              << ",\"byte\":" << finding.offset << "}";
    separator = ",";
  }
  std::cout << "],\"level\":" << Quoted(core::LevelName(comparison.level))
            << ",\"ok\":"
            << (verdict.IsGood(comparison.level) ? "true" : "false") << "}"
            << std::endl;
}

}  // namespace

CliExit RunVerify(const VerifyOptions& options) {
  const auto comparisons = ComparisonsOf(options);
  if (!comparisons.ok()) {
    std::cerr << comparisons.status().message() << "\n";
    return CliExitOf(comparisons.status());
  }
  CliExit exit = CliExit::kOk;
  for (const Comparison& comparison : *comparisons) {
    const auto verdict = Compare(comparison, options.findings_max);
    if (!verdict.ok()) {
      std::cerr << verdict.status().message() << "\n";
      return CliExitOf(verdict.status());
    }
    if (options.format == "json") {
      PrintJson(comparison, *verdict);
    } else {
      PrintText(comparison, *verdict);
    }
    if (!verdict->IsGood(comparison.level)) exit = CliExit::kVerifyFailed;
  }
  return exit;
}

}  // namespace penstock::client
