// Where connectors of a pipeline may stand that do not belong there.
#pragma once

#include "core/connector/control.h"
#include "core/connector/requests.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace penstock::client {

// One worker, or one address of a worker that has several.
// Threads: its functions are thread-safe and may outlive what they were made
//          of: then they answer errors.
struct SweepPlace {
  template <typename T>
  using Reply = core::Control::Reply<T>;

  // For people.
  std::string name;
  // UNAVAILABLE: ask again later.
  std::function<void(Reply<std::vector<core::ConnectorStatus>>)> list;
  std::function<void(core::CommandHeader, core::DisconnectRequest,
                     Reply<core::DisconnectReply>)>
      remove;
};

// `control` outlives what it returns.
inline SweepPlace PlaceOf(std::string name, core::Control& control) {
  return {.name = std::move(name),
          .list = [&control](auto reply) { control.List(std::move(reply)); },
          .remove =
              [&control](core::CommandHeader header,
                         core::DisconnectRequest request, auto reply) {
                control.Delete(std::move(header), request, std::move(reply));
              }};
}

}  // namespace penstock::client
