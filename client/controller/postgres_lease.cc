#include "client/controller/postgres_lease.h"

#include "client/controller/postgres_schema.h"
#include "core/base/error.h"
#include "core/base/status_macros.h"
#include "core/base/strand.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/substitute.h>

#include <algorithm>
#include <array>
#include <utility>

namespace penstock::client {
namespace {

using core::PgParam;
using core::PgResult;

// $0 is the schema, $1 who may take it beside its holder. The row is locked by
// the UPDATE and looked at again when it was locked by another.
constexpr absl::string_view kTakeSql = R"(
WITH taken AS (
  UPDATE $0.leases
     SET holder = $$2, controller = $$3, lasts = $$4::interval,
         expires_at = clock_timestamp() + $$4::interval
   WHERE pipeline = $$1 AND (holder = $$2 $1)
  RETURNING pipeline, holder, controller, expires_at),
lease AS (
  SELECT * FROM taken UNION ALL
  SELECT pipeline, holder, controller, expires_at FROM $0.leases
   WHERE pipeline = $$1 AND NOT EXISTS (SELECT FROM taken))
SELECT l.holder = $$2, l.controller, p.epoch,
       extract(epoch FROM
               greatest(l.expires_at, clock_timestamp()) - clock_timestamp()),
       to_char(l.expires_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  FROM lease l JOIN $0.pipelines p USING (pipeline))";
constexpr absl::string_view kOrEnded =
    "OR holder = '' OR expires_at <= clock_timestamp()"
    " OR expires_at > clock_timestamp() + 2 * lasts";

constexpr absl::string_view kReleaseSql =
    "UPDATE $0.leases SET holder = '', expires_at = clock_timestamp()"
    " WHERE pipeline = $$1 AND holder = $$2";

// Owner: shared by the lease and its task under way. Threads: confined to the
//        strand.
class Row {
 public:
  explicit Row(PostgresLeaseOptions options)
      : options_(std::move(options)),
        link_(PlaceOf(options_), "lease"),
        acquire_sql_(absl::Substitute(kTakeSql, kPostgresSchema, kOrEnded)),
        renew_sql_(absl::Substitute(kTakeSql, kPostgresSchema, "")) {}

  absl::StatusOr<LeaseState> Acquire() { return Explained(Take(acquire_sql_)); }
  absl::StatusOr<LeaseState> Renew() { return Explained(Take(renew_sql_)); }
  absl::Status Release() { return Explain(TryRelease()); }

 private:
  static PostgresPlace PlaceOf(const PostgresLeaseOptions& options) {
    PostgresPlace place = options.place;
    place.call_deadline = std::min(place.call_deadline, options.lasts / 4);
    return place;
  }

  absl::StatusOr<LeaseState> Take(absl::string_view sql);
  absl::Status TryRelease();
  absl::StatusOr<LeaseState> Explained(absl::StatusOr<LeaseState> state) {
    if (state.ok()) return state;
    return Explain(state.status());
  }
  absl::Status Explain(const absl::Status& status) {
    if (!status.ok()) link_.Drop();
    return link_.Explain(status);
  }

  const PostgresLeaseOptions options_;
  PostgresLink link_;
  const std::string acquire_sql_;
  const std::string renew_sql_;
};

absl::StatusOr<LeaseState> Row::Take(absl::string_view sql) {
  // Of both together.
  const absl::Time deadline = link_.Deadline();
  ASSIGN_OR_RETURN(core::PgConnection* const connection, link_.Use(deadline));
  const std::array params = {
      PgParam::Text(options_.place.pipeline), PgParam::Text(options_.holder),
      PgParam::Text(options_.controller),
      PgParam::Text(absl::StrCat(absl::ToInt64Milliseconds(options_.lasts),
                                 " milliseconds"))};
  ASSIGN_OR_RETURN(const PgResult row, connection->Exec(sql, params, deadline));
  double left = 0;
  if (row.rows() != 1 || !absl::SimpleAtod(row.Text(0, 3), &left)) {
    return core::MakeError(core::Reason::STATE_DAMAGED,
                           "the lease's row is not there");
  }
  LeaseState state;
  state.ours = row.Bool(0, 0);
  state.controller = std::string(row.Text(0, 1));
  ASSIGN_OR_RETURN(state.epoch, row.Uint64(0, 2));
  state.left = absl::Seconds(left);
  state.until = std::string(row.Text(0, 4));
  return state;
}

absl::Status Row::TryRelease() {
  // Of both together.
  const absl::Time deadline = link_.Deadline();
  ASSIGN_OR_RETURN(core::PgConnection* const connection, link_.Use(deadline));
  const std::array params = {PgParam::Text(options_.place.pipeline),
                             PgParam::Text(options_.holder)};
  return connection
      ->Exec(absl::Substitute(kReleaseSql, kPostgresSchema), params, deadline)
      .status();
}

class PostgresLease final : public Lease {
 public:
  PostgresLease(PostgresLeaseOptions options, core::Executor& executor)
      : lasts_(options.lasts),
        row_(std::make_shared<Row>(std::move(options))),
        strand_(executor) {}

  void Acquire(Reply reply) override {
    strand_.Post([row = row_, reply = std::move(reply)]() mutable {
      reply(row->Acquire());
    });
  }
  void Renew(Reply reply) override {
    strand_.Post([row = row_, reply = std::move(reply)]() mutable {
      reply(row->Renew());
    });
  }
  void Release(Done done) override {
    strand_.Post([row = row_, done = std::move(done)]() mutable {
      done(row->Release());
    });
  }
  absl::Duration lasts() const override { return lasts_; }

 private:
  const absl::Duration lasts_;
  const std::shared_ptr<Row> row_;
  core::Strand strand_;
};

}  // namespace

std::unique_ptr<Lease> MakePostgresLease(PostgresLeaseOptions options,
                                         core::Executor& executor) {
  return std::make_unique<PostgresLease>(std::move(options), executor);
}

}  // namespace penstock::client
