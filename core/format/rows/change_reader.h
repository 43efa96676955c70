// What an envelope says of its row, whatever the format.
// See core/format/README.md, "Changes".
#pragma once

#include "core/contract/parse_error.h"
#include "core/format/rows/change_columns.h"
#include "core/format/rows/envelope.h"
#include "core/format/rows/row_token.h"
#include "core/format/value_text/value_fault.h"
#include "core/record/record.h"
#include "core/record/schema.h"
#include "core/record/value.h"
#include "core/record/value_arena.h"

#include <absl/strings/string_view.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {

// The members of envelopes that mean something.
enum class EnvelopeMember : uint8_t {
  kInsert,
  kDelete,
  kPayload,
  kOp,
  kBefore,
  kAfter,
  kSource,
  kTimestamp,
  kStatus,
  kId,
  kDdl,
  kTableChanges,
};
inline constexpr size_t kEnvelopeMembers = 12;
// nullopt: any other.
std::optional<EnvelopeMember> FindEnvelopeMember(absl::string_view name);

// What Debezium's `op` says.
enum class DebeziumOp : uint8_t {
  kCreate,
  kRead,
  kUpdate,
  kDelete,
  kTruncate,
  kMessage,
  kUnknown,
};
DebeziumOp FindDebeziumOp(absl::string_view letter);

// The column as which text is read that is no column's.
const Column& EnvelopeTextColumn();
const Column& EnvelopeNumberColumn();

// A change, as places in its document.
template <RowTokens Tokens>
struct Change {
  Op op = Op::kInsert;
  // Debezium's letter: c, r, u or d.
  absl::string_view letter;
  // At the row: what it is now, of a deletion what it was.
  std::optional<Tokens> row;
  // nullopt: missing or null.
  std::optional<Tokens> before;
  std::optional<Tokens> source;
  std::optional<Tokens> timestamp;
};

// Takes envelopes apart. It looks at the members of one object, or two, and
// reads no row.
//
//   raw            no envelope: the document is the row, and is inserted
//   insert_delete  an object with a member `insert` or `delete`, not both, that
//                  is an object: the row
//   debezium       an object with `op`, or one with that as its `payload`
//     c, r         inserted, the row is `after`
//     u            updated, the row is `after`
//     d            deleted, the row is `before`
//     m            passed: a message, not a change
//     t            bad: no change of a row says that a table was emptied
//   and passed as well: null and a null payload (tombstones), {"ts_ms": ...}
//   alone (heartbeats), objects with `status` and `id` (begin and end of
//   transactions), with `ddl` or `tableChanges` (changes of the schema)
//
// Other members are passed over; of equal names the last one counts; null is
// the same as missing.
//
// Owner: a parser. Threads: thread-compatible. Bound: its own size.
class ChangeReader {
 public:
  enum class Verdict : uint8_t { kChange, kPassed, kBad };

  // `key`: names from the row inwards to its key; empty: it has none.
  // `error_tag`: of envelopes that are none.
  ChangeReader(EnvelopeKind kind, ChangeColumns columns,
               std::vector<std::string> key, absl::string_view error_tag)
      : kind_(kind),
        columns_(columns),
        key_(std::move(key)),
        error_tag_(error_tag) {}

  EnvelopeKind kind() const { return kind_; }
  const ChangeColumns& columns() const { return columns_; }

  // Of a document that is known to be good. kBad: TakeError says why.
  template <RowTokens Tokens>
  Verdict Read(Tokens document, ValueArena& arena, Change<Tokens>& change);

  // Fills the columns of what is around the row. False: TakeError says why not.
  template <RowTokens Tokens>
  [[nodiscard]] bool FillColumns(const Change<Tokens>& change,
                                 ValueArena& arena, std::span<Value> row);

  // The text of the key, nullopt if there is none. Lifetime: a view of the
  // document or the arena.
  template <RowTokens Tokens>
  std::optional<absl::string_view> KeyOf(const Change<Tokens>& change,
                                         ValueArena& arena) const;

  // The rest of it is left for the caller. Requires: something was bad.
  ParseError TakeError() { return std::move(error_); }

 private:
  template <RowTokens Tokens>
  using Members = std::array<std::optional<Tokens>, kEnvelopeMembers>;

  template <RowTokens Tokens>
  static std::optional<Tokens>& Get(Members<Tokens>& members,
                                    EnvelopeMember member) {
    return members[static_cast<size_t>(member)];
  }
  // Those of the object that comes next that are not null. Returns how many
  // members it has, and whether there is a `payload` and it is null.
  template <RowTokens Tokens>
  static size_t Gather(Tokens tokens, ValueArena& arena,
                       Members<Tokens>& members, bool* null_payload = nullptr);
  template <RowTokens Tokens>
  static std::optional<absl::string_view> TextOf(Tokens tokens,
                                                 ValueArena& arena);

  template <RowTokens Tokens>
  Verdict ReadInsertDelete(Members<Tokens>& members, uint32_t at,
                           Change<Tokens>& change);
  template <RowTokens Tokens>
  Verdict ReadDebezium(Members<Tokens>& members, size_t count, uint32_t at,
                       ValueArena& arena, Change<Tokens>& change);
  // `row` of the member `name` becomes that of the change.
  template <RowTokens Tokens>
  Verdict TakeRow(std::optional<Tokens>& row, absl::string_view name,
                  uint32_t at, Change<Tokens>& change);
  // Of an object without `op`.
  Verdict JudgeOther(bool is_passed, uint32_t at);
  Verdict JudgeOp(absl::string_view letter, uint32_t at);
  // Makes a number of milliseconds a value of the timestamp's column; false: it
  // is beyond what that holds.
  bool FromMillis(Value& time) const;
  // Always kBad. `at`: of the byte from which on it is wrong.
  Verdict Fail(absl::string_view field, uint32_t at, std::string description,
               absl::string_view suggestion = "");

  const EnvelopeKind kind_;
  const ChangeColumns columns_;
  const std::vector<std::string> key_;
  const std::string error_tag_;
  ParseError error_;
};

}  // namespace penstock::core
