#include "core/format/rows/change_reader.h"

#include <absl/strings/escaping.h>
#include <absl/strings/str_cat.h>

#include <string_view>
#include <utility>

namespace penstock::core {
namespace {

constexpr std::array<std::pair<absl::string_view, EnvelopeMember>,
                     kEnvelopeMembers>
    kMembers = {{{"op", EnvelopeMember::kOp},
                 {"before", EnvelopeMember::kBefore},
                 {"after", EnvelopeMember::kAfter},
                 {"source", EnvelopeMember::kSource},
                 {"ts_ms", EnvelopeMember::kTimestamp},
                 {"payload", EnvelopeMember::kPayload},
                 {"insert", EnvelopeMember::kInsert},
                 {"delete", EnvelopeMember::kDelete},
                 {"status", EnvelopeMember::kStatus},
                 {"id", EnvelopeMember::kId},
                 {"ddl", EnvelopeMember::kDdl},
                 {"tableChanges", EnvelopeMember::kTableChanges},
                 {"event_count", EnvelopeMember::kEventCount},
                 {"data_collections", EnvelopeMember::kDataCollections}}};

}  // namespace

std::optional<EnvelopeMember> FindEnvelopeMember(absl::string_view name) {
  for (const auto& [known, member] : kMembers) {
    if (name == known) return member;
  }
  return std::nullopt;
}

bool IsOfTransaction(EnvelopeMember member) {
  return member == EnvelopeMember::kStatus || member == EnvelopeMember::kId ||
         member == EnvelopeMember::kTimestamp ||
         member == EnvelopeMember::kEventCount ||
         member == EnvelopeMember::kDataCollections;
}

DebeziumOp FindDebeziumOp(absl::string_view letter) {
  if (letter.size() != 1) return DebeziumOp::kUnknown;
  switch (letter.front()) {
    case 'c':
      return DebeziumOp::kCreate;
    case 'r':
      return DebeziumOp::kRead;
    case 'u':
      return DebeziumOp::kUpdate;
    case 'd':
      return DebeziumOp::kDelete;
    case 't':
      return DebeziumOp::kTruncate;
    case 'm':
      return DebeziumOp::kMessage;
    default:
      return DebeziumOp::kUnknown;
  }
}

const Column& EnvelopeTextColumn() {
  static const Column& column = *new Column{.name = "text"};
  return column;
}

const Column& EnvelopeNumberColumn() {
  static const Column& column =
      *new Column{.name = "number", .type = SqlType::kBigint};
  return column;
}

const Column& EnvelopeNoNumberColumn() {
  static const Column& column =
      *new Column{.name = "text", .type = SqlType::kUuid};
  return column;
}

ChangeReader::ChangeReader(const EnvelopeConfig& envelope,
                           ChangeColumns columns, std::vector<std::string> key,
                           absl::string_view error_tag)
    : kind_(envelope.kind),
      columns_(columns),
      key_(std::move(key)),
      error_tag_(error_tag),
      unavailable_(envelope.unavailable_value),
      unavailable_base64_(absl::Base64Escape(unavailable_)) {}

std::unique_ptr<ChangeReader> ChangeReader::MakeIfAny(
    const EnvelopeConfig& envelope, ChangeColumns columns,
    std::vector<std::string> key, absl::string_view error_tag) {
  if (envelope.kind == EnvelopeKind::kRaw) return nullptr;
  return std::make_unique<ChangeReader>(envelope, columns, std::move(key),
                                        error_tag);
}

bool ChangeReader::MayMarkUnavailable(absl::string_view document) const {
  const std::string_view text(document.data(), document.size());
  return text.find(unavailable_) != std::string_view::npos ||
         text.find(unavailable_base64_) != std::string_view::npos;
}

ChangeReader::Verdict ChangeReader::JudgeOther(bool is_passed, uint32_t at) {
  if (is_passed) return Verdict::kPassed;
  return Fail("op", at, "there is no op, so it says no change",
              "see whether `envelope` is what the input has");
}

ChangeReader::Verdict ChangeReader::JudgeOp(absl::string_view letter,
                                            uint32_t at) {
  switch (FindDebeziumOp(letter)) {
    case DebeziumOp::kMessage:
      return Verdict::kPassed;
    case DebeziumOp::kTruncate:
      return Fail("op", at,
                  "the table was emptied (op t), which no change of a row says",
                  "empty the target by hand");
    case DebeziumOp::kCreate:
    case DebeziumOp::kRead:
    case DebeziumOp::kUpdate:
    case DebeziumOp::kDelete:
    case DebeziumOp::kUnknown:
      break;
  }
  return Fail("op", at, "op is none of c, r, u, d, t and m");
}

bool ChangeReader::FromMillis(Value& time) const {
  constexpr int64_t kMillisMax = INT64_MAX / 1'000 - 1;
  const int64_t ms = time.AsInt64();
  if (columns_.timestamp_type == SqlType::kBigint) return true;
  if (ms > kMillisMax || ms < -kMillisMax) return false;
  time = columns_.timestamp_type == SqlType::kTimestamp
             ? Value::Timestamp(ms * 1'000)
             : Value::Timestamptz(ms * 1'000);
  return true;
}

ChangeReader::Verdict ChangeReader::Fail(absl::string_view field, uint32_t at,
                                         std::string description,
                                         absl::string_view suggestion) {
  error_ = ParseError();
  error_.tag = error_tag_;
  error_.description =
      absl::StrCat(description, ", at byte ", at, " of the record");
  if (!field.empty()) error_.field = std::string(field);
  error_.suggestion = std::string(suggestion);
  return Verdict::kBad;
}

}  // namespace penstock::core
