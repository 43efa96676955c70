// A PostgreSQL store's connection, made again when it was lost.
#pragma once

#include "core/base/clock.h"
#include "core/pg/conninfo.h"
#include "core/pg/pg_connection.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/time/time.h>

#include <memory>
#include <string>

namespace penstock::client {

// Which pipeline's state, where, and how long anything may take.
struct PostgresPlace {
  core::Conninfo conninfo;
  std::string pipeline;
  // Of connecting, and of each statement, here and at the server; locks are
  // waited for half as long, and a transaction whose client says nothing for
  // so long is ended by the server.
  absl::Duration call_deadline = absl::Seconds(10);
  // Deadlines are kept by its steady time; its wall time is not looked at.
  const core::Clock* clock = &core::RealClock();

  // "postgresql://host/database, pipeline 'shop'", without secrets.
  std::string name() const;
};

// Owner:   whoever uses it. Threads: confined to one thread at a time.
// Blocks:  up to `call_deadline`.
class PostgresLink {
 public:
  // `purpose` names the sessions, for people at the server.
  PostgresLink(PostgresPlace place, std::string purpose)
      : place_(std::move(place)), purpose_(std::move(purpose)) {}

  // The connection, in no transaction. Errors: as PgConnection.
  absl::StatusOr<core::PgConnection*> Use(absl::Time deadline);
  absl::StatusOr<core::PgConnection*> Use() { return Use(Deadline()); }
  // Whatever it was doing is undone, here at once, at the server soon.
  void Drop() { connection_ = nullptr; }

  // An error of the connection as one of a StateStore: UNAVAILABLE for whatever
  // may pass, deadlines too; STATE_DAMAGED where the server knows our tables no
  // more; others as they are. Says which store it is.
  absl::Status Explain(const absl::Status& error) const;

  const PostgresPlace& place() const { return place_; }
  absl::Time Deadline() const {
    return place_.clock->SteadyNow() + place_.call_deadline;
  }

 private:
  const PostgresPlace place_;
  const std::string purpose_;
  std::unique_ptr<core::PgConnection> connection_;
};

}  // namespace penstock::client
