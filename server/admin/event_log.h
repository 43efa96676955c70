// What happens to connectors, in the log.
// See server/README.md.
#pragma once

#include "core/base/clock.h"
#include "core/base/mutex.h"
#include "core/base/rate_limit.h"
#include "server/dispatch/dispatcher.h"

#include <absl/base/thread_annotations.h>
#include <absl/time/time.h>

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace penstock::server {

// Logs that a connector was opened, failed, went, and its errors; passes all on
// to `next`. Records are never in it: of bad ones there are counts and samples
// elsewhere.
//
// Owner:   the app; outlives the dispatcher, as `next` does. Threads:
//          thread-safe. Blocks: as standard error does.
// Bound:   kEventsPerWindow errors of a connector and tag in kWindow; the next
//          one that is logged says how many were not. kTagsMax limits; beyond
//          them all share one.
class EventLog final : public DispatchObserver {
 public:
  static constexpr int kEventsPerWindow = 5;
  static constexpr absl::Duration kWindow = absl::Minutes(1);
  static constexpr size_t kTagsMax = 10'000;

  explicit EventLog(DispatchObserver& next,
                    const core::Clock& clock = core::RealClock());

  void OnOpened(const std::string& connector) override;
  void OnRemoved(const std::string& connector,
                 const std::string& instance) override;
  void OnChanged(const std::string& connector) override;
  void OnState(const std::string& connector, const std::string& instance,
               const std::string& pipeline, core::ConnectorState previous,
               core::ConnectorState state) override;
  void OnError(const std::string& connector,
               const core::ErrorEntry& error) override;
  void OnParseErrors(const std::string& connector,
                     const std::vector<core::ParseError>& errors) override;
  void OnTransaction(const std::string& connector, bool started,
                     std::optional<std::string> label) override;

 private:
  // Shared by: this and the calls that log.
  using Limit = std::shared_ptr<core::RateLimit>;

  Limit LimitOf(const std::string& connector, const std::string& tag)
      ABSL_LOCKS_EXCLUDED(mu_);
  Limit MakeLimit() const;

  DispatchObserver& next_;
  const core::Clock& clock_;
  const Limit shared_;

  core::Mutex mu_;
  std::map<std::string, std::map<std::string, Limit>> limits_
      ABSL_GUARDED_BY(mu_);
  size_t tags_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace penstock::server
