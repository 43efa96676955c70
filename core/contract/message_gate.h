// What a parser of messages needs from elsewhere before it can parse one.
#pragma once

#include "core/base/error.h"
#include "core/contract/component.h"
#include "core/contract/health.h"
#include "core/contract/parser.h"

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/string_view.h>

namespace penstock::core {

// A parser never waits. Where it needs something of the world for a message
// (the schema that it was written with), its source asks first: it keeps the
// message, and all behind it, until the answer is yes. So nothing is lost while
// the world is away, and no thread of an executor is held.
//
// Owner:   a parser.
// Threads: confined to its source, but the wake-up comes from any thread.
class MessageGate {
 public:
  virtual ~MessageGate() = default;

  // Once, before anything else. Errors: INVALID_CONFIG, PATH_NOT_ALLOWED, those
  // of reading secrets.
  virtual absl::Status Start(const Environment& environment) = 0;
  // `wake` is called, on any thread, when it is worth to ask again; who asks
  // once a second needs none. It must not call back. Before anything is asked.
  virtual void SetWake(absl::AnyInvocable<void()> wake) = 0;
  // Whether `message` can be given to the parser now; it is then given before
  // this is called again. Otherwise what it needs is being got. Blocks: never.
  virtual bool IsReady(absl::string_view message) = 0;
  // DEGRADED while what is waited for cannot be had, and why.
  virtual ConnectorHealth Health() const = 0;
};

// A parser that may have one. A source whose input is no messages does not take
// a parser that has.
class GatedParser : public Parser {
 public:
  // Null: it needs nothing.
  virtual MessageGate* gate() = 0;
};

// That of `parser`; null: it needs nothing.
inline MessageGate* GateOf(Parser& parser) {
  auto* const gated = dynamic_cast<GatedParser*>(&parser);
  return gated == nullptr ? nullptr : gated->gate();
}

// For the source `source`, whose input is no messages.
// Errors: INVALID_CONFIG: `parser` has a gate.
inline absl::Status CheckHasNoGate(Parser& parser, absl::string_view source) {
  if (GateOf(parser) == nullptr) return absl::OkStatus();
  return MakeError(
      Reason::INVALID_CONFIG,
      absl::StrCat("source ", source,
                   ": the format reads messages that say what they need to be "
                   "read (the number of a schema); read them from kafka"),
      {{"field", "format"}});
}

}  // namespace penstock::core
