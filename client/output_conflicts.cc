#include "client/output_conflicts.h"

#include <absl/container/flat_hash_map.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_replace.h>
#include <absl/strings/str_split.h>
#include <fnmatch.h>

#include <string>
#include <utility>

namespace penstock::client {
namespace {

using Names = std::vector<std::string>;

// As it stands in names of files.
constexpr char kWriter[] = "00000000000000000001-00000000000000000001";

// The names on the way; "." and doubled slashes are none. What stands before
// the first slash of an absolute path is an empty name.
Names NamesOf(absl::string_view path) {
  Names names;
  for (const absl::string_view name : absl::StrSplit(path, '/')) {
    if (name == "." || (name.empty() && !names.empty())) continue;
    names.emplace_back(name);
  }
  return names;
}

// As the file source matches: `*` within a name, `**` any number of them,
// neither what is hidden.
bool Matches(const Names& pattern, const Names& names) {
  // Of the parts so far: whether they match the first so many names.
  std::vector<bool> reached(names.size() + 1, false);
  reached[0] = true;
  for (const std::string& part : pattern) {
    const bool is_any = part == "**";
    std::vector<bool> next(names.size() + 1, false);
    if (is_any) next[0] = reached[0];
    for (size_t i = 0; i < names.size(); ++i) {
      const bool fits = fnmatch(is_any ? "*" : part.c_str(), names[i].c_str(),
                                FNM_PERIOD) == 0;
      next[i + 1] =
          is_any ? reached[i + 1] || (next[i] && fits) : reached[i] && fits;
    }
    reached = std::move(next);
  }
  return reached.back();
}

// One of each kind of name that a file sink gives: core/sinks/file/README.md.
std::vector<std::string> SampleFiles(const v1::FileSink& sink) {
  const bool is_renamed = sink.visibility() == v1::FILE_VISIBILITY_RENAME;
  const std::string name =
      sink.has_name() ? sink.name() : "data-{shard}.{writer}.{number}";
  const char* const ending =
      sink.compression() == v1::OUTPUT_COMPRESSION_GZIP   ? ".gz"
      : sink.compression() == v1::OUTPUT_COMPRESSION_ZSTD ? ".zst"
                                                          : "";
  return {absl::StrCat("claim.", kWriter),
          absl::StrCat("manifest.", kWriter, ".000000"),
          absl::StrCat(is_renamed ? "files/" : "",
                       absl::StrReplaceAll(name, {{"{shard}", "0000"},
                                                  {"{writer}", kWriter},
                                                  {"{number}", "000000"}}),
                       ending)};
}

// The file below `directory` that `pattern` matches, or "".
std::string FirstMatch(const Names& pattern, const std::string& directory,
                       const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    const std::string path = absl::StrCat(directory, "/", file);
    if (Matches(pattern, NamesOf(path))) return path;
  }
  return "";
}

void CheckFeedback(const v1::ConnectorSpec& connector, const std::string& path,
                   wire::Violations& violations) {
  if (!connector.source().has_file()) return;
  const std::string& source = connector.source().file().path();
  Names pattern = NamesOf(source);
  // At the end it stands for the files, too.
  if (!pattern.empty() && pattern.back() == "**") pattern.push_back("*");
  const auto check = [&](const std::string& directory,
                         const std::vector<std::string>& files,
                         absl::string_view field) {
    const std::string match = FirstMatch(pattern, directory, files);
    if (match.empty()) return;
    violations.Add(absl::StrCat(path, field),
                   absl::StrCat("its source reads '", source,
                                "', which matches files there such as '", match,
                                "': it would read what it wrote; give another "
                                "directory, or another pattern"),
                   wire::kContradiction);
  };
  if (connector.sink().has_file()) {
    const v1::FileSink& sink = connector.sink().file();
    check(sink.path(), SampleFiles(sink), ".sink.file.path");
  }
  if (connector.dead_letter().has_file()) {
    check(connector.dead_letter().file().path(),
          {absl::StrCat(connector.name(), "+0000.", kWriter, ".000000.ndjson")},
          ".dead_letter.file.path");
  }
}

}  // namespace

void CheckOutputs(const v1::PipelineSpec& spec,
                  const std::vector<size_t>& placement,
                  wire::Violations& violations) {
  absl::flat_hash_map<std::pair<size_t, std::string>, int> first;
  for (int i = 0; i < spec.connectors_size(); ++i) {
    const v1::ConnectorSpec& connector = spec.connectors(i);
    const std::string path = absl::StrCat("connectors[", i, "]");
    CheckFeedback(connector, path, violations);
    if (!connector.sink().has_file()) continue;
    const std::string& directory = connector.sink().file().path();
    if (directory.empty()) continue;
    const auto [other, fresh] =
        first.emplace(std::pair(placement[static_cast<size_t>(i)],
                                absl::StrJoin(NamesOf(directory), "/")),
                      i);
    if (fresh) continue;
    violations.Add(
        absl::StrCat(path, ".sink.file.path"),
        absl::StrCat("'", directory, "' is the directory of connectors[",
                     other->second, "], too; each needs one of its own"),
        wire::kContradiction);
  }
}

}  // namespace penstock::client
