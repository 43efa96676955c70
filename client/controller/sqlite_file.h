// The file of a SQLite store: how it is made, and what is looked at before its
// content is believed.
#pragma once

#include "client/controller/sqlite_database.h"
#include "client/controller/sqlite_store.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <memory>
#include <string>

namespace penstock::client {

// Makes an empty store at `path`: complete under another name, durable, then
// linked, so that a crash leaves no half of it.
// Errors: ALREADY_EXISTS (somebody made one meanwhile), as SqliteDatabase.
absl::Status CreateSqliteFile(const std::string& path,
                              const SqliteStoreOptions& options);

// Opens the file of an existing store and checks it: size, SQLite's magic, WAL
// mode, application id, schema version, tables, SQLite's own check, header. One
// of the schema version before is made one of this.
// Errors: NOT_FOUND; STATE_DAMAGED, naming what to do; as SqliteDatabase.
absl::StatusOr<std::unique_ptr<SqliteDatabase>> OpenSqliteFile(
    const std::string& path, const SqliteStoreOptions& options);

// As OpenSqliteFile, without the checks that read the whole file: after an I/O
// error of a connection that had passed them.
absl::StatusOr<std::unique_ptr<SqliteDatabase>> ConnectSqliteFile(
    const std::string& path, const SqliteStoreOptions& options);

}  // namespace penstock::client
