// The rows that a statement gave.
#pragma once

#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

// Of libpq, whose header stays in the .cc files.
struct pg_result;

namespace penstock::core {

// Threads:  thread-compatible. Bound: all rows are in memory: for statements
//           that give few.
class PgResult {
 public:
  // Takes over `result`, which is not null.
  explicit PgResult(pg_result* result);

  size_t rows() const;
  size_t columns() const;
  // How many rows INSERT, UPDATE, DELETE or COPY changed.
  uint64_t affected() const;
  // "COMMIT", "ROLLBACK", "UPDATE 1" ...
  absl::string_view command() const;

  // Requires: row < rows(), column < columns().
  bool IsNull(size_t row, size_t column) const;
  // The value as text; empty for null. Lifetime: this.
  absl::string_view Text(size_t row, size_t column) const;
  // Errors: INTERNAL: it is no such number.
  absl::StatusOr<int64_t> Int64(size_t row, size_t column) const;
  absl::StatusOr<uint64_t> Uint64(size_t row, size_t column) const;
  // Of type boolean; false for null.
  bool Bool(size_t row, size_t column) const;
  // Of type bytea. Errors: INTERNAL: it is none.
  absl::StatusOr<std::string> Bytes(size_t row, size_t column) const;

 private:
  struct Clear {
    void operator()(pg_result* result) const;
  };
  std::unique_ptr<pg_result, Clear> result_;
};

}  // namespace penstock::core
