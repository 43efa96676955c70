// When the certificate of the gRPC port ends, for who must not wait.
// See server/security/README.md.
#pragma once

#include "core/base/executor.h"
#include "core/base/filesystem.h"
#include "core/base/mutex.h"
#include "server/security/tls.h"

#include <absl/base/thread_annotations.h>
#include <absl/time/time.h>

#include <memory>
#include <optional>
#include <utility>

namespace penstock::server {

// The thread that answers probes scrapes, too, and would hang with the disk
// that the certificate lies on. So that is read on `io`, and what was read last
// is told.
//
// Owner:     the app. Threads: thread-safe.
// Lifecycle: from construction, which reads once; a reading under way may
//            outlive this.
// Bound:     one reading at a time.
class LastCertificateEnd {
 public:
  // Older than that it is read again, for the next who asks.
  static constexpr absl::Duration kFresh = absl::Seconds(10);

  // `io` and `files` outlive the last reading. Blocks: as the disk does.
  LastCertificateEnd(core::Executor& io, core::FileSystem& files,
                     TlsOptions options)
      : io_(io), state_(std::make_shared<State>(files, std::move(options))) {
    state_->Read(io_.clock().SteadyNow());
  }

  // As CertificateEnd. Blocks: never.
  std::optional<absl::Time> Get() {
    core::MutexLock lock(state_->mu);
    const absl::Time now = io_.clock().SteadyNow();
    if (!state_->is_reading && now - state_->read_at >= kFresh) {
      state_->is_reading = true;
      io_.Schedule([state = state_, now] { state->Read(now); });
    }
    return state_->end;
  }

 private:
  // Shared by: this and a reading.
  struct State {
    State(core::FileSystem& the_files, TlsOptions the_options)
        : files(the_files), options(std::move(the_options)) {}

    void Read(absl::Time now) {
      const std::optional<absl::Time> found = CertificateEnd(files, options);
      core::MutexLock lock(mu);
      end = found;
      read_at = now;
      is_reading = false;
    }

    core::FileSystem& files;
    const TlsOptions options;
    core::Mutex mu;
    std::optional<absl::Time> end ABSL_GUARDED_BY(mu);
    absl::Time read_at ABSL_GUARDED_BY(mu);
    bool is_reading ABSL_GUARDED_BY(mu) = false;
  };

  core::Executor& io_;
  const std::shared_ptr<State> state_;
};

}  // namespace penstock::server
