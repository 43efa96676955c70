#include "client/pipeline_file.h"

#include "client/channel.h"
#include "client/internal/yaml_message.h"
#include "client/internal/yaml_scalar.h"
#include "client/output_conflicts.h"
#include "client/placement.h"
#include "core/base/error.h"
#include "core/base/status_macros.h"
#include "core/pg/pg_url.h"
#include "proto/penstock/v1/pipeline.pb.h"
#include "proto/wire/enums.h"
#include "proto/wire/names.h"
#include "proto/wire/proto_time.h"
#include "proto/wire/spec.h"
#include "proto/wire/violations.h"

#include <absl/container/flat_hash_map.h>
#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <absl/strings/strip.h>

#include <algorithm>
#include <utility>

namespace penstock::client {
namespace {

constexpr absl::Duration kCheckpointIntervalMin = absl::Milliseconds(10);
constexpr absl::Duration kLeaseMin = absl::Seconds(1);
constexpr absl::Duration kLeaseMax = absl::Minutes(10);
constexpr int kOtherAddressesMax = 15;
constexpr absl::string_view kSqlitePrefix = "sqlite:";

// `path` as seen from the directory of `file`.
std::string BesideFile(absl::string_view file, absl::string_view path) {
  if (absl::StartsWith(path, "/")) return std::string(path);
  const size_t slash = file.rfind('/');
  if (slash == absl::string_view::npos) return std::string(path);
  return absl::StrCat(file.substr(0, slash + 1), path);
}

void ReadLease(const v1::PipelineSpec& spec, PipelineFile& to,
               wire::Violations& violations) {
  if (!spec.has_lease()) return;
  if (to.store_url.empty()) {
    violations.Add("lease", "goes with a postgresql:// store only",
                   wire::kContradiction);
  }
  const auto lease = wire::DurationFromProto(spec.lease());
  to.lease = lease.value_or(absl::ZeroDuration());
  if (to.lease < kLeaseMin || to.lease > kLeaseMax) {
    violations.Add("lease", "must be 1s to 10m", wire::kOutOfRange);
  }
}

void ReadStore(const v1::PipelineSpec& spec, absl::string_view file,
               PipelineFile& to, wire::Violations& violations) {
  absl::string_view store = spec.store();
  if (!spec.has_store()) {
    to.store_path = BesideFile(file, absl::StrCat(spec.name(), ".penstock.db"));
  } else if (absl::ConsumePrefix(&store, kSqlitePrefix) && !store.empty()) {
    to.store_path = BesideFile(file, store);
  } else if (absl::StartsWith(store, "postgresql://") ||
             absl::StartsWith(store, "postgres://") ||
             absl::StartsWith(store, "${")) {
    to.store_url = std::string(store);
    const absl::Status form = core::CheckPgUrl(store);
    if (!form.ok()) {
      violations.Add("store", std::string(form.message()), wire::kMalformed);
    }
  } else {
    violations.Add("store",
                   "must be sqlite:PATH, postgresql://USER@HOST/DATABASE, or a "
                   "reference to the latter (${env:NAME}, ${file:/path})",
                   wire::kMalformed);
  }
  to.worker_state_dir =
      to.store_path.empty()
          ? BesideFile(file, absl::StrCat(spec.name(), ".penstock.worker"))
          : absl::StrCat(to.store_path, ".worker");
  ReadLease(spec, to, violations);
}

void ReadTls(const v1::PipelineSpec& spec, absl::string_view file,
             PipelineFile& to, wire::Violations& violations) {
  if (!spec.has_tls()) return;
  const v1::TlsSpec& tls = spec.tls();
  if (tls.ca().empty()) {
    violations.Add("tls.ca", "is missing", wire::kRequired);
  }
  if (tls.certificate().empty() != tls.private_key().empty()) {
    violations.Add("tls", "certificate and private_key go together",
                   wire::kContradiction);
  }
  const auto joined = [&](const std::string& path) {
    return path.empty() ? path : BesideFile(file, path);
  };
  to.tls = {.ca = joined(tls.ca()),
            .certificate = joined(tls.certificate()),
            .private_key = joined(tls.private_key()),
            .server_name = tls.server_name()};
}

void CheckHead(const v1::PipelineSpec& spec, absl::string_view file,
               PipelineFile& to, wire::Violations& violations) {
  if (spec.name().empty()) {
    violations.Add("name", "is missing", wire::kRequired);
  } else if (!wire::IsName(spec.name())) {
    violations.Add("name", std::string(wire::kNameForm), wire::kMalformed);
  }
  to.name = spec.name();
  if (spec.has_incarnation()) {
    if (!wire::IsIncarnation(spec.incarnation())) {
      violations.Add("incarnation",
                     "must be 8 to 64 characters of [A-Za-z0-9_-]",
                     wire::kMalformed);
    }
    to.incarnation = spec.incarnation();
  }
  ReadStore(spec, file, to, violations);
  ReadTls(spec, file, to, violations);
  if (!spec.has_checkpoint_interval()) return;
  const auto interval = wire::DurationFromProto(spec.checkpoint_interval());
  to.checkpoint_interval = interval.value_or(absl::ZeroDuration());
  if (!interval.has_value() || (*interval != absl::ZeroDuration() &&
                                *interval < kCheckpointIntervalMin)) {
    violations.Add("checkpoint_interval",
                   "must be 0 (only at the end) or at least 10ms",
                   wire::kOutOfRange);
  }
}

void ReadConnectors(const v1::PipelineSpec& spec, PipelineFile& to,
                    wire::Violations& violations) {
  if (spec.connectors().empty()) {
    violations.Add("connectors", "is missing; give at least one",
                   wire::kRequired);
  }
  absl::flat_hash_map<std::string, int> seen;
  for (int i = 0; i < spec.connectors_size(); ++i) {
    const std::string path = absl::StrCat("connectors[", i, "]");
    v1::ConnectorSpec connector = spec.connectors(i);
    if (!connector.has_level() && spec.has_level()) {
      connector.set_level(spec.level());
    }
    if (!connector.has_allow_lower() && spec.has_allow_lower()) {
      connector.set_allow_lower(spec.allow_lower());
    }
    to.connectors.push_back(wire::SpecFromProto(connector, path, violations));
    if (connector.name().empty()) continue;
    const auto [other, fresh] = seen.emplace(connector.name(), i);
    if (!fresh) {
      violations.Add(absl::StrCat(path, ".name"),
                     absl::StrCat("'", connector.name(), "' is the name of ",
                                  "connectors[", other->second, "], too"),
                     wire::kContradiction);
    }
  }
}

std::vector<std::string> NamesOf(
    const std::vector<core::ConnectorSpec>& connectors) {
  std::vector<std::string> names;
  for (const core::ConnectorSpec& connector : connectors) {
    names.push_back(connector.name);
  }
  return names;
}

// Gives the connectors that worker number `index` names to it.
void PlaceNamed(const v1::WorkerSpec& worker, size_t index,
                const PipelineFile& file,
                std::vector<std::optional<size_t>>& placed,
                wire::Violations& violations) {
  const std::vector<std::string> names = NamesOf(file.connectors);
  for (int i = 0; i < worker.connectors_size(); ++i) {
    const std::string path =
        absl::StrCat("workers[", index, "].connectors[", i, "]");
    const std::string& name = worker.connectors(i);
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) {
      violations.Add(path,
                     absl::StrCat("there is no connector '", name, "'",
                                  internal::SuggestOf(name, names)),
                     wire::kUnknownValue);
      continue;
    }
    auto& place = placed[static_cast<size_t>(found - names.begin())];
    if (place.has_value()) {
      violations.Add(path,
                     absl::StrCat("'", name, "' is placed in workers[", *place,
                                  "] already"),
                     wire::kContradiction);
    }
    place = index;
  }
}

void CheckAddress(const std::string& address, const std::string& path,
                  wire::Violations& violations) {
  const absl::Status form = CheckTarget(address);
  if (form.ok()) return;
  violations.Add(path, std::string(form.message()), wire::kMalformed);
}

std::vector<std::string> ReadAddresses(const v1::WorkerSpec& worker,
                                       const std::string& path,
                                       wire::Violations& violations) {
  std::vector<std::string> addresses = {worker.address()};
  if (worker.address().empty()) {
    violations.Add(absl::StrCat(path, ".address"), "is missing",
                   wire::kRequired);
  } else {
    CheckAddress(worker.address(), absl::StrCat(path, ".address"), violations);
  }
  const std::string others = absl::StrCat(path, ".other_addresses");
  if (worker.other_addresses_size() > kOtherAddressesMax) {
    violations.Add(others, absl::StrCat("must be at most ", kOtherAddressesMax),
                   wire::kOutOfRange);
    return addresses;
  }
  for (int i = 0; i < worker.other_addresses_size(); ++i) {
    const std::string& address = worker.other_addresses(i);
    CheckAddress(address, absl::StrCat(others, "[", i, "]"), violations);
    addresses.push_back(address);
  }
  return addresses;
}

// Of several workers: where one of them would be taken for another, each would
// have the other's connectors deleted.
void CheckAddressesApart(const std::vector<PipelineWorker>& workers,
                         wire::Violations& violations) {
  absl::flat_hash_map<std::string, size_t> first;
  for (size_t i = 0; i < workers.size(); ++i) {
    const std::vector<std::string>& addresses = workers[i].addresses;
    for (size_t k = 0; k < addresses.size(); ++k) {
      if (addresses[k].empty()) continue;
      const size_t other = first.emplace(addresses[k], i).first->second;
      if (other == i) continue;
      violations.Add(
          k == 0
              ? absl::StrCat("workers[", i, "].address")
              : absl::StrCat("workers[", i, "].other_addresses[", k - 1, "]"),
          absl::StrCat("'", addresses[k], "' is an address of worker '",
                       workers[other].name, "' (workers[", other,
                       "]), too; two workers are never found at one address, "
                       "so give worker '",
                       workers[i].name, "' another"),
          wire::kContradiction);
    }
  }
}

void ReadWorkers(const v1::PipelineSpec& spec, PipelineFile& to,
                 wire::Violations& violations) {
  std::vector<std::optional<size_t>> placed(to.connectors.size());
  absl::flat_hash_map<std::string, size_t> seen;
  for (int i = 0; i < spec.workers_size(); ++i) {
    const v1::WorkerSpec& worker = spec.workers(i);
    const std::string path = absl::StrCat("workers[", i, "]");
    const auto index = static_cast<size_t>(i);
    PipelineWorker& added = to.workers.emplace_back();
    added.addresses = ReadAddresses(worker, path, violations);
    added.name = worker.has_name() ? worker.name() : worker.address();
    const auto [other, fresh] = seen.emplace(added.name, index);
    if (!fresh && !added.name.empty()) {
      violations.Add(absl::StrCat(path, ".name"),
                     absl::StrCat("'", added.name, "' is the name of workers[",
                                  other->second, "], too"),
                     wire::kContradiction);
    }
    PlaceNamed(worker, index, to, placed, violations);
  }
  CheckAddressesApart(to.workers, violations);
  std::vector<std::string> names;
  for (const PipelineWorker& worker : to.workers) names.push_back(worker.name);
  for (size_t i = 0; i < placed.size(); ++i) {
    to.placement.push_back(
        placed[i].value_or(PlaceOf(to.connectors[i].name, names)));
  }
}

// "shop.yaml:7: name: is missing", a line for each violation.
absl::Status ToStatus(const wire::Violations& violations,
                      const internal::FieldLines& lines,
                      absl::string_view file) {
  const absl::Status plain = violations.ToStatus(core::Reason::INVALID_CONFIG);
  if (plain.ok()) return plain;
  std::vector<std::string> texts;
  for (const wire::FieldViolation& violation : violations.kept()) {
    texts.push_back(absl::StrCat(
        file, ":", lines.Of(violation.field), ": ", violation.field,
        violation.field.empty() ? "" : ": ", violation.description));
  }
  if (violations.count() > texts.size()) {
    texts.push_back(
        absl::StrCat("and ", violations.count() - texts.size(), " more"));
  }
  const std::optional<core::ErrorInfo> info = core::GetErrorInfo(plain);
  return wire::WithViolations(
      core::MakeError(info->reason, absl::StrJoin(texts, "\n"), info->metadata),
      violations.kept());
}

}  // namespace

absl::StatusOr<PipelineFile> ParsePipelineFile(absl::string_view text,
                                               absl::string_view file) {
  v1::PipelineSpec spec;
  internal::FieldLines lines;
  wire::Violations syntax;
  internal::ReadYaml(text, spec, lines, syntax);
  // What was misspelt would be reported again as missing.
  RETURN_IF_ERROR(ToStatus(syntax, lines, file));

  PipelineFile result;
  wire::Violations violations;
  CheckHead(spec, file, result, violations);
  ReadConnectors(spec, result, violations);
  ReadWorkers(spec, result, violations);
  CheckOutputs(spec, result.placement, violations);
  RETURN_IF_ERROR(ToStatus(violations, lines, file));
  return result;
}

absl::StatusOr<PipelineFile> LoadPipelineFile(core::FileSystem& files,
                                              const std::string& path) {
  const auto text = files.ReadFile(path, kPipelineFileBytesMax);
  if (!text.ok()) {
    return core::MakeError(
        core::Reason::INVALID_CONFIG,
        absl::StrCat("reading the pipeline file: ", text.status().message()),
        {{"path", path}});
  }
  return ParsePipelineFile(*text, path);
}

}  // namespace penstock::client
