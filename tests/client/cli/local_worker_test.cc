#include "client/cli/local_worker.h"

#include "core/base/filesystem.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <cerrno>
#include <csignal>
#include <string>

namespace penstock::client {
namespace {

TEST(LocalWorkerTest, KillEndsAWorkerThatDoesNotListen) {
  const core::TempDir directory;
  const std::string program = directory.Path("worker");
  {
    auto file = core::PosixFileSystem().OpenForAppend(program, {});
    ASSERT_OK(file);
    ASSERT_OK((*file)->Append("#!/bin/sh\ntrap '' TERM\nexec sleep 1000\n"));
  }
  ASSERT_EQ(chmod(program.c_str(), S_IRWXU), 0);
  auto worker = LocalWorker::Start(program, directory.path());
  ASSERT_OK(worker);
  const pid_t pid = (*worker)->pid();
  ASSERT_EQ(kill(pid, 0), 0);
  (*worker)->Kill();
  EXPECT_EQ(kill(pid, 0), -1);
  EXPECT_EQ(errno, ESRCH);
}

}  // namespace
}  // namespace penstock::client
