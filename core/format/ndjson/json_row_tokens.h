// The values of a document of JSON for readers of rows.
#pragma once

#include "core/format/ndjson/json_token.h"
#include "core/format/ndjson/json_tokens.h"
#include "core/format/rows/row_token.h"
#include "core/format/value_text/value_fault.h"
#include "core/format/value_text/value_text.h"
#include "core/record/schema.h"
#include "core/record/value.h"
#include "core/record/value_arena.h"

#include <absl/strings/string_view.h>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace penstock::core {

// What a RowReader asks of JSON, over IndexedTokens or ScannedTokens. TakeValue
// gives the value's text, nothing around it.
//
// Threads: thread-compatible. Lifetime: a view of the text.
template <typename Tokens>
class JsonRowTokens {
 public:
  JsonRowTokens(Tokens tokens, bool has_escapes)
      : tokens_(tokens), has_escapes_(has_escapes) {}

  uint32_t At() const { return tokens_.At(); }
  RowToken Peek() const {
    switch (tokens_.Peek()) {
      case 'n':
        return RowToken::kNull;
      case '[':
        return RowToken::kArray;
      case '{':
        return RowToken::kObject;
      default:
        return RowToken::kSingle;
    }
  }
  // It has brackets and commas rather than counts.
  uint32_t Enter() {
    tokens_.Skip();
    return 0;
  }
  bool HasNext(size_t place, uint32_t /*count*/) {
    const char first = tokens_.Peek();
    const bool at_end = place > 0 ? first != ',' : first == '}' || first == ']';
    if (at_end || place > 0) tokens_.Skip();
    return !at_end;
  }
  absl::string_view TakeName(ValueArena& arena) {
    const absl::string_view name = TextOf(tokens_.TakeString(), arena);
    PassColon();
    return name;
  }
  void PassColon() { tokens_.Skip(); }
  absl::string_view TakeValue() { return tokens_.TakeValue(); }

  ValueFault TakeSingle(const Column& column, ValueArena& arena, Value& value,
                        absl::string_view& text) {
    switch (tokens_.Peek()) {
      case '"':
        text = TextOf(tokens_.TakeString(), arena);
        return ParseValueText(column, text, arena, value);
      case '{':
      case '[':
        text = tokens_.TakeValue();
        return ValueFault::kNotSingle;
      default:
        text = tokens_.TakeScalar();
        return TakesToken(column.type)
                   ? ParseValueText(column, text, arena, value)
                   : ValueFault::kNotText;
    }
  }
  ValueFault TakeVariant(ValueArena& /*arena*/, Value& value,
                         absl::string_view& /*text*/) {
    value = Value::Variant(tokens_.TakeValue());
    return ValueFault::kNone;
  }
  std::optional<absl::string_view> TakeKeyBytes(ValueArena& arena) {
    switch (tokens_.Peek()) {
      case '"':
        return TextOf(tokens_.TakeString(), arena);
      case 'n':
      case '{':
      case '[':
        tokens_.TakeValue();
        return std::nullopt;
      default:
        return tokens_.TakeScalar();
    }
  }

 private:
  // The text of a string or name: as it stands, or unescaped.
  absl::string_view TextOf(absl::string_view content, ValueArena& arena) const {
    if (!has_escapes_ || content.find('\\') == absl::string_view::npos)
        [[likely]] {
      return content;
    }
    return arena.Write(content.size(), [content](char* to) {
      return JsonUnescapeTo(content, to);
    });
  }

  Tokens tokens_;
  const bool has_escapes_;
};

}  // namespace penstock::core
