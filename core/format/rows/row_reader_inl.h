// The definitions behind row_reader.h, for those who have tokens.
#pragma once

#include "core/format/bad_record.h"
#include "core/format/rows/field_finder.h"
#include "core/format/rows/row_reader.h"
#include "core/format/rows/row_token.h"
#include "core/format/value_text/value_fault.h"
#include "core/record/schema.h"
#include "core/record/value.h"
#include "core/record/value_arena.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/string_view.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {

struct RowReader::Node {
  explicit Node(const Column& of) : column(of), finder(of.children) {
    children.reserve(of.children.size());
    for (const Column& child : of.children) children.emplace_back(child);
  }

  const Column& column;
  // Of a struct.
  FieldFinder finder;
  std::vector<Node> children;
};

template <RowTokens Tokens>
bool RowReader::Read(Tokens tokens, ValueArena& arena) {
  arena_ = &arena;
  if (tokens.Peek() != RowToken::kObject) {
    const uint32_t at = tokens.At();
    return Fail(record_, ValueFault::kNotObject, tokens.TakeValue(), at);
  }
  std::fill(row_.begin(), row_.end(), Value());
  return ReadFields(*root_, tokens, row_);
}

template <RowTokens Tokens>
bool RowReader::ReadFields(Node& node, Tokens& tokens,
                           std::span<Value> fields) {
  const uint32_t begin = tokens.At();
  // Hardly ever any.
  std::vector<Deferred> deferred;
  const uint32_t count = tokens.Enter();
  for (size_t place = 0; tokens.HasNext(place, count); ++place) {
    const absl::string_view name = tokens.TakeName(*arena_);
    const uint32_t field = node.finder.Find(name, place);
    if (field == FieldFinder::kNone) {
      tokens.TakeValue();
      continue;
    }
    const bool good = ReadValue(node.children[field], tokens, fields[field]);
    if (good && deferred.empty()) [[likely]] {
      continue;
    }
    std::erase_if(deferred,
                  [field](const Deferred& one) { return one.field == field; });
    if (!good) {
      deferred.push_back({field, std::exchange(problem_, {})});
      fields[field] = Value();
    }
  }
  return CheckFields(node, fields, begin, deferred);
}

template <RowTokens Tokens>
bool RowReader::ReadValue(Node& node, Tokens& tokens, Value& value) {
  const Column& column = node.column;
  const RowToken next = tokens.Peek();
  if (next == RowToken::kNull) {
    const uint32_t at = tokens.At();
    tokens.TakeValue();
    value = Value();
    return column.nullable || Fail(column, ValueFault::kNull, "", at);
  }
  switch (column.type) {
    case SqlType::kArray:
      return ReadArray(node, tokens, value);
    case SqlType::kMap:
      return ReadMap(node, tokens, value);
    case SqlType::kStruct: {
      if (next != RowToken::kObject) {
        const uint32_t at = tokens.At();
        return Fail(column, ValueFault::kNotObject, tokens.TakeValue(), at);
      }
      const std::span<Value> fields = arena_->Values(column.children.size());
      value = Value::Struct(fields);
      return ReadFields(node, tokens, fields);
    }
    case SqlType::kVariant:
      return ReadVariant(column, tokens, value);
    default:
      return ReadSingle(column, tokens, value);
  }
}

template <RowTokens Tokens>
bool RowReader::ReadVariant(const Column& column, Tokens& tokens,
                            Value& value) {
  const uint32_t at = tokens.At();
  absl::string_view text;
  const ValueFault fault = tokens.TakeVariant(*arena_, value, text);
  return fault == ValueFault::kNone || Fail(column, fault, text, at);
}

template <RowTokens Tokens>
bool RowReader::ReadSingle(const Column& column, Tokens& tokens, Value& value) {
  const uint32_t at = tokens.At();
  absl::string_view text;
  const ValueFault fault = tokens.TakeSingle(column, *arena_, value, text);
  return fault == ValueFault::kNone || Fail(column, fault, text, at);
}

template <RowTokens Tokens>
bool RowReader::ReadArray(Node& node, Tokens& tokens, Value& value) {
  const uint32_t at = tokens.At();
  if (tokens.Peek() != RowToken::kArray) {
    return Fail(node.column, ValueFault::kNotArray, tokens.TakeValue(), at);
  }
  const size_t base = stack_.size();
  bool good = true;
  const uint32_t count = tokens.Enter();
  for (size_t index = 0; tokens.HasNext(index, count); ++index) {
    Value element;
    if (!good) {
      tokens.TakeValue();
    } else if (ReadValue(node.children[0], tokens, element)) {
      stack_.push_back(element);
    } else {
      AddToPath(absl::StrCat("[", index, "]"));
      good = false;
    }
  }
  value = Value::Array(TakeStack(base));
  return good;
}

template <RowTokens Tokens>
bool RowReader::ReadMap(Node& node, Tokens& tokens, Value& value) {
  const uint32_t at = tokens.At();
  if (tokens.Peek() != RowToken::kObject) {
    return Fail(node.column, ValueFault::kNotObject, tokens.TakeValue(), at);
  }
  const Column& key_column = node.column.children[0];
  const size_t base = stack_.size();
  bool good = true;
  const uint32_t count = tokens.Enter();
  for (size_t place = 0; tokens.HasNext(place, count); ++place) {
    const uint32_t key_at = tokens.At();
    if (!good) {
      tokens.TakeValue();
      tokens.PassColon();
      tokens.TakeValue();
      continue;
    }
    Value key;
    Value mapped;
    absl::string_view name;
    const ValueFault fault = tokens.TakeSingle(key_column, *arena_, key, name);
    tokens.PassColon();
    if (fault != ValueFault::kNone) {
      tokens.TakeValue();
      good = Fail(key_column, fault, name, key_at);
      AddToPath(key_column.name);
    } else if (!ReadValue(node.children[1], tokens, mapped)) {
      AddToPath(ShowText(name));
      good = false;
    } else {
      stack_.push_back(key);
      stack_.push_back(mapped);
    }
  }
  DropOldPairs(base);
  value = Value::Map(TakeStack(base));
  return good;
}

}  // namespace penstock::core
