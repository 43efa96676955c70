// The files of the gRPC port's TLS as they lie now, for who must not wait.
// See server/security/README.md.
#pragma once

#include "core/base/executor.h"
#include "core/base/filesystem.h"
#include "core/base/log.h"
#include "core/base/mutex.h"
#include "server/security/tls.h"

#include <absl/base/thread_annotations.h>
#include <absl/time/time.h>

#include <memory>
#include <optional>
#include <utility>

namespace penstock::server {

// A plain value.
struct TlsFilesState {
  // Of the certificate in its file; nullopt: it cannot be used now.
  std::optional<absl::Time> certificate_end;
  // As CheckTlsFiles. Otherwise connections that stand go on, but new ones
  // fail, unless files are only missing; and the worker could not start again.
  bool usable = true;
};

// The thread that answers probes scrapes, too, and would hang with the disk
// that the files lie on. So they are read on `io`, and what was found last is
// told; that they cannot be used is logged when it begins and when it ends.
//
// Owner:     the app. Threads: thread-safe.
// Lifecycle: from construction, which reads once; a reading under way may
//            outlive this.
// Bound:     one reading at a time.
class TlsFiles {
 public:
  // Older than that it is read again, for the next who asks.
  static constexpr absl::Duration kFresh = absl::Seconds(10);

  // `io` and `files` outlive the last reading. Blocks: as the disk does.
  TlsFiles(core::Executor& io, core::FileSystem& files, TlsOptions options)
      : io_(io), state_(std::make_shared<State>(files, std::move(options))) {
    state_->Read(io_.clock().SteadyNow());
  }

  // nullopt: no TLS. Blocks: never.
  std::optional<TlsFilesState> Get() {
    if (!state_->options.enabled()) return std::nullopt;
    core::MutexLock lock(state_->mu);
    const absl::Time now = io_.clock().SteadyNow();
    if (!state_->is_reading && now - state_->read_at >= kFresh) {
      state_->is_reading = true;
      io_.Schedule([state = state_, now] { state->Read(now); });
    }
    return state_->found;
  }

 private:
  // Shared by: this and a reading.
  struct State {
    State(core::FileSystem& the_files, TlsOptions the_options)
        : files(the_files), options(std::move(the_options)) {}

    void Read(absl::Time now) {
      if (!options.enabled()) return;
      const absl::Status status = CheckTlsFiles(files, options);
      const TlsFilesState state = {
          .certificate_end = CertificateEnd(files, options),
          .usable = status.ok()};
      core::MutexLock lock(mu);
      if (found.usable && !state.usable) {
        LOG(WARNING) << status.message()
                     << ": connections that stand go on, new ones may fail "
                        "until this is mended";
      } else if (!found.usable && state.usable) {
        LOG(INFO) << "the files of --tls-cert can be used again";
      }
      found = state;
      read_at = now;
      is_reading = false;
    }

    core::FileSystem& files;
    const TlsOptions options;
    core::Mutex mu;
    TlsFilesState found ABSL_GUARDED_BY(mu);
    absl::Time read_at ABSL_GUARDED_BY(mu);
    bool is_reading ABSL_GUARDED_BY(mu) = false;
  };

  core::Executor& io_;
  const std::shared_ptr<State> state_;
};

}  // namespace penstock::server
