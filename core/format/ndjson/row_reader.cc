#include "core/format/ndjson/row_reader.h"

#include "core/base/check.h"
#include "core/format/bad_record.h"
#include "core/format/ndjson/json_token.h"
#include "core/format/ndjson/json_tokens.h"
#include "core/format/value_text/value_text.h"

#include <absl/container/flat_hash_set.h>
#include <absl/hash/hash.h>
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace penstock::core {
namespace {

// Whether a number, true or false that is no string can be a value of `type`.
bool TakesToken(SqlType type) {
  switch (type) {
    case SqlType::kVarbinary:
    case SqlType::kDate:
    case SqlType::kTime:
    case SqlType::kTimestamp:
    case SqlType::kTimestamptz:
    case SqlType::kUuid:
      return false;
    default:
      return true;
  }
}

// By the representation, as which two values of one kind are equal.
size_t HashOf(const Value& key) {
  const auto hash = [](const auto& of) { return absl::HashOf(of); };
  switch (key.kind()) {
    case ValueKind::kBool:
      return hash(key.AsBool());
    case ValueKind::kInt64:
      return hash(key.AsInt64());
    case ValueKind::kUint64:
      return hash(key.AsUint64());
    case ValueKind::kDouble:
      return hash(std::bit_cast<uint64_t>(key.AsDouble()));
    case ValueKind::kDecimal:
      return hash(key.AsDecimal());
    case ValueKind::kString:
      return hash(key.AsString());
    case ValueKind::kBinary:
      return hash(key.AsBinary());
    case ValueKind::kDate:
      return hash(key.AsDate());
    case ValueKind::kTime:
      return hash(key.AsTime());
    case ValueKind::kTimestamp:
      return absl::HashOf(key.AsTimestamp(), key.nanos());
    case ValueKind::kTimestamptz:
      return absl::HashOf(key.AsTimestamptz(), key.nanos());
    case ValueKind::kUuid:
      return hash(key.AsUuid());
    default:
      CHECK(false) << ValueKindName(key.kind()) << " is no key";
      return 0;
  }
}

struct HashKey {
  size_t operator()(const Value* key) const { return HashOf(*key); }
};
struct KeysAreEqual {
  bool operator()(const Value* a, const Value* b) const { return *a == *b; }
};
using KeySet = absl::flat_hash_set<const Value*, HashKey, KeysAreEqual>;

// Above it keys are hashed rather than compared with each other.
constexpr size_t kComparedPairsMax = 16;

}  // namespace

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

RowReader::RowReader(Schema schema)
    : schema_(std::move(schema)),
      record_{.name = "",
              .type = SqlType::kStruct,
              .nullable = false,
              .children = schema_.columns},
      root_(std::make_unique<Node>(record_)) {
  row_.resize(schema_.columns.size());
}

RowReader::~RowReader() = default;

bool RowReader::ReadIndexed(const char* text, uint32_t begin,
                            const uint32_t* next, bool has_escapes,
                            ValueArena& arena) {
  has_escapes_ = has_escapes;
  return ReadRow(IndexedTokens(text, begin, next), arena);
}

bool RowReader::ReadScanned(absl::string_view line, ValueArena& arena) {
  has_escapes_ = line.find('\\') != absl::string_view::npos;
  return ReadRow(ScannedTokens(line), arena);
}

inline absl::string_view RowReader::TextOf(absl::string_view content) {
  if (!has_escapes_ || content.find('\\') == absl::string_view::npos)
      [[likely]] {
    return content;
  }
  return arena_->Write(content.size(), [content](char* to) {
    return JsonUnescapeTo(content, to);
  });
}

template <typename Tokens>
bool RowReader::ReadRow(Tokens tokens, ValueArena& arena) {
  arena_ = &arena;
  if (tokens.Peek() != '{') {
    const uint32_t at = tokens.At();
    return Fail(record_, ValueFault::kNotObject, tokens.TakeValue(), at);
  }
  std::fill(row_.begin(), row_.end(), Value());
  return ReadFields(*root_, tokens, row_);
}

template <typename Tokens>
bool RowReader::ReadFields(Node& node, Tokens& tokens,
                           std::span<Value> fields) {
  const uint32_t begin = tokens.At();
  // Hardly ever any.
  std::vector<Deferred> deferred;
  tokens.Skip();
  for (size_t place = 0; tokens.Peek() != '}'; ++place) {
    if (place > 0) tokens.Skip();
    const absl::string_view name = TextOf(tokens.TakeString());
    tokens.Skip();
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
  tokens.Skip();
  return CheckFields(node, fields, begin, deferred);
}

bool RowReader::CheckFields(Node& node, std::span<const Value> fields,
                            uint32_t at, std::vector<Deferred>& deferred) {
  if (!deferred.empty()) {
    problem_ = std::move(deferred.front().problem);
    AddToPath(node.column.children[deferred.front().field].name);
    return false;
  }
  for (size_t i = 0; i < fields.size(); ++i) {
    const Column& column = node.column.children[i];
    if (column.nullable || !fields[i].is_null()) continue;
    Fail(column, ValueFault::kNull, "", at);
    AddToPath(column.name);
    return false;
  }
  return true;
}

template <typename Tokens>
bool RowReader::ReadValue(Node& node, Tokens& tokens, Value& value) {
  const Column& column = node.column;
  const char first = tokens.Peek();
  if (first == 'n') {
    const uint32_t at = tokens.At();
    tokens.TakeScalar();
    value = Value();
    return column.nullable || Fail(column, ValueFault::kNull, "", at);
  }
  switch (column.type) {
    case SqlType::kArray:
      return ReadArray(node, tokens, value);
    case SqlType::kMap:
      return ReadMap(node, tokens, value);
    case SqlType::kStruct: {
      if (first != '{') {
        const uint32_t at = tokens.At();
        return Fail(column, ValueFault::kNotObject, tokens.TakeValue(), at);
      }
      const std::span<Value> fields = arena_->Values(column.children.size());
      value = Value::Struct(fields);
      return ReadFields(node, tokens, fields);
    }
    case SqlType::kVariant:
      value = Value::Variant(tokens.TakeValue());
      return true;
    default:
      return ReadSingle(column, tokens, value);
  }
}

template <typename Tokens>
bool RowReader::ReadSingle(const Column& column, Tokens& tokens, Value& value) {
  const uint32_t at = tokens.At();
  absl::string_view text;
  ValueFault fault = ValueFault::kNone;
  switch (tokens.Peek()) {
    case '"':
      text = TextOf(tokens.TakeString());
      fault = ParseValueText(column, text, *arena_, value);
      break;
    case '{':
    case '[':
      text = tokens.TakeValue();
      fault = ValueFault::kNotSingle;
      break;
    default:
      text = tokens.TakeScalar();
      fault = TakesToken(column.type)
                  ? ParseValueText(column, text, *arena_, value)
                  : ValueFault::kNotText;
  }
  return fault == ValueFault::kNone || Fail(column, fault, text, at);
}

template <typename Tokens>
bool RowReader::ReadArray(Node& node, Tokens& tokens, Value& value) {
  const uint32_t at = tokens.At();
  if (tokens.Peek() != '[') {
    return Fail(node.column, ValueFault::kNotArray, tokens.TakeValue(), at);
  }
  const size_t base = stack_.size();
  bool good = true;
  tokens.Skip();
  for (size_t index = 0; tokens.Peek() != ']'; ++index) {
    if (index > 0) tokens.Skip();
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
  tokens.Skip();
  value = Value::Array(TakeStack(base));
  return good;
}

template <typename Tokens>
bool RowReader::ReadMap(Node& node, Tokens& tokens, Value& value) {
  const uint32_t at = tokens.At();
  if (tokens.Peek() != '{') {
    return Fail(node.column, ValueFault::kNotObject, tokens.TakeValue(), at);
  }
  const size_t base = stack_.size();
  bool good = true;
  tokens.Skip();
  for (size_t place = 0; tokens.Peek() != '}'; ++place) {
    if (place > 0) tokens.Skip();
    const uint32_t key_at = tokens.At();
    const absl::string_view name = TextOf(tokens.TakeString());
    tokens.Skip();
    if (!good) {
      tokens.TakeValue();
      continue;
    }
    Value key;
    Value mapped;
    const Column& key_column = node.column.children[0];
    const ValueFault fault = ParseValueText(key_column, name, *arena_, key);
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
  tokens.Skip();
  DropOldPairs(base);
  value = Value::Map(TakeStack(base));
  return good;
}

void RowReader::DropOldPairs(size_t base) {
  const size_t pairs = (stack_.size() - base) / 2;
  KeySet kept(pairs > kComparedPairsMax ? pairs : 0);
  // From the end, so that the last one of a key is met first; what stays is
  // moved towards the end.
  size_t to = stack_.size();
  const auto is_kept = [&](const Value& key) {
    if (pairs > kComparedPairsMax) return kept.contains(&key);
    for (size_t i = to; i < stack_.size(); i += 2) {
      if (stack_[i] == key) return true;
    }
    return false;
  };
  for (size_t from = stack_.size(); from > base; from -= 2) {
    if (is_kept(stack_[from - 2])) continue;
    to -= 2;
    stack_[to + 1] = stack_[from - 1];
    stack_[to] = stack_[from - 2];
    if (pairs > kComparedPairsMax) kept.insert(&stack_[to]);
  }
  const auto begin = stack_.begin();
  stack_.erase(begin + static_cast<std::ptrdiff_t>(base),
               begin + static_cast<std::ptrdiff_t>(to));
}

std::span<const Value> RowReader::TakeStack(size_t base) {
  const size_t count = stack_.size() - base;
  const std::span<Value> values = arena_->Values(count);
  std::copy_n(stack_.begin() + static_cast<std::ptrdiff_t>(base), count,
              values.begin());
  stack_.resize(base);
  return values;
}

bool RowReader::Fail(const Column& column, ValueFault fault,
                     absl::string_view text, uint32_t at) {
  problem_ = {
      .path = "", .column = &column, .fault = fault, .text = text, .at = at};
  return false;
}

void RowReader::AddToPath(absl::string_view name) {
  std::string& path = problem_.path;
  const bool joined = path.empty() || path.front() == '[';
  path = absl::StrCat(name, joined ? "" : ".", path);
}

ParseError RowReader::TakeError() {
  CHECK(problem_.column != nullptr);
  const Problem problem = std::exchange(problem_, {});
  ParseError error;
  if (problem.column == &record_) {
    error.tag = "wrong_type";
    error.description = "the record is no object, so it has no columns";
  } else {
    error =
        BadValue(problem.path, *problem.column, problem.fault, problem.text);
  }
  absl::StrAppend(&error.description, ", at byte ", problem.at,
                  " of the record");
  return error;
}

}  // namespace penstock::core
