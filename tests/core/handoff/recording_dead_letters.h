// A dead-letter output that remembers, and fails when told to.
#pragma once

#include "core/contract/dead_letter.h"

#include <absl/status/status.h>
#include <absl/strings/str_cat.h>

#include <deque>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {

// Outlives the processes that write to it. Threads: confined to the test.
class RecordingDeadLetters final : public DeadLetterOutput {
 public:
  absl::Status Write(std::span<const DeadLetter> letters) override {
    if (on_write) on_write();
    absl::Status status;
    if (!failures.empty()) {
      status = failures.front();
      failures.pop_front();
    }
    if (!status.ok()) return status;
    for (const DeadLetter& letter : letters) {
      ids.push_back(letter.number.has_value()
                        ? absl::StrCat(letter.step, "/", *letter.number)
                        : absl::StrCat(letter.step, "/none"));
      positions.push_back(absl::StrCat(letter.partition, "@", letter.offset));
      rows.emplace_back(letter.row);
      errors.push_back(letter.error);
    }
    return status;
  }

  // Each fails one call.
  std::deque<absl::Status> failures;
  std::function<void()> on_write;
  // "step/number", "partition@offset".
  std::vector<std::string> ids;
  std::vector<std::string> positions;
  std::vector<std::string> rows;
  std::vector<absl::Status> errors;
};

}  // namespace penstock::core
