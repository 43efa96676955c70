// The page for people on the admin port.
#pragma once

#include <absl/strings/string_view.h>

namespace penstock::server {

// server/admin/status_page.html, which needs nothing from anywhere else but
// "/status.json". Lifetime: static storage.
absl::string_view StatusPage();

}  // namespace penstock::server
