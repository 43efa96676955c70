#include "client/cli/exit_code.h"

#include "core/base/error.h"

#include <gtest/gtest.h>

namespace penstock::client {
namespace {

using core::MakeError;
using core::Reason;

TEST(ExitCodeTest, StepsWithoutACheckpointHaveACodeOfTheirOwn) {
  EXPECT_EQ(CliExitOf(MakeError(Reason::NOT_COMPLETED, "left")),
            CliExit::kNotCheckpointed);
}

TEST(ExitCodeTest, AStoreThatStaysLockedIsNotReached) {
  EXPECT_EQ(CliExitOf(MakeError(Reason::UNAVAILABLE, "locked")),
            CliExit::kUnreachable);
}

}  // namespace
}  // namespace penstock::client
