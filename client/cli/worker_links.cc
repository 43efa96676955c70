#include "client/cli/worker_links.h"

#include "core/base/error.h"
#include "core/base/status_macros.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>

#include <utility>

namespace penstock::client {
namespace {

// How often the file is looked at.
constexpr absl::Duration kLook = absl::Seconds(1);

}  // namespace

absl::StatusOr<std::unique_ptr<WorkerLinks>> WorkerLinks::Connect(
    const std::vector<PipelineWorker>& workers, const ClientOptions& options) {
  auto links = std::make_unique<WorkerLinks>();
  const auto dial = [options](const std::string& address)
      -> absl::StatusOr<std::shared_ptr<core::Control>> {
    ASSIGN_OR_RETURN(std::shared_ptr<Client> client,
                     Client::Connect(address, options));
    core::Control* const control = &client->control();
    return std::shared_ptr<core::Control>(std::move(client), control);
  };
  for (const PipelineWorker& worker : workers) {
    ASSIGN_OR_RETURN(auto control,
                     RoamingControl::Create(worker.addresses, dial));
    links->links_.push_back(
        {worker.name, worker.addresses, std::move(control)});
  }
  return links;
}

std::vector<core::Control*> WorkerLinks::controls() const {
  std::vector<core::Control*> controls;
  for (const Link& link : links_) controls.push_back(link.control.get());
  return controls;
}

std::vector<SweepPlace> WorkerLinks::Elsewhere() const {
  std::vector<SweepPlace> all;
  for (const Link& link : links_) {
    for (SweepPlace& place : link.control->Elsewhere()) {
      all.push_back(std::move(place));
    }
  }
  return all;
}

std::string WorkerLinks::Follow(core::FileSystem& files,
                                const std::string& path,
                                absl::Time steady_now) {
  if (steady_now - looked_ < kLook) return "";
  looked_ = steady_now;
  auto text = files.ReadFile(path, kPipelineFileBytesMax);
  // An editor may just be replacing it.
  if (!text.ok() || *text == text_) return "";
  const bool is_first = std::exchange(text_, *std::move(text)).empty();
  if (is_first) return "";
  const auto file = ParsePipelineFile(text_, path);
  if (!file.ok()) {
    return absl::StrCat(
        "the pipeline file is wrong now, the workers stay "
        "where they were:\n",
        file.status().message());
  }
  return Take(*file);
}

std::string WorkerLinks::Take(const PipelineFile& file) {
  std::vector<std::string> lines;
  for (Link& link : links_) {
    for (const PipelineWorker& worker : file.workers) {
      if (worker.name != link.name || worker.addresses == link.addresses) {
        continue;
      }
      const absl::Status set = link.control->SetAddresses(worker.addresses);
      if (!set.ok()) {
        lines.push_back(absl::StrCat("worker '", link.name,
                                     "' stays where it was: ", set.message()));
        continue;
      }
      link.addresses = worker.addresses;
      lines.push_back(absl::StrCat("worker '", link.name, "' is at ",
                                   absl::StrJoin(link.addresses, ", "),
                                   " now"));
    }
  }
  return absl::StrJoin(lines, "\n");
}

}  // namespace penstock::client
