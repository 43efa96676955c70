// The definitions behind change_reader.h, for those who have tokens.
#pragma once

#include "core/format/rows/change_reader.h"
#include "core/format/rows/row_token.h"
#include "core/format/value_text/value_fault.h"
#include "core/record/record.h"
#include "core/record/value.h"
#include "core/record/value_arena.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/string_view.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace penstock::core {

template <RowTokens Tokens>
ChangeReader::Members<Tokens> ChangeReader::Gather(Tokens tokens,
                                                   ValueArena& arena) {
  Members<Tokens> members;
  const uint32_t count = tokens.Enter();
  for (; tokens.HasNext(members.count, count); ++members.count) {
    const std::optional<EnvelopeMember> member =
        FindEnvelopeMember(tokens.TakeName(arena));
    if (member.has_value()) {
      std::optional<Tokens>& kept = members[*member];
      kept.reset();
      const bool is_null = tokens.Peek() == RowToken::kNull;
      if (!is_null) kept.emplace(tokens);
      if (member == EnvelopeMember::kPayload) {
        members.has_null_payload = is_null;
      }
      if (IsOfTransaction(*member)) ++members.of_transaction;
    }
    tokens.TakeValue();
  }
  return members;
}

template <RowTokens Tokens>
std::optional<absl::string_view> ChangeReader::TextOf(Tokens tokens,
                                                      ValueArena& arena) {
  if (tokens.Peek() != RowToken::kSingle) return std::nullopt;
  Value value;
  absl::string_view text;
  const ValueFault fault =
      tokens.TakeSingle(EnvelopeTextColumn(), arena, value, text);
  if (fault != ValueFault::kNone) return std::nullopt;
  return value.AsString();
}

template <RowTokens Tokens>
ChangeReader::Verdict ChangeReader::Read(Tokens document, ValueArena& arena,
                                         Change<Tokens>& change) {
  const uint32_t at = document.At();
  if (kind_ == EnvelopeKind::kRaw) {
    change.letter = "c";
    change.row.emplace(document);
    return Verdict::kChange;
  }
  if (document.Peek() == RowToken::kNull && kind_ == EnvelopeKind::kDebezium) {
    return Verdict::kPassed;
  }
  if (document.Peek() != RowToken::kObject) {
    return Fail("", at, "the record is no object, so it says no change",
                "see whether `envelope` is what the input has; arrays of "
                "changes can be read by the format json");
  }
  Members<Tokens> members = Gather(document, arena);
  if (kind_ == EnvelopeKind::kInsertDelete) {
    return ReadInsertDelete(members, at, change);
  }
  if (members[EnvelopeMember::kOp].has_value()) {
    return ReadDebezium(members, at, arena, change);
  }
  if (members.has_null_payload) return Verdict::kPassed;
  std::optional<Tokens>& payload = members[EnvelopeMember::kPayload];
  if (!payload.has_value()) return ReadDebezium(members, at, arena, change);
  if (payload->Peek() != RowToken::kObject) {
    return Fail("payload", payload->At(), "payload is no object");
  }
  Members<Tokens> inner = Gather(*payload, arena);
  return ReadDebezium(inner, payload->At(), arena, change);
}

template <RowTokens Tokens>
ChangeReader::Verdict ChangeReader::ReadInsertDelete(Members<Tokens>& members,
                                                     uint32_t at,
                                                     Change<Tokens>& change) {
  std::optional<Tokens>& inserted = members[EnvelopeMember::kInsert];
  std::optional<Tokens>& deleted = members[EnvelopeMember::kDelete];
  if (inserted.has_value() && deleted.has_value()) {
    return Fail("", at, "the record has both insert and delete",
                "write two records, the deletion first");
  }
  if (deleted.has_value()) {
    change.op = Op::kDelete;
    change.letter = "d";
    return TakeRow(deleted, "delete", at, change);
  }
  change.letter = "c";
  return TakeRow(inserted, inserted.has_value() ? "insert" : "insert or delete",
                 at, change);
}

