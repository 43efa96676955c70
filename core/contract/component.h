// Configuration of a source, format, route or sink, and what it may use of
// the process. Concrete types derive and stand beside their component.
#pragma once

#include "core/base/clock.h"
#include "core/base/executor.h"
#include "core/base/filesystem.h"
#include "core/base/path_policy.h"

#include <absl/strings/string_view.h>

namespace penstock::core {

// A checked, typed configuration. `type()` is the name under which the
// component is registered ("file", "ndjson", "null"); a factory may downcast a
// configuration of its own type.
class ComponentConfig {
 public:
  virtual ~ComponentConfig() = default;
  virtual absl::string_view type() const = 0;

 protected:
  ComponentConfig() = default;
  ComponentConfig(const ComponentConfig&) = default;
  ComponentConfig& operator=(const ComponentConfig&) = default;
};

// The outside world as a component sees it: a test or a simulation owns it.
struct Environment {
  FileSystem& files;
  // For blocking I/O.
  Executor& io;
  const Clock& clock;
  // Which paths sources and sinks may reach (`protocol.md` rule 16).
  const PathPolicy& paths;
};

}  // namespace penstock::core
