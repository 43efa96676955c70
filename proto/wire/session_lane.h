// Which order the commands of a Session keep.
#pragma once

#include <string>

namespace penstock::v1 {
class SessionCommand;
}  // namespace penstock::v1

namespace penstock::wire {

// The connector in whose ordered lane the command stands; null: it stands in
// none, and is handed over at once. Lifetime: of `command`.
const std::string* OrderedConnector(const v1::SessionCommand& command);

}  // namespace penstock::wire
