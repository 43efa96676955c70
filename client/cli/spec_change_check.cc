#include "client/cli/spec_change_check.h"

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "proto/penstock/v1/options.pb.h"
#include "proto/wire/spec_change.h"
#include "proto/wire/violations.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>

#include <vector>

namespace penstock::client {
namespace {

constexpr absl::string_view kNeedsReset = "NEEDS_RESET";

// Names every one of `changes` that needs a reset; there is at least one.
absl::Status Refusal(const std::vector<wire::SpecChange>& changes) {
  std::vector<wire::FieldViolation> violations;
  std::vector<std::string> texts;
  for (const wire::SpecChange& change : changes) {
    if (change.change < v1::CHANGE_CLASS_NEEDS_RESET) continue;
    texts.push_back(wire::Describe(change));
    violations.push_back(
        {change.field, texts.back(), std::string(kNeedsReset)});
  }
  return wire::WithViolations(
      core::MakeError(
          core::Reason::INVALID_CONFIG,
          absl::StrCat(absl::StrJoin(texts, "; "), ": ",
                       texts.size() == 1 ? "this" : "these",
                       " cannot change, for what is stored belongs to the old "
                       "value; put that back, or, to start from the beginning, "
                       "give the connector another name and its sink an empty "
                       "place"),
          {{"field", violations.front().field}}),
      violations);
}

}  // namespace

absl::StatusOr<TakesEffect> CheckSpecChange(const std::string& before,
                                            const std::string& after) {
  ASSIGN_OR_RETURN(const std::vector<wire::SpecChange> changes,
                   wire::CompareSpecBytes(before, after));
  const v1::ChangeClass strictest = wire::StrictestOf(changes);
  if (strictest >= v1::CHANGE_CLASS_NEEDS_RESET) return Refusal(changes);
  const bool at_once = strictest == v1::CHANGE_CLASS_REPLAY_SAFE;
  for (const wire::SpecChange& change : changes) {
    LOG(INFO) << "changed in the pipeline file: " << wire::Describe(change)
              << (at_once ? ", takes effect now"
                          : ", takes effect at a clean checkpoint");
  }
  return at_once ? TakesEffect::kAtOnce : TakesEffect::kAtCleanCheckpoint;
}

}  // namespace penstock::client
