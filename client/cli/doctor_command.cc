#include "client/cli/doctor_command.h"

#include "client/channel.h"
#include "client/cli/text_table.h"
#include "client/pipeline_file.h"
#include "core/base/clock.h"
#include "core/base/file_access.h"
#include "core/base/filesystem.h"
#include "core/base/json_text.h"
#include "core/base/version.h"
#include "core/connector/state_machine.h"
#include "proto/penstock/v1/connector.pb.h"
#include "proto/wire/enums.h"
#include "proto/wire/proto_time.h"

#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

#include <iostream>
#include <memory>
#include <utility>

namespace penstock::client {
namespace {

using Outcome = Diagnosis::Outcome;

const char* NameOf(Outcome outcome) {
  switch (outcome) {
    case Outcome::kGood:
      return "good";
    case Outcome::kDoubtful:
      return "doubtful";
    case Outcome::kBad:
      return "BAD";
  }
  return "?";
}

// What is found, in order.
class Findings {
 public:
  void Add(Diagnosis diagnosis) { all_.push_back(std::move(diagnosis)); }
  void Add(const Findings& more) {
    all_.insert(all_.end(), more.all_.begin(), more.all_.end());
  }
  void Good(std::string what, std::string seen) {
    Add({.what = std::move(what), .seen = std::move(seen)});
  }
  void Bad(std::string what, std::string seen, std::string remedy) {
    Add({std::move(what), Outcome::kBad, std::move(seen), std::move(remedy)});
  }
  void Doubtful(std::string what, std::string seen, std::string remedy) {
    Add({std::move(what), Outcome::kDoubtful, std::move(seen),
         std::move(remedy)});
  }

  bool HasBad() const {
    for (const Diagnosis& each : all_) {
      if (each.outcome == Outcome::kBad) return true;
    }
    return false;
  }
  void Print(const std::string& format) const;

