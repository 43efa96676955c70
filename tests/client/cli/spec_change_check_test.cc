#include "client/cli/spec_change_check.h"

#include "client/cli/exit_code.h"
#include "client/pipeline_file.h"
#include "core/base/error.h"
#include "proto/wire/spec.h"
#include "proto/wire/violations.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>

#include <string>

namespace penstock::client {
namespace {

using core::HasReason;
using core::IsOkAndHolds;
using core::Reason;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

// The resolved specification of a file with these lines in its connector.
std::string SpecOf(const std::string& path, const std::string& more) {
  const auto file =
      ParsePipelineFile(absl::StrCat("name: shop\n"
                                     "connectors:\n"
                                     "  - name: orders\n"
                                     "    source: {file: {path: ",
                                     path,
                                     "}}\n"
                                     "    format: {ndjson: {}}\n"
                                     "    sink: {file: {path: out}}\n",
                                     more),
                        "shop.yaml");
  EXPECT_OK(file);
  return file.ok() ? wire::SpecToBytes(file->connectors[0]) : "";
}

TEST(SpecChangeCheckTest, WhatReplayDoesNotSeeTakesEffectAtOnce) {
  EXPECT_THAT(CheckSpecChange(SpecOf("in", ""),
                              SpecOf("in", "    limits: {step_bytes: 1MiB}\n")),
              IsOkAndHolds(TakesEffect::kAtOnce));
}

TEST(SpecChangeCheckTest, OneStricterFieldMakesAllWait) {
  EXPECT_THAT(CheckSpecChange(SpecOf("in", ""),
                              SpecOf("in",
                                     "    shards: 2\n"
                                     "    limits: {step_bytes: 1MiB}\n")),
              IsOkAndHolds(TakesEffect::kAtCleanCheckpoint));
}

TEST(SpecChangeCheckTest, ARefusalNamesEachFieldAndWhatToDo) {
  const absl::Status refused =
      CheckSpecChange(SpecOf("in", ""), SpecOf("new-in",
                                               "    shards: 2\n"
                                               "    level: at_least_once\n"))
          .status();
  EXPECT_THAT(refused, HasReason(Reason::INVALID_CONFIG));
  const std::string text(refused.message());
  EXPECT_THAT(text, HasSubstr("source.file.path: 'in' -> 'new-in'"));
  EXPECT_THAT(text, HasSubstr("level: DELIVERY_LEVEL_EXACTLY_ONCE -> "));
  EXPECT_THAT(text, Not(HasSubstr("shards")));
  EXPECT_THAT(text, HasSubstr("another name"));
  EXPECT_THAT(wire::GetViolations(refused), SizeIs(2));
  EXPECT_EQ(CliExitOf(refused), CliExit::kUsage);
}

TEST(SpecChangeCheckTest, StoredBytesThatAreNoSpecAreDamage) {
  const auto checked = CheckSpecChange("\xff", SpecOf("in", ""));
  EXPECT_THAT(checked, HasReason(Reason::STATE_DAMAGED));
  EXPECT_EQ(CliExitOf(checked.status()), CliExit::kStateDamaged);
}

}  // namespace
}  // namespace penstock::client
