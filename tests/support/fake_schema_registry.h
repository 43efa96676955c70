// A schema registry on a port of loopback, in the test's own process.
#pragma once

#include "core/base/mutex.h"
#include "core/base/thread.h"

#include <cstdint>
#include <map>
#include <optional>
#include <stop_token>
#include <string>

namespace penstock::core {

// Answers `GET /schemas/ids/<number>`, and of subjects' versions, as
// Confluent's registry does, one request after the other.
//
// Threads:   thread-safe.
// Lifecycle: running from construction to destruction.
class FakeSchemaRegistry {
 public:
  FakeSchemaRegistry();
  FakeSchemaRegistry(const FakeSchemaRegistry&) = delete;
  FakeSchemaRegistry& operator=(const FakeSchemaRegistry&) = delete;
  ~FakeSchemaRegistry();

  std::string url() const;
  void SetSchema(uint32_t id, std::string text, std::string type = "",
                 std::string references = "");
  // A version of a subject; both have no byte that a URL escapes. `references`:
  // a JSON array, or nothing.
  void SetVersion(const std::string& subject, uint32_t version,
                  std::string text, std::string references = "",
                  std::string type = "");
  // From now on every request gets this status; nullopt: what is right.
  void SetStatus(std::optional<int> status);
  // From now on no request is answered, only taken.
  void SetHangs(bool hangs);
  // Requests without this line in their head get 401.
  void RequireHeader(std::string line);
  // Taken so far.
  int requests() const;

 private:
  void Run(const std::stop_token& stop);
  void Serve(int connection, const std::stop_token& stop);
  std::string AnswerTo(const std::string& head);

  int listener_ = -1;
  uint16_t port_ = 0;
  mutable Mutex mu_;
  // Bodies by paths.
  std::map<std::string, std::string> schemas_ ABSL_GUARDED_BY(mu_);
  std::optional<int> status_ ABSL_GUARDED_BY(mu_);
  bool hangs_ ABSL_GUARDED_BY(mu_) = false;
  std::string header_ ABSL_GUARDED_BY(mu_);
  int requests_ ABSL_GUARDED_BY(mu_) = 0;
  std::optional<Thread> thread_;
};

}  // namespace penstock::core
