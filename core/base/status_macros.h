// RETURN_IF_ERROR and ASSIGN_OR_RETURN: pass an error up with one clause of
// context. Code, ErrorInfo and retry delay stay as they were.
//
//   RETURN_IF_ERROR(file->Sync()) << "while closing " << path;
//   ASSIGN_OR_RETURN(std::string text, fs.ReadFile(path));
//   ASSIGN_OR_RETURN(auto spec, Parse(text), _ << "while reading " << path);
//
// Both work in functions that return absl::Status or absl::StatusOr<T>. The
// message becomes "<message>; while closing /some/path".
#pragma once

#include "core/base/error.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <optional>
#include <sstream>
#include <utility>

namespace penstock::core::internal {

// An error on its way up, to which context may be streamed.
// Threads: confined to the return statement that made it.
class StatusBuilder {
 public:
  explicit StatusBuilder(absl::Status status) : status_(std::move(status)) {}

  bool ok() const { return status_.ok(); }

  template <typename T>
  StatusBuilder& operator<<(const T& value) {
    if (!context_.has_value()) context_.emplace();
    *context_ << value;
    return *this;
  }

  StatusBuilder& self() { return *this; }

  // NOLINTNEXTLINE(google-explicit-constructor): for `return b << "..."`
  operator absl::Status() const {
    if (!context_.has_value()) return status_;
    return WithContext(status_, context_->str());
  }

 private:
  absl::Status status_;
  // Made only when context is given: most errors pass without any.
  std::optional<std::ostringstream> context_;
};

inline absl::Status ToStatus(const absl::Status& status) { return status; }
inline absl::Status ToStatus(absl::Status&& status) {
  return std::move(status);
}
template <typename T>
absl::Status ToStatus(const absl::StatusOr<T>& result) {
  return result.status();
}
template <typename T>
absl::Status ToStatus(absl::StatusOr<T>&& result) {
  return std::move(result).status();
}

}  // namespace penstock::core::internal

// The switch keeps a following `else` from binding to our `if`.
#define RETURN_IF_ERROR(expression)                                 \
  switch (0)                                                        \
  case 0:                                                           \
  default:                                                          \
    if (::penstock::core::internal::StatusBuilder penstock_builder{ \
            ::penstock::core::internal::ToStatus((expression))};    \
        penstock_builder.ok()) {                                    \
    } else                                                          \
      return penstock_builder.self()

#define PENSTOCK_CONCAT_INNER(a, b) a##b
#define PENSTOCK_CONCAT(a, b) PENSTOCK_CONCAT_INNER(a, b)
#define PENSTOCK_ASSIGN_PICK(a, b, c, name, ...) name

// lhs: a declaration or an assignable expression, without bare commas.
// The optional third argument is an expression over `_`, a StatusBuilder.
#define ASSIGN_OR_RETURN(...)                                             \
  PENSTOCK_ASSIGN_PICK(__VA_ARGS__, PENSTOCK_ASSIGN_3, PENSTOCK_ASSIGN_2, \
                       unused)                                            \
  (PENSTOCK_CONCAT(penstock_result_, __LINE__), __VA_ARGS__)

#define PENSTOCK_ASSIGN_2(result, lhs, expression) \
  PENSTOCK_ASSIGN_3(result, lhs, expression, _)

#define PENSTOCK_ASSIGN_3(result, lhs, expression, error)                    \
  auto result = (expression);                                                \
  if (!result.ok()) [[unlikely]] {                                           \
    ::penstock::core::internal::StatusBuilder _(std::move(result).status()); \
    return (error);                                                          \
  }                                                                          \
  lhs = *std::move(result)
