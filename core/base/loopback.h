// Addresses that never leave this machine.
#pragma once

#include <absl/strings/string_view.h>

namespace penstock::core {

// `localhost`, `::1` (also in brackets) or a numeric IPv4 address of 127/8. A
// name that merely looks like one, `127.example.com`, may stand for any host.
bool IsLoopbackHost(absl::string_view host);

}  // namespace penstock::core
