#include "core/format/ndjson/line_checker.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>
#include <simdjson.h>

#include <utility>

namespace penstock::core {
namespace {

constexpr absl::string_view kJsonSuggestion = "write JSON as RFC 8259 has it";

// About how long a field path in an error may become.
constexpr size_t kFieldBytesMax = 256;

// How many bytes the UTF-8 character at the beginning of `text` has; 0: it is
// none. Source: RFC 3629, the table in section 4.
size_t Utf8Size(absl::string_view text) {
  const auto byte = [text](size_t index) {
    return index < text.size() ? static_cast<unsigned char>(text[index]) : 0u;
  };
  const auto in = [](unsigned value, unsigned low, unsigned high) {
    return value >= low && value <= high;
  };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  if (in(lead, 0xc2, 0xdf)) return in(byte(1), 0x80, 0xbf) ? 2 : 0;
  if (in(lead, 0xe0, 0xef)) {
    const unsigned low = lead == 0xe0 ? 0xa0 : 0x80;
    const unsigned high = lead == 0xed ? 0x9f : 0xbf;
    return in(byte(1), low, high) && in(byte(2), 0x80, 0xbf) ? 3 : 0;
  }
  if (in(lead, 0xf0, 0xf4)) {
    const unsigned low = lead == 0xf0 ? 0x90 : 0x80;
    const unsigned high = lead == 0xf4 ? 0x8f : 0xbf;
    return in(byte(1), low, high) && in(byte(2), 0x80, 0xbf) &&
                   in(byte(3), 0x80, 0xbf)
               ? 4
               : 0;
  }
  return 0;
}

std::string Describe(char c) {
  if (c > ' ' && c < '\x7f') return absl::StrFormat("'%c'", c);
  return absl::StrFormat("byte 0x%02x", static_cast<unsigned char>(c));
}

absl::string_view SuggestionFor(char c) {
  switch (c) {
    case 'N':
    case 'I':
    case 'i':
      return "JSON has neither NaN nor Infinity: write null or a string";
    case '\'':
      return "JSON strings stand in double quotes";
    case 'T':
    case 'F':
      return "JSON literals are lower case: true, false, null";
    default:
      return kJsonSuggestion;
  }
}

}  // namespace

JsonProblem LineChecker::Check() {
  if (CheckUtf8()) CheckDocument();
  return std::move(problem_);
}

bool LineChecker::CheckUtf8() {
  if (simdjson::validate_utf8(text_.data(), text_.size())) return true;
  size_t at = 0;
  while (at < text_.size()) {
    const size_t size = Utf8Size(text_.substr(at));
    if (size == 0) break;
    at += size;
  }
  return Fail(JsonFault::kInvalidUtf8, at,
              absl::StrCat("the text is not UTF-8 from byte ", at, " on"),
              "write the text as UTF-8");
}

bool LineChecker::CheckDocument() {
  while (true) {
    bool opened = false;
    if (!ReadValue(opened)) return false;
    if (opened) continue;
    bool document_over = false;
    if (!ReadAfterValue(document_over)) return false;
    if (document_over) break;
  }
  SkipBlanks();
  if (at_ == text_.size()) return true;
  return Fail(JsonFault::kTrailingData, at_,
              absl::StrCat("after the value, which is complete, there is ",
                           Describe(text_[at_]), " at byte ", at_),
              "put each value on a line of its own");
}

// `opened`: a container was opened that has something in it.
bool LineChecker::ReadValue(bool& opened) {
  SkipBlanks();
  if (!NextIs('{') && !NextIs('[')) return ReadScalar();
  if (!ReadContainerBegin()) return false;
  SkipBlanks();
  if (NextIs(levels_.back().is_array ? ']' : '}')) {
    ++at_;
    CloseLevel();
    return true;
  }
  opened = true;
  return levels_.back().is_array || ReadMemberName();
}

bool LineChecker::ReadContainerBegin() {
  if (levels_.size() == kJsonDepthMax) {
    return Fail(JsonFault::kTooDeep, at_,
                absl::StrCat("more than ", kJsonDepthMax,
                             " levels of arrays and objects"),
                "flatten the document, or pass it as a string");
  }
  const bool is_array = text_[at_] == '[';
  if (key_ != nullptr && !is_array && !levels_.empty()) {
    key_->OnObject(levels_.back().member);
  }
  levels_.emplace_back().is_array = is_array;
  ++at_;
  return true;
}

bool LineChecker::ReadMemberName() {
  SkipBlanks();
  Level& level = levels_.back();
  level.name = {};
  const size_t begin = at_;
  if (!NextIs('"')) return FailExpecting("a member name in double quotes");
  if (!ReadString()) return false;
  level.name = text_.substr(begin + 1, at_ - begin - 2);
  SkipBlanks();
  if (!NextIs(':')) return FailExpecting("':'");
  ++at_;
  if (key_ != nullptr) {
    level.member =
        key_->OnMember(static_cast<uint32_t>(levels_.size()), level.name);
  }
  return true;
}

bool LineChecker::ReadScalar() {
  const size_t begin = at_;
  bool good = false;
  if (NextIs('"')) {
    good = ReadString();
  } else if (NextIs('t')) {
    good = ReadLiteral("true");
  } else if (NextIs('f')) {
    good = ReadLiteral("false");
  } else if (NextIs('n')) {
    good = ReadLiteral("null");
  } else if (NextIs('-') || (at_ < text_.size() && IsDigit(text_[at_]))) {
    good = ReadNumber();
  } else {
    return FailExpecting("a value");
  }
  if (!good) return false;
  if (key_ != nullptr && !levels_.empty() &&
      levels_.back().member == KeyTracker::Member::kKey) {
    key_->OnKey(text_.substr(begin, at_ - begin), static_cast<uint32_t>(begin));
  }
  return true;
}

bool LineChecker::ReadString() {
  for (++at_; at_ < text_.size();) {
    const char c = text_[at_];
    if (c == '"') {
      ++at_;
      return true;
    }
    if (static_cast<unsigned char>(c) < 0x20) {
      return Fail(JsonFault::kSyntax, at_,
                  absl::StrCat("control character ", Describe(c),
                               " in a string at byte ", at_),
                  "escape control characters in strings, as in \\n or \\u0000");
    }
    if (c != '\\') {
      ++at_;
      continue;
    }
    const JsonEscape escape = ReadJsonEscape(text_.substr(at_));
    if (escape.fault == JsonFault::kSyntax) {
      return Fail(JsonFault::kSyntax, at_,
                  absl::StrCat("bad escape sequence at byte ", at_),
                  "a backslash in a string is written as two");
    }
    if (escape.fault == JsonFault::kInvalidUnicode) {
      return Fail(JsonFault::kInvalidUnicode, at_,
                  absl::StrCat("half of a surrogate pair at byte ", at_),
                  "escape both halves, or write the character as UTF-8");
    }
    at_ += escape.size;
  }
  return Fail(JsonFault::kSyntax, at_, "a string does not end",
              "see whether the record was cut off");
}

bool LineChecker::ReadNumber() {
  const size_t begin = at_;
  const JsonNumber number = ReadJsonNumber(text_.substr(begin));
  at_ += number.size;
  if (number.fault == JsonFault::kSyntax) return FailExpecting("a digit");
  if (number.fault == JsonFault::kOutOfRange) {
    return Fail(JsonFault::kOutOfRange, begin,
                absl::StrCat("the number at byte ", begin,
                             " is beyond the range of a double"),
                "write it without exponent, or as a string");
  }
  return true;
}

bool LineChecker::ReadLiteral(absl::string_view literal) {
  if (text_.substr(at_, literal.size()) != literal) {
    return Fail(JsonFault::kSyntax, at_,
                absl::StrCat("expected ", literal, " at byte ", at_),
                literal == "null" ? SuggestionFor('N') : kJsonSuggestion);
  }
  at_ += literal.size();
  return true;
}

bool LineChecker::ReadAfterValue(bool& document_over) {
  while (!levels_.empty()) {
    SkipBlanks();
    Level& level = levels_.back();
    if (NextIs(',')) {
      ++at_;
      ++level.index;
      return level.is_array || ReadMemberName();
    }
    if (!NextIs(level.is_array ? ']' : '}')) {
      return FailExpecting(level.is_array ? "',' or ']'" : "',' or '}'");
    }
    ++at_;
    CloseLevel();
  }
  document_over = true;
  return true;
}

void LineChecker::CloseLevel() {
  if (key_ != nullptr && !levels_.back().is_array) {
    key_->OnObjectEnd(static_cast<uint32_t>(levels_.size()));
  }
  levels_.pop_back();
}

bool LineChecker::Fail(JsonFault fault, size_t position,
                       std::string description, absl::string_view suggestion) {
  problem_ = {.fault = fault,
              .position = position,
              .description = std::move(description),
              .field = Field(),
              .suggestion = std::string(suggestion)};
  return false;
}

bool LineChecker::FailExpecting(absl::string_view what) {
  if (at_ == text_.size()) {
    return Fail(JsonFault::kSyntax, at_,
                absl::StrCat("expected ", what, ", but the record ends"),
                "see whether the record was cut off");
  }
  const char found = text_[at_];
  const size_t before = text_.find_last_not_of(" \t\r\n", at_ - 1);
  const bool trailing_comma = at_ > 0 && (found == '}' || found == ']') &&
                              before != absl::string_view::npos &&
                              text_[before] == ',';
  return Fail(
      JsonFault::kSyntax, at_,
      absl::StrCat("expected ", what, ", found ", Describe(found), " at byte ",
                   at_),
      trailing_comma ? "JSON has no trailing commas" : SuggestionFor(found));
}

std::string LineChecker::Field() const {
  std::string field;
  for (const Level& level : levels_) {
    if (level.is_array) {
      absl::StrAppend(&field, "[", level.index, "]");
    } else if (!level.name.empty()) {
      absl::StrAppend(&field, field.empty() ? "" : ".",
                      level.name.substr(0, kFieldBytesMax));
    }
    if (field.size() > kFieldBytesMax) return absl::StrCat(field, "...");
  }
  return field;
}

}  // namespace penstock::core
