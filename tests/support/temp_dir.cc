#include "tests/support/temp_dir.h"

#include "core/base/check.h"
#include "core/base/environment.h"
#include "core/base/filesystem.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace penstock::core {

TempDir::TempDir() {
  const std::string root =
      GetEnv("TEST_TMPDIR")
          .value_or(std::filesystem::temp_directory_path().string());
  std::string pattern = JoinPath(root, "penstock-test-XXXXXX");
  CHECK(::mkdtemp(pattern.data()) != nullptr)
      << "make a directory in " << root << ": errno " << errno;
  path_ = std::filesystem::canonical(pattern).string();
}

TempDir::~TempDir() {
  // A directory that stays behind harms no test.
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TempDir::Path(absl::string_view name) const {
  return JoinPath(path_, name);
}

}  // namespace penstock::core