 private:
  std::vector<Diagnosis> all_;
};

std::string Json(absl::string_view text) {
  std::string json;
  core::AppendJsonString(text, json);
  return json;
}

void Findings::Print(const std::string& format) const {
  if (format == "json") {
    for (const Diagnosis& each : all_) {
      std::cout << "{\"what\":" << Json(each.what)
                << ",\"outcome\":" << Json(NameOf(each.outcome))
                << ",\"seen\":" << Json(each.seen)
                << ",\"remedy\":" << Json(each.remedy) << "}" << std::endl;
    }
    return;
  }
  TextTable table({"WHAT", "OUTCOME", "SEEN"});
  for (const Diagnosis& each : all_) {
    table.Add({each.what, NameOf(each.outcome), each.seen});
  }
  std::cout << table.ToString();
  for (const Diagnosis& each : all_) {
    if (each.remedy.empty()) continue;
    std::cout << "\n"
              << each.what << ": what to do\n"
              << Wrapped(each.remedy, 78, 2);
  }
}

void LookAtEncryption(const WorkerTarget& worker, const std::string& name,
                      Findings& findings) {
  const std::string what = absl::StrCat(name, ": encryption");
  const bool is_socket = absl::StartsWith(worker.target, "unix:");
  if (worker.tls.enabled() && !is_socket) {
    findings.Good(what,
                  absl::StrCat("TLS, by the authorities in ", worker.tls.ca));
    return;
  }
  if (IsLocalTarget(worker.target)) {
    findings.Good(what, "plaintext that stays on this host");
    return;
  }
  findings.Doubtful(
      what, "plaintext to another host",
      "Whoever reaches the worker's port commands it. Give it --tls-cert and "
      "--tls-key, and this command --tls-ca; or keep the network "
      "between them private (a NetworkPolicy), or forward a port: ssh -L "
      "7070:127.0.0.1:7070 HOST, kubectl port-forward pod/NAME 7070.");
}

void LookAtAnswer(const v1::ListConnectorTypesResponse& answer,
                  const std::string& name, absl::Time asked,
                  absl::Duration round_trip, Findings& findings) {
  const v1::WorkerInfo& worker = answer.worker();
  if (worker.software_version() == core::kVersion) {
    findings.Good(absl::StrCat(name, ": version"), worker.software_version());
  } else {
    findings.Doubtful(
        absl::StrCat(name, ": version"),
        absl::StrCat("worker ", worker.software_version(), ", this command ",
                     core::kVersion),
        "Versions of one major number speak the same protocol; bring both to "
        "the same one when you can.");
  }
  if (const auto now = wire::TimeFromProto(answer.now());
      answer.has_now() && now.has_value()) {
    Diagnosis clock =
        DiagnoseClock(*now - (asked + round_trip / 2), round_trip);
    clock.what = absl::StrCat(name, ": clock");
    findings.Add(std::move(clock));
  }
  const std::string memory = absl::StrFormat(
      "%d MiB of %d MiB promised to connectors",
      worker.memory_committed() >> 20, worker.memory_max() >> 20);
  if (worker.memory_committed() * 10 < worker.memory_max() * 9) {
    findings.Good(absl::StrCat(name, ": memory"), memory);
  } else {
    findings.Doubtful(absl::StrCat(name, ": memory"), memory,
                      "The next connector may be refused (MEMORY_REFUSED). "
                      "Raise the worker's --memory-max, or lower "
                      "limits.memory_max of its connectors.");
  }
  if (worker.draining()) {
    findings.Doubtful(absl::StrCat(name, ": draining"), "it opens nothing more",
                      "Start it again.");
  }
}

// `pipeline`: only its connectors; empty: all.
void LookAtConnectors(Client& client, const std::string& name,
                      const std::string& pipeline, Findings& findings) {
  const auto statuses = QueryConnectors(client, "");
  if (!statuses.ok()) {
    findings.Doubtful(absl::StrCat(name, ": connectors"),
                      std::string(statuses.status().message()),
                      "Ask again; a role may also forbid to look at them.");
    return;
  }
  for (const core::ConnectorStatus& status : *statuses) {
    if (!pipeline.empty() && status.pipeline != pipeline) continue;
    Diagnosis found = DiagnoseConnector(status);
    found.what = absl::StrCat(name, ": ", found.what);
    findings.Add(std::move(found));
  }
}

// False: it cannot be reached.
bool LookAtWorker(const WorkerTarget& worker, const std::string& name,
                  const std::string& pipeline, Findings& findings) {
  LookAtEncryption(worker, name, findings);
  const std::string what = absl::StrCat(name, ": reachable");
  const auto client = ConnectTo(worker);
  if (!client.ok()) {
    findings.Bad(what, std::string(client.status().message()),
                 "Mend the address, or say --insecure if the network between "
                 "is trusted.");
    return false;
  }
  const core::Clock& clock = core::RealClock();
  const absl::Time asked = clock.Now();
  const absl::Time begun = clock.SteadyNow();
  const auto answer = (*client)->ListConnectorTypes();
  const absl::Duration round_trip = clock.SteadyNow() - begun;
  if (!answer.ok()) {
    const bool nobody = CliExitOf(answer.status()) == CliExit::kUnreachable;
    findings.Bad(
        what, absl::StrCat(worker.target, ": ", answer.status().message()),
        nobody ? RemedyOfSilence(answer.status().message())
               : "It is a server, but does not answer as a worker: is this its "
                 "gRPC port (7070), not its admin port (7071)?");
    return false;
  }
  findings.Good(what,
                absl::StrCat(worker.target, " in ", ShortDuration(round_trip)));
  LookAtAnswer(*answer, name, asked, round_trip, findings);
  LookAtConnectors(**client, name, pipeline, findings);
  return true;
}

// A worker is where one of its addresses answers.
bool LookAtAddresses(WorkerTarget target, const PipelineWorker& worker,
                     const std::string& pipeline, Findings& findings) {
  Findings all;
  for (const std::string& address : worker.addresses) {
    target.target = address;
    Findings here;
    if (LookAtWorker(target, absl::StrCat("worker ", worker.name), pipeline,
                     here)) {
      findings.Add(here);
      return true;
    }
    all.Add(here);
  }
  findings.Add(all);
  return false;
}

void LookAtStore(const PipelineFile& pipeline, Findings& findings) {
  if (pipeline.store_path.empty()) {
    findings.Good("store", "PostgreSQL; `penstock run` checks it");
    return;
  }
  core::FileSystem& files = core::PosixFileSystem();
  const std::string directory(core::DirectoryOf(pipeline.store_path));
  if (const absl::Status may = core::CheckDirectoryIsWritable(directory);
      !may.ok()) {
    findings.Bad("store", std::string(may.message()),
                 "SQLite keeps a log beside the store: let this user write "
                 "into the directory, or name another one with `store`.");
    return;
  }
  const auto stat = files.Stat(pipeline.store_path);
  if (!stat.ok()) {
    findings.Good("store", absl::StrCat(pipeline.store_path,
                                        " will be made by the first run"));
  } else if (stat->size == 0) {
    findings.Bad("store", absl::StrCat(pipeline.store_path, " is empty"),
                 "A store is never empty: its content was lost. Put a copy of "
                 "it back; see the runbook before you delete it.");
  } else {
    findings.Good(
        "store", absl::StrCat(pipeline.store_path, ", ", stat->size, " bytes"));
  }
}

}  // namespace

Diagnosis DiagnoseClock(absl::Duration worker_ahead,
                        absl::Duration round_trip) {
  const absl::Duration apart = absl::AbsDuration(worker_ahead);
  Diagnosis diagnosis = {
      .what = "clock",
      .seen = absl::StrCat(
          ShortDuration(apart),
          worker_ahead < absl::ZeroDuration() ? " behind" : " ahead",
          " of this host")};
  // Less than the answer's own way cannot be told.
  if (apart <= absl::Seconds(1) + round_trip) return diagnosis;
  diagnosis.outcome =
      apart > absl::Minutes(1) ? Outcome::kBad : Outcome::kDoubtful;
  diagnosis.remedy =
      "Let both hosts follow a time server (timedatectl set-ntp true). Data "
      "is not harmed, but certificates are judged and logs are compared by "
      "the clock.";
  return diagnosis;
}

std::string RemedyOfSilence(absl::string_view said) {
  struct Sign {
    absl::string_view word;
    absl::string_view remedy;
  };
  constexpr Sign kSigns[] = {
      {"Socket closed",
       "Something listens there and hangs up. If the worker speaks TLS, so "
       "must "
       "this command: --tls-ca, and --tls-cert with --tls-key where it asks "
       "for "
       "a certificate."},
      {"wrong version number",
       "What listens there speaks no TLS: leave out --tls-ca, or start the "
       "worker with --tls-cert and --tls-key."},
      {"Hostname Verification",
       "The worker's certificate has another name: dial it by one of its "
       "names, "
       "or say with --tls-name (`tls.server_name` in a pipeline file) which "
       "one "
       "it must have."},
      {"certificate verify failed",
       "The worker's certificate is not of these authorities, or has ended: "
       "openssl verify -CAfile CA CERTIFICATE."},
      {"Failed parsing HTTP/2",
       "What listens there is no gRPC port: is it the admin port (7071) in the "
       "place of the worker's --listen (7070)?"},
  };
  for (const Sign& sign : kSigns) {
    if (absl::StrContains(said, sign.word)) return std::string(sign.remedy);
  }
  return "Start it there: penstock-worker --state-dir DIR --listen ADDRESS. If "
         "it runs: does --listen name an address that others reach, does a "
         "firewall or NetworkPolicy let this host in, is the port forwarded?";
}

Diagnosis DiagnoseConnector(const core::ConnectorStatus& status) {
  const bool failed = status.state == core::ConnectorState::kFailed;
  const core::Condition condition = status.health.condition;
  Diagnosis found = {
      .what = absl::StrCat("connector ", status.name),
      .seen = absl::StrCat(
          core::StateName(status.state), ", ",
          absl::AsciiStrToUpper(ShortName(wire::ToProto(condition))))};
  if (!failed && condition == core::Condition::kOk) return found;
  const std::string& why = !status.health.reason.empty()
                               ? status.health.reason
                               : status.first_error.value_or("");
  if (!why.empty()) absl::StrAppend(&found.seen, ": ", why);
  const bool is_bad = failed || condition == core::Condition::kNeedsConfig ||
                      condition == core::Condition::kFatal;
  found.outcome = is_bad ? Outcome::kBad : Outcome::kDoubtful;
  found.remedy = absl::StrCat(
      failed ? "It does nothing more until it is opened anew: mend what is "
               "said, then `penstock run` again."
             : "It tries again by itself, and loses nothing meanwhile; mend "
               "what is said.",
      " `penstock errors ", status.name, "` and `penstock connectors ",
      status.name, "` say more; the runbook has a part for each condition.");
  return found;
}

CliExit RunDoctor(const DoctorOptions& options) {
  Findings findings;
  bool reachable = true;
  if (options.pipeline_file.empty()) {
    reachable = LookAtWorker(options.worker, "worker", "", findings);
  } else {
    const auto pipeline =
        LoadPipelineFile(core::PosixFileSystem(), options.pipeline_file);
    if (!pipeline.ok()) {
      findings.Bad("pipeline file", std::string(pipeline.status().message()),
                   "`penstock describe TYPE` shows every field there is.");
    } else {
      findings.Good("pipeline file",
                    absl::StrCat(pipeline->connectors.size(), " connector(s)"));
      LookAtStore(*pipeline, findings);
      for (const PipelineWorker& worker : pipeline->workers) {
        WorkerTarget target = options.worker;
        if (!target.tls.enabled()) target.tls = pipeline->tls;
        reachable &= LookAtAddresses(target, worker, pipeline->name, findings);
      }
      if (pipeline->workers.empty()) {
        findings.Good("workers", "one of the command's own, while it runs");
      }
    }
  }
  findings.Print(options.format);
  if (!reachable) return CliExit::kUnreachable;
  return findings.HasBad() ? CliExit::kFailed : CliExit::kOk;
}

}  // namespace penstock::client
