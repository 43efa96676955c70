// Health as a connector reports it, and metrics of its own.
#pragma once

#include <absl/time/time.h>

#include <string>
#include <vector>

namespace penstock::core {

// Seed type: `ConnectorHealth`. Our second axis (`protocol.md` rule 14).
enum class Condition { kOk, kDegraded, kStalled, kNeedsConfig, kFatal };

struct ConnectorHealth {
  Condition condition = Condition::kOk;
  // What is wrong, for people; empty when OK.
  std::string reason;
  // When the next attempt is made; InfinitePast() if none is planned.
  absl::Time next_attempt = absl::InfinitePast();
};

// Seed type: `ConnectorMetrics`.
class ConnectorMetrics {
 public:
  enum class Kind { kCounter, kGauge };
  struct Sample {
    std::string name;
    std::string help;
    Kind kind = Kind::kGauge;
    double value = 0;
  };
  virtual ~ConnectorMetrics() = default;
  // Called at every scrape, from any thread. Blocks: never.
  virtual std::vector<Sample> Metrics() const = 0;
};

}  // namespace penstock::core