template <RowTokens Tokens>
bool ChangeReader::IsPassed(Members<Tokens>& members, ValueArena& arena) {
  const auto has = [&](EnvelopeMember of) { return members[of].has_value(); };
  if (has(EnvelopeMember::kDdl) || has(EnvelopeMember::kTableChanges)) {
    return has(EnvelopeMember::kSource) &&
           members[EnvelopeMember::kSource]->Peek() == RowToken::kObject;
  }
  if (members.count == 1) return has(EnvelopeMember::kTimestamp);
  // A row may have a status and an id as well.
  constexpr size_t kTransactionMembersMin = 3;
  if (members.count < kTransactionMembersMin ||
      members.of_transaction != members.count ||
      !has(EnvelopeMember::kStatus) || !has(EnvelopeMember::kId)) {
    return false;
  }
  const absl::string_view status =
      TextOf(*members[EnvelopeMember::kStatus], arena).value_or("");
  Tokens id = *members[EnvelopeMember::kId];
  if (id.Peek() != RowToken::kSingle) return false;
  Value value;
  absl::string_view text;
  const bool is_number = id.TakeSingle(EnvelopeNoNumberColumn(), arena, value,
                                       text) == ValueFault::kNotText;
  return !is_number && (status == "BEGIN" || status == "END");
}

template <RowTokens Tokens>
ChangeReader::Verdict ChangeReader::ReadDebezium(Members<Tokens>& members,
                                                 uint32_t at, ValueArena& arena,
                                                 Change<Tokens>& change) {
  const auto get = [&members](EnvelopeMember member) -> std::optional<Tokens>& {
    return members[member];
  };
  const std::optional<Tokens>& op = get(EnvelopeMember::kOp);
  if (!op.has_value()) return JudgeOther(IsPassed(members, arena), at);
  const absl::string_view letter = TextOf(*op, arena).value_or("");
  const auto keep = [&get](EnvelopeMember member, std::optional<Tokens>& to) {
    if (get(member).has_value()) to.emplace(*get(member));
  };
  keep(EnvelopeMember::kBefore, change.before);
  keep(EnvelopeMember::kSource, change.source);
  keep(EnvelopeMember::kTimestamp, change.timestamp);
  change.letter = letter;
  switch (FindDebeziumOp(letter)) {
    case DebeziumOp::kCreate:
    case DebeziumOp::kRead:
      return TakeRow(get(EnvelopeMember::kAfter), "after", at, change);
    case DebeziumOp::kUpdate:
      change.op = Op::kUpdate;
      return TakeRow(get(EnvelopeMember::kAfter), "after", at, change);
    case DebeziumOp::kDelete:
      change.op = Op::kDelete;
      return TakeRow(get(EnvelopeMember::kBefore), "before", at, change);
    case DebeziumOp::kTruncate:
    case DebeziumOp::kMessage:
    case DebeziumOp::kUnknown:
      break;
  }
  return JudgeOp(letter, op->At());
}

template <RowTokens Tokens>
ChangeReader::Verdict ChangeReader::TakeRow(std::optional<Tokens>& row,
                                            absl::string_view name, uint32_t at,
                                            Change<Tokens>& change) {
  if (!row.has_value()) {
    return Fail(name, at, absl::StrCat("there is no ", name),
                name == "before" ? "let the database tell what a deleted row "
                                   "was (PostgreSQL: REPLICA IDENTITY)"
                                 : "");
  }
  if (row->Peek() != RowToken::kObject) {
    return Fail(name, row->At(), absl::StrCat(name, " is no object"));
  }
  change.row.emplace(*row);
  return Verdict::kChange;
}

