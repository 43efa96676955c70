#include "core/format/rows/row_reader.h"

#include "core/base/check.h"
#include "core/format/bad_record.h"
#include "core/format/rows/row_reader_inl.h"

#include <absl/container/flat_hash_set.h>
#include <absl/hash/hash.h>
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace penstock::core {
namespace {

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
  problem_ = {.path = "",
              .column = &column,
              .fault = fault,
              .text = arena_->Copy(CutInvalidText(text)),
              .at = at};
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
