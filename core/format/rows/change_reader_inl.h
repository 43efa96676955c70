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
size_t ChangeReader::Gather(Tokens tokens, ValueArena& arena,
                            Members<Tokens>& members, bool* null_payload) {
  const uint32_t count = tokens.Enter();
  size_t place = 0;
  for (; tokens.HasNext(place, count); ++place) {
    const std::optional<EnvelopeMember> member =
        FindEnvelopeMember(tokens.TakeName(arena));
    if (member.has_value()) {
      std::optional<Tokens>& kept = Get(members, *member);
      kept.reset();
      const bool is_null = tokens.Peek() == RowToken::kNull;
      if (!is_null) kept.emplace(tokens);
      if (member == EnvelopeMember::kPayload && null_payload != nullptr) {
        *null_payload = is_null;
      }
    }
    tokens.TakeValue();
  }
  return place;
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
  Members<Tokens> members;
  bool null_payload = false;
  size_t count = Gather(document, arena, members, &null_payload);
  if (kind_ == EnvelopeKind::kInsertDelete) {
    return ReadInsertDelete(members, at, change);
  }
  if (null_payload) return Verdict::kPassed;
  std::optional<Tokens>& payload = Get(members, EnvelopeMember::kPayload);
  if (Get(members, EnvelopeMember::kOp).has_value() || !payload.has_value()) {
    return ReadDebezium(members, count, at, arena, change);
  }
  if (payload->Peek() != RowToken::kObject) {
    return Fail("payload", payload->At(), "payload is no object");
  }
  Members<Tokens> inner;
  count = Gather(*payload, arena, inner);
  return ReadDebezium(inner, count, payload->At(), arena, change);
}

template <RowTokens Tokens>
ChangeReader::Verdict ChangeReader::ReadInsertDelete(Members<Tokens>& members,
                                                     uint32_t at,
                                                     Change<Tokens>& change) {
  std::optional<Tokens>& inserted = Get(members, EnvelopeMember::kInsert);
  std::optional<Tokens>& deleted = Get(members, EnvelopeMember::kDelete);
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
ChangeReader::Verdict ChangeReader::ReadDebezium(Members<Tokens>& members,
                                                 size_t count, uint32_t at,
                                                 ValueArena& arena,
                                                 Change<Tokens>& change) {
  const auto get = [&members](EnvelopeMember member) -> std::optional<Tokens>& {
    return Get(members, member);
  };
  const std::optional<Tokens>& op = get(EnvelopeMember::kOp);
  if (!op.has_value()) {
    const bool is_heartbeat =
        count == 1 && get(EnvelopeMember::kTimestamp).has_value();
    const bool is_transaction = get(EnvelopeMember::kStatus).has_value() &&
                                get(EnvelopeMember::kId).has_value();
    return JudgeOther(is_heartbeat || is_transaction ||
                          get(EnvelopeMember::kDdl).has_value() ||
                          get(EnvelopeMember::kTableChanges).has_value(),
                      at);
  }
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
std::optional<absl::string_view> ChangeReader::KeyOf(
    const Change<Tokens>& change, ValueArena& arena) const {
  if (key_.empty()) return std::nullopt;
  std::optional<Tokens> at = change.row;
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
  return TextOf(*at, arena);
}

}  // namespace penstock::core