template <RowTokens Tokens>
bool ChangeReader::FillColumns(const Change<Tokens>& change, ValueArena& arena,
                               std::span<Value> row) {
  const auto fill_any = [&](std::optional<uint32_t> column,
                            const std::optional<Tokens>& from,
                            absl::string_view name) {
    if (!column.has_value()) return true;
    row[*column] = Value();
    if (!from.has_value()) return true;
    Tokens tokens = *from;
    absl::string_view text;
    if (tokens.TakeVariant(arena, row[*column], text) == ValueFault::kNone) {
      return true;
    }
    Fail(name, from->At(), absl::StrCat(name, " has what JSON cannot say"));
    return false;
  };
  if (columns_.op.has_value()) {
    row[*columns_.op] = Value::String(arena.Copy(change.letter));
  }
  if (columns_.timestamp.has_value()) {
    Value& time = row[*columns_.timestamp];
    time = Value();
    if (change.timestamp.has_value()) {
      Tokens tokens = *change.timestamp;
      absl::string_view text;
      const bool is_number = tokens.Peek() == RowToken::kSingle &&
                             tokens.TakeSingle(EnvelopeNumberColumn(), arena,
                                               time, text) == ValueFault::kNone;
      if (!is_number || !FromMillis(time)) {
        Fail("ts_ms", change.timestamp->At(),
             "ts_ms is no number of milliseconds");
        return false;
      }
    }
  }
  return fill_any(columns_.source, change.source, "source") &&
         fill_any(columns_.before, change.before, "before");
}

template <RowTokens Tokens>
bool ChangeReader::IsUnavailable(Tokens tokens, ValueArena& arena) const {
  if (tokens.Peek() == RowToken::kArray) {
    if (!tokens.HasNext(0, tokens.Enter())) return false;
  } else if (tokens.Peek() == RowToken::kObject) {
    // Of a map the key says it as well.
    return tokens.HasNext(0, tokens.Enter()) &&
           MarksUnavailable(tokens.TakeName(arena));
  }
  if (tokens.Peek() != RowToken::kSingle) return false;
  return MarksUnavailable(tokens.TakeKeyBytes(arena).value_or(""));
}

template <RowTokens Tokens>
bool ChangeReader::IsWhole(const Change<Tokens>& change,
                           absl::string_view document, ValueArena& arena) {
  if (kind_ != EnvelopeKind::kDebezium || change.op == Op::kDelete) return true;
  if (MayMarkUnavailable(document)) {
    Tokens tokens = *change.row;
    const uint32_t count = tokens.Enter();
    for (size_t place = 0; tokens.HasNext(place, count); ++place) {
      const absl::string_view name = tokens.TakeName(arena);
      if (IsUnavailable(tokens, arena)) {
        Fail(name, tokens.At(),
             absl::StrCat(name,
                          " did not change, and the database did not "
                          "tell Debezium what it is"),
             "let it tell all of a row (PostgreSQL: ALTER TABLE ... REPLICA "
             "IDENTITY FULL), or leave the column out of Debezium's changes");
        return false;
      }
      tokens.TakeValue();
    }
  }
  if (change.op != Op::kUpdate || !change.before.has_value() || key_.empty()) {
    return true;
  }
  const std::optional<absl::string_view> before = KeyOf(*change.before, arena);
  const std::optional<absl::string_view> after = KeyOf(*change.row, arena);
  if (!before.has_value() || before == after) return true;
  Fail("before", change.before->At(),
       "the update changes the row's key, so that the row of the old key would "
       "stay",
       "let the format's key be the one that Debezium uses (its message keys): "
       "of that it writes a deletion and an insertion");
  return false;
}

template <RowTokens Tokens>
std::optional<absl::string_view> ChangeReader::KeyOf(Tokens row,
                                                     ValueArena& arena) const {
  if (key_.empty()) return std::nullopt;
  std::optional<Tokens> at = row;
  for (const std::string& wanted : key_) {
    if (at->Peek() != RowToken::kObject) return std::nullopt;
    Tokens tokens = *at;
    at.reset();
    const uint32_t count = tokens.Enter();
    for (size_t place = 0; tokens.HasNext(place, count); ++place) {
      const absl::string_view name = tokens.TakeName(arena);
      if (name == wanted) {
        at.emplace(tokens);
      }
      tokens.TakeValue();
    }
    if (!at.has_value()) return std::nullopt;
  }
  return at->TakeKeyBytes(arena);
}

}  // namespace penstock::core
