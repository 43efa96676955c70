// CHECK macros: a broken invariant of ours prints what it saw and aborts.
//
// They stay on in release builds. They are never the answer to bad input, a
// failed system call or a peer's mistake: those are a Status (error.h).
//
//   CHECK(lease.has_value()) << "chunk of shard " << shard;
//   CHECK_EQ(extended + replayed, buffered);
//   DCHECK_LT(index, size());          // compiled, but not run, in release
//
// The shape is that of Abseil's log/check.h, so that it can replace this file.
#pragma once

#include <absl/base/optimization.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <memory>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>

namespace penstock::core::internal {

// Collects the message of a failed CHECK; the destructor writes it to the log
// sink at severity FATAL and aborts.
// Threads: confined to the statement that failed.
class CheckFailure {
 public:
  CheckFailure(const char* file, int line, const std::string& what);
  CheckFailure(const CheckFailure&) = delete;
  CheckFailure& operator=(const CheckFailure&) = delete;
  [[noreturn]] ~CheckFailure();

  template <typename T>
  CheckFailure& operator<<(const T& value) {
    text_ << value;
    return *this;
  }
  CheckFailure& self() { return *this; }

 private:
  const char* const file_;
  const int line_;
  std::ostringstream text_;
};

template <typename T>
concept Streamable = requires(std::ostream& out, const T& value) {
  out << value;
};

// Integers, for which comparison must not depend on signedness.
template <typename T>
concept PlainInteger =
    std::is_integral_v<T> && !std::is_same_v<T, bool> &&
    !std::is_same_v<T, char> && !std::is_same_v<T, wchar_t> &&
    !std::is_same_v<T, char8_t> && !std::is_same_v<T, char16_t> &&
    !std::is_same_v<T, char32_t>;

template <typename T>
void PrintOperand(std::ostream& out, const T& value) {
  if constexpr (std::is_same_v<T, std::nullptr_t>) {
    out << "nullptr";
  } else if constexpr (std::is_same_v<T, bool>) {
    out << (value ? "true" : "false");
  } else if constexpr (Streamable<T>) {
    out << value;
  } else if constexpr (std::is_enum_v<T>) {
    out << +static_cast<std::underlying_type_t<T>>(value);
  } else {
    out << "(a value of " << sizeof(T) << " bytes)";
  }
}

template <typename A, typename B>
ABSL_ATTRIBUTE_NOINLINE std::unique_ptr<std::string> DescribeFailure(
    const A& a, const B& b, const char* text) {
  std::ostringstream out;
  out << text << " (";
  PrintOperand(out, a);
  out << " vs. ";
  PrintOperand(out, b);
  out << ")";
  return std::make_unique<std::string>(out.str());
}

// One function per comparison: null when it holds, otherwise the description.
#define PENSTOCK_INTERNAL_CHECK_OP(name, op, safe)                        \
  template <typename A, typename B>                                       \
  inline std::unique_ptr<std::string> Check##name(const A& a, const B& b, \
                                                  const char* text) {     \
    bool holds;                                                           \
    if constexpr (PlainInteger<A> && PlainInteger<B>) {                   \
      holds = safe(a, b);                                                 \
    } else {                                                              \
      holds = static_cast<bool>(a op b);                                  \
    }                                                                     \
    if (ABSL_PREDICT_TRUE(holds)) return nullptr;                         \
    return DescribeFailure(a, b, text);                                   \
  }
PENSTOCK_INTERNAL_CHECK_OP(EQ, ==, std::cmp_equal)
PENSTOCK_INTERNAL_CHECK_OP(NE, !=, std::cmp_not_equal)
PENSTOCK_INTERNAL_CHECK_OP(LT, <, std::cmp_less)
PENSTOCK_INTERNAL_CHECK_OP(LE, <=, std::cmp_less_equal)
PENSTOCK_INTERNAL_CHECK_OP(GT, >, std::cmp_greater)
PENSTOCK_INTERNAL_CHECK_OP(GE, >=, std::cmp_greater_equal)
#undef PENSTOCK_INTERNAL_CHECK_OP

// Null when `status` is OK, otherwise the description.
std::unique_ptr<std::string> CheckOk(const absl::Status& status,
                                     const char* text);
template <typename T>
std::unique_ptr<std::string> CheckOk(const absl::StatusOr<T>& result,
                                     const char* text) {
  return CheckOk(result.status(), text);
}

}  // namespace penstock::core::internal

#define CHECK(condition)                                                    \
  while (ABSL_PREDICT_FALSE(!(condition)))                                  \
  ::penstock::core::internal::CheckFailure(__FILE__, __LINE__,              \
                                           "check failed: " #condition " ") \
      .self()

#define PENSTOCK_CHECK_OP(name, op, a, b)                                \
  while (const std::unique_ptr<std::string> penstock_check_failed =      \
             ::penstock::core::internal::Check##name(                    \
                 (a), (b), "check failed: " #a " " #op " " #b))          \
  ::penstock::core::internal::CheckFailure(__FILE__, __LINE__,           \
                                           *penstock_check_failed + " ") \
      .self()

#define CHECK_EQ(a, b) PENSTOCK_CHECK_OP(EQ, ==, a, b)
#define CHECK_NE(a, b) PENSTOCK_CHECK_OP(NE, !=, a, b)
#define CHECK_LT(a, b) PENSTOCK_CHECK_OP(LT, <, a, b)
#define CHECK_LE(a, b) PENSTOCK_CHECK_OP(LE, <=, a, b)
#define CHECK_GT(a, b) PENSTOCK_CHECK_OP(GT, >, a, b)
#define CHECK_GE(a, b) PENSTOCK_CHECK_OP(GE, >=, a, b)

// For a Status or StatusOr that our own code has made impossible to fail.
#define CHECK_OK(expression)                                             \
  while (const std::unique_ptr<std::string> penstock_check_failed =      \
             ::penstock::core::internal::CheckOk(                        \
                 (expression), "check failed: " #expression " is OK"))   \
  ::penstock::core::internal::CheckFailure(__FILE__, __LINE__,           \
                                           *penstock_check_failed + " ") \
      .self()

#ifdef NDEBUG
#define PENSTOCK_DCHECK_GUARD while (false)
#else
#define PENSTOCK_DCHECK_GUARD
#endif

#define DCHECK(condition) PENSTOCK_DCHECK_GUARD CHECK(condition)
#define DCHECK_EQ(a, b) PENSTOCK_DCHECK_GUARD CHECK_EQ(a, b)
#define DCHECK_NE(a, b) PENSTOCK_DCHECK_GUARD CHECK_NE(a, b)
#define DCHECK_LT(a, b) PENSTOCK_DCHECK_GUARD CHECK_LT(a, b)
#define DCHECK_LE(a, b) PENSTOCK_DCHECK_GUARD CHECK_LE(a, b)
#define DCHECK_GT(a, b) PENSTOCK_DCHECK_GUARD CHECK_GT(a, b)
#define DCHECK_GE(a, b) PENSTOCK_DCHECK_GUARD CHECK_GE(a, b)
