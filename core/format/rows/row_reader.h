// A record that is known to be good to a row of typed values.
// See core/format/README.md.
#pragma once

#include "core/contract/parse_error.h"
#include "core/format/rows/field_finder.h"
#include "core/format/rows/row_token.h"
#include "core/format/value_text/value_fault.h"
#include "core/record/schema.h"
#include "core/record/value.h"
#include "core/record/value_arena.h"

#include <absl/strings/string_view.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace penstock::core {

// Reads the members of an object into the columns that bear their names, in one
// pass. Members that no column is called after are passed over; of equal names
// the last one counts, whatever stood before it; a column without a member, and
// one whose member is null, is null. Numbers keep every digit.
//
//   boolean                      true, false, or the same as a string
//   integers, decimal, real,
//   double                       a number, or one as a string
//   varchar                      a string; a number, true or false as it stands
//   varbinary, date, time,
//   timestamp, timestamptz, uuid a string (core/format/value_text)
//   array                        an array
//   map, struct                  an object; of a map each value must be good
//   variant                      anything, byte for byte
//
// These are values of JSON (core/format/ndjson/json_rows.h); MessagePack has
// more (core/format/msgpack/msgpack_rows.h).
//
// Owner:    a parser. Threads: thread-compatible. Not moved: it points into
//           itself.
// Lifetime: values are views of the text or were made in the arena.
// Bound:    of its own, the values of the widest array or map so far.
class RowReader {
 public:
  // Requires: the schema is one that a ConnectorSpec may have.
  explicit RowReader(Schema schema);
  RowReader(const RowReader&) = delete;
  RowReader& operator=(const RowReader&) = delete;
  ~RowReader();

  const Schema& schema() const { return schema_; }

  // Reads the row of a record, of which these are the tokens.
  // Returns: whether it is good. Otherwise TakeError says why not.
  // Defined in row_reader_inl.h, for who has tokens.
  template <RowTokens Tokens>
  [[nodiscard]] bool Read(Tokens tokens, ValueArena& arena);

  // The row read last, until the next is read. Requires: it was good.
  std::span<const Value> row() const { return row_; }

  // What is wrong with the row read last: tag, description, field, suggestion.
  ParseError TakeError();

 private:
  // A column and how to find what is in it.
  struct Node;
  // A value that is none, and where.
  struct Problem {
    // The names of the columns that it is in and its own, made from within.
    std::string path;
    const Column* column = nullptr;
    ValueFault fault = ValueFault::kNone;
    absl::string_view text;
    uint32_t at = 0;
  };
  // That of a field, until another member of its name is good.
  struct Deferred {
    uint32_t field = 0;
    Problem problem;
  };

  // Each reads what its name says and passes it; false: problem_ says why not,
  // and it is passed all the same.
  template <RowTokens Tokens>
  bool ReadValue(Node& node, Tokens& tokens, Value& value);
  template <RowTokens Tokens>
  bool ReadSingle(const Column& column, Tokens& tokens, Value& value);
  template <RowTokens Tokens>
  bool ReadVariant(const Column& column, Tokens& tokens, Value& value);
  template <RowTokens Tokens>
  bool ReadArray(Node& node, Tokens& tokens, Value& value);
  template <RowTokens Tokens>
  bool ReadMap(Node& node, Tokens& tokens, Value& value);
  // An object's members to `fields`, which are null before.
  template <RowTokens Tokens>
  bool ReadFields(Node& node, Tokens& tokens, std::span<Value> fields);

  bool CheckFields(Node& node, std::span<const Value> fields, uint32_t at,
                   std::vector<Deferred>& deferred);
  // Of the pairs on the stack from `base` on, only the last of each key stays.
  void DropOldPairs(size_t base);
  // What is on the stack from `base` on, moved to the arena.
  std::span<const Value> TakeStack(size_t base);
  // Always false.
  bool Fail(const Column& column, ValueFault fault, absl::string_view text,
            uint32_t at);
  // Puts `name` before the path of the problem.
  void AddToPath(absl::string_view name);

  const Schema schema_;
  // The record as a column of type struct.
  const Column record_;
  const std::unique_ptr<Node> root_;

  std::vector<Value> row_;
  // Elements and pairs of the arrays and maps that are being read.
  std::vector<Value> stack_;
  Problem problem_;
  // Of the Read under way.
  ValueArena* arena_ = nullptr;
};

}  // namespace penstock::core
