// A controller that a script plays: commands on standard input, one a line, to
// a real worker over gRPC; answers on standard output, one JSON object a line.
//
//   by_hand unix:/path/to/socket pipeline.yaml
//
//   open | extend | pause | get | disconnect | delete
//   release COUNT | prepare COUNT | commit COUNT
//   queue STEP PREVIOUS SECONDS    waits for the answer
//   ask STEP PREVIOUS SECONDS      does not; `answer` waits for it
//
// Of the file it takes the pipeline's name and the first connector. Every
// answer has "command", "seconds" (how long it took) and "error" ("OK", or a
// reason and a message).
#include "client/client.h"
#include "client/pipeline_file.h"
#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/filesystem.h"
#include "core/base/json_text.h"
#include "core/connector/state_machine.h"
#include "tests/integration/caller.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <absl/time/time.h>

#include <iostream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

namespace penstock {
namespace {

// `,"name":value`
std::string Field(absl::string_view name, absl::string_view json) {
  return absl::StrCat(",\"", name, "\":", json);
}
std::string TextField(absl::string_view name, absl::string_view text) {
  std::string json;
  core::AppendJsonString(text, json);
  return Field(name, json);
}

std::string Describe(const absl::Status& status) {
  return TextField("error", core::ErrorText(status));
}

std::string Describe(const absl::StatusOr<core::QueueReply>& reply) {
  std::string text = Describe(reply.status());
  if (!reply.ok()) return text;
  if (reply->result == nullptr) {
    return text + Field("no_step",
                        absl::StrCat(static_cast<int>(
                            reply->no_step.value_or(core::NoStep{}).reason)));
  }
  return text + Field("records", absl::StrCat(reply->result->amount.records)) +
         Field("end_of_input", reply->result->end_of_input ? "true" : "false");
}

std::string Describe(
    const absl::StatusOr<core::PrepareCheckpointReply>& reply) {
  std::string text = Describe(reply.status());
  if (!reply.ok()) return text;
  return text + Field("ready", reply->ready ? "true" : "false") +
         Field("blockers", absl::StrCat(reply->blockers.size()));
}

std::string Describe(const absl::StatusOr<core::DisconnectReply>& reply) {
  std::string text = Describe(reply.status());
  if (!reply.ok()) return text;
  return text +
         Field("unconfirmed",
               absl::StrCat("[", absl::StrJoin(reply->unconfirmed_steps, ","),
                            "]")) +
         Field(
             "dropped",
             absl::StrCat("[", absl::StrJoin(reply->dropped_steps, ","), "]"));
}

std::string Describe(const absl::StatusOr<core::ConnectorStatus>& status) {
  std::string text = Describe(status.status());
  if (!status.ok()) return text;
  return text + TextField("state", core::StateName(status->state)) +
         Field("condition",
               absl::StrCat(static_cast<int>(status->health.condition))) +
         TextField("reason", status->health.reason) +
         Field("buffered", absl::StrCat(status->buffered_total.records)) +
         Field("queued", absl::StrCat(status->queued.records)) +
         Field("made", absl::StrCat(status->made_steps)) +
         Field("completed", absl::StrCat(status->completed_steps)) +
         Field("checkpointed", absl::StrCat(status->checkpointed_steps));
}

// Owner: main. Threads: main's.
class Player {
 public:
  Player(core::Control& control, client::PipelineFile pipeline)
      : pipeline_(std::move(pipeline)),
        caller_(control, pipeline_.name, /*epoch=*/1) {}

  // What to print behind command and seconds.
  std::string Play(const std::string& command, std::istream& arguments) {
    if (command == "open") {
      return Describe(caller_.Open(pipeline_.connectors[0]).status());
    }
    if (command == "extend") return Describe(caller_.Extend());
    if (command == "pause") return Describe(caller_.Pause());
    if (command == "get") return Describe(caller_.Get());
    if (command == "disconnect") return Describe(caller_.Disconnect());
    if (command == "delete") return Describe(caller_.Delete());
    if (command == "answer") return Answer();
    core::Step step = 0;
    arguments >> step;
    if (command == "release") return Describe(caller_.Release(step));
    if (command == "prepare") return Describe(caller_.Prepare(step));
    if (command == "commit") return Describe(caller_.Commit(step));
    if (command == "queue" || command == "ask") {
      Ask(step, arguments);
      return command == "queue" ? Answer() : Describe(absl::OkStatus());
    }
    return Describe(core::MakeError(core::Reason::INVALID_REQUEST,
                                    "there is no command " + command));
  }

 private:
  void Ask(core::Step step, std::istream& arguments) {
    core::QueueRequest request;
    request.step = step;
    double seconds = 0;
    arguments >> request.previous_steps >> seconds;
    request.wait = absl::Seconds(seconds);
    asked_.emplace(caller_.StartQueue(request));
  }
  std::string Answer() {
    if (!asked_.has_value()) {
      return Describe(
          core::MakeError(core::Reason::INVALID_REQUEST, "nothing was asked"));
    }
    const absl::StatusOr<core::QueueReply> reply = asked_->Get();
    asked_.reset();
    return Describe(reply);
  }

  const client::PipelineFile pipeline_;
  Caller caller_;
  std::optional<Pending<core::QueueReply>> asked_;
};

int Run(const std::string& target, const std::string& file) {
  auto pipeline = client::LoadPipelineFile(core::PosixFileSystem(), file);
  auto client = client::Client::Connect(target);
  for (const absl::Status& status : {pipeline.status(), client.status()}) {
    if (status.ok()) continue;
    std::cerr << core::ErrorText(status) << "\n";
    return 2;
  }
  Player player((*client)->control(), *std::move(pipeline));
  const core::Clock& clock = core::RealClock();
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::string command;
    words >> command;
    const absl::Time begin = clock.SteadyNow();
    const std::string answer = player.Play(command, words);
    std::cout << "{\"command\":\"" << command << "\",\"seconds\":"
              << absl::ToDoubleSeconds(clock.SteadyNow() - begin) << answer
              << "}" << std::endl;
  }
  return 0;
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: " << argv[0] << " TARGET PIPELINE_FILE\n";
    return 2;
  }
  return penstock::Run(argv[1], argv[2]);
}
