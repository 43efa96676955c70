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
#include <memory>
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
  kEventCount,
  kDataCollections,
};
inline constexpr size_t kEnvelopeMembers = 14;
// nullopt: any other.
std::optional<EnvelopeMember> FindEnvelopeMember(absl::string_view name);
// Whether begin and end of a transaction have it.
bool IsOfTransaction(EnvelopeMember member);

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
// Takes text, perhaps, but no number.
const Column& EnvelopeNoNumberColumn();

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
//   alone (heartbeats), objects of nothing but what begin and end of a
//   transaction have (`status` BEGIN or END, `id`, `ts_ms`, `event_count`,
//   `data_collections`), objects with a `source` beside `ddl` or `tableChanges`
//   (changes of the schema)
//
// Other members are passed over; of equal names the last one counts; null is
// the same as missing.
//
// Owner: a parser. Threads: thread-compatible. Bound: its own size.
class ChangeReader {
 public:
  enum class Verdict : uint8_t { kChange, kPassed, kBad };

  // `columns`: those of `envelope`. `key`: names from the row inwards to its
  // key; empty: it has none. `error_tag`: of envelopes that are none.
  ChangeReader(const EnvelopeConfig& envelope, ChangeColumns columns,
               std::vector<std::string> key, absl::string_view error_tag);
  // The same; null where there is no envelope.
  static std::unique_ptr<ChangeReader> MakeIfAny(const EnvelopeConfig& envelope,
                                                 ChangeColumns columns,
                                                 std::vector<std::string> key,
                                                 absl::string_view error_tag);

  EnvelopeKind kind() const { return kind_; }
  const ChangeColumns& columns() const { return columns_; }

  // Of a document that is known to be good. kBad: TakeError says why.
  template <RowTokens Tokens>
  Verdict Read(Tokens document, ValueArena& arena, Change<Tokens>& change);

  // Fills the columns of what is around the row. False: TakeError says why not.
  template <RowTokens Tokens>
  [[nodiscard]] bool FillColumns(const Change<Tokens>& change,
                                 ValueArena& arena, std::span<Value> row);

  // Whether the change says of each member of the row what it is, and leaves
  // the row with the key that it had. `document`: its bytes. False: TakeError
  // says why not.
  template <RowTokens Tokens>
  [[nodiscard]] bool IsWhole(const Change<Tokens>& change,
                             absl::string_view document, ValueArena& arena);

  // The key of a row as it stands, or its text; nullopt if there is none.
  // Lifetime: a view of the document or the arena.
  template <RowTokens Tokens>
  std::optional<absl::string_view> KeyOf(Tokens row, ValueArena& arena) const;

  // The rest of it is left for the caller. Requires: something was bad.
  ParseError TakeError() { return std::move(error_); }

 private:
  template <RowTokens Tokens>
  struct Members {
    // Those that are not null.
    std::array<std::optional<Tokens>, kEnvelopeMembers> values;
    // Of all, and of those that begin and end of a transaction have.
    size_t count = 0;
    size_t of_transaction = 0;
    bool has_null_payload = false;

    std::optional<Tokens>& operator[](EnvelopeMember member) {
      return values[static_cast<size_t>(member)];
    }
  };

  // Those of the object that comes next.
  template <RowTokens Tokens>
  static Members<Tokens> Gather(Tokens tokens, ValueArena& arena);
  template <RowTokens Tokens>
  static std::optional<absl::string_view> TextOf(Tokens tokens,
                                                 ValueArena& arena);

  // Whether a document without `op` is one of Debezium's that say no change.
  template <RowTokens Tokens>
  static bool IsPassed(Members<Tokens>& members, ValueArena& arena);
  // Whether a document may have a value that stands for one that Debezium was
  // not told (MarksUnavailable). Cheap, and right wherever there is one.
  bool MayMarkUnavailable(absl::string_view document) const;
  bool MarksUnavailable(absl::string_view text) const {
    return text == unavailable_ || text == unavailable_base64_;
  }
  // Of a member of a row, or the first element of an array.
  template <RowTokens Tokens>
  bool IsUnavailable(Tokens tokens, ValueArena& arena) const;

  template <RowTokens Tokens>
  Verdict ReadInsertDelete(Members<Tokens>& members, uint32_t at,
                           Change<Tokens>& change);
  template <RowTokens Tokens>
  Verdict ReadDebezium(Members<Tokens>& members, uint32_t at, ValueArena& arena,
                       Change<Tokens>& change);
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
  // Of bytes it stands in JSON as base64.
  const std::string unavailable_;
  const std::string unavailable_base64_;
  ParseError error_;
};

}  // namespace penstock::core
