#include "client/cli/asked_worker.h"

#include "core/base/error.h"
#include "core/base/filesystem.h"
#include "core/base/random.h"
#include "core/base/status_macros.h"

#include <absl/strings/str_cat.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

namespace penstock::client {
namespace {

constexpr absl::Duration kReadyTime = absl::Seconds(20);

}  // namespace

absl::StatusOr<std::unique_ptr<AskedWorker>> AskedWorker::Find(
    const WorkerTarget& named) {
  std::unique_ptr<AskedWorker> asked(new AskedWorker);
  asked->target_ = named;
  if (named.target.empty()) {
    RETURN_IF_ERROR(asked->StartOwn());
  }
  ASSIGN_OR_RETURN(asked->client_, ConnectTo(asked->target_));
  if (asked->own_ != nullptr) {
    RETURN_IF_ERROR(asked->client_->WaitReady(kReadyTime))
    << "while waiting for a worker of the command's own";
  }
  return asked;
}

absl::Status AskedWorker::StartOwn() {
  core::Random random(core::SeededFromEntropy());
  const char* const tmp = std::getenv("TMPDIR");
  state_dir_ = absl::StrCat(tmp == nullptr ? "/tmp" : tmp, "/penstock-ask-",
                            core::RandomId(random));
  RETURN_IF_ERROR(core::PosixFileSystem().CreateDirectories(state_dir_));
  ASSIGN_OR_RETURN(own_, LocalWorker::Start("", state_dir_));
  target_.target = own_->target();
  return absl::OkStatus();
}

AskedWorker::~AskedWorker() {
  client_.reset();
  if (own_ != nullptr) own_->Stop();
  if (state_dir_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove_all(state_dir_, ignored);
}

}  // namespace penstock::client
