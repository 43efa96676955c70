#include "core/base/check.h"

#include "core/base/log.h"

#include <cstdlib>
#include <memory>
#include <string>

namespace penstock::core::internal {

CheckFailure::CheckFailure(const char* file, int line, const std::string& what)
    : file_(file), line_(line) {
  text_ << what;
}

CheckFailure::~CheckFailure() {
  { FatalLogMessage(file_, line_).self() << text_.str(); }
  std::abort();
}

std::unique_ptr<std::string> CheckOk(const absl::Status& status,
                                     const char* text) {
  if (ABSL_PREDICT_TRUE(status.ok())) return nullptr;
  return std::make_unique<std::string>(std::string(text) + " (" +
                                       status.ToString() + ")");
}

}  // namespace penstock::core::internal
