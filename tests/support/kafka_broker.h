// A real Apache Kafka broker of the test's own.
#pragma once

#include "tests/support/server_process.h"
#include "tests/support/temp_dir.h"

#include <absl/strings/string_view.h>

#include <optional>
#include <string>
#include <vector>

// Ends a test that needs a broker where there is none: skips it out loud, or
// fails it if the environment has PENSTOCK_REQUIRE_KAFKA=1, as test.sh says
// where it could fetch one.
#define PENSTOCK_NEED_KAFKA()                                                 \
  if (const auto penstock_missing = ::penstock::core::KafkaBroker::Missing(); \
      penstock_missing.has_value()) {                                         \
    if (::penstock::core::KafkaBroker::IsRequired()) {                        \
      FAIL() << *penstock_missing;                                            \
    }                                                                         \
    GTEST_SKIP() << "NO KAFKA BROKER, NOT TESTED: " << *penstock_missing;     \
  }

namespace penstock::core {

// What tests/kafka/broker.py runs: one broker that is its own controller, on
// two free ports of loopback.
//
// Threads:   confined to the thread that made it.
// Lifecycle: running from construction to destruction, but for Kill and Start.
// Bound:     one process of at most some 600 MiB.
class KafkaBroker {
 public:
  // Why there can be none here; nullopt: there can.
  static std::optional<std::string> Missing();
  static bool IsRequired();
  // The one of this test program, made when first asked for, ended when the
  // program exits. Requires: Missing() has no value.
  static KafkaBroker& Shared();

  // `settings`: lines of the broker's own configuration, which come last.
  // Requires: Missing() has no value. Fails hard, with the broker's log, when
  // it does not start within two minutes.
  explicit KafkaBroker(std::vector<std::string> settings = {});

  // host:port, the same after a restart.
  const std::string& bootstrap() const { return bootstrap_; }

  // As a crash ends it. Start goes on with what it had.
  void Kill() { process_.Kill(); }
  void Start();
  // It answers nobody until Thaw.
  void Freeze() { process_.Freeze(); }
  void Thaw() { process_.Thaw(); }
  std::string log() const { return process_.log(); }

 private:
  bool TryStart();

  const TempDir directory_;
  const std::vector<std::string> settings_;
  int port_ = 0;
  int controller_port_ = 0;
  std::string bootstrap_;
  ServerProcess process_;
};

}  // namespace penstock::core
