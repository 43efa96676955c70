// One GET over HTTP. A thin wrapper of libcurl.
#pragma once

#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>
#include <absl/time/time.h>

#include <cstddef>
#include <stop_token>
#include <string>

namespace penstock::core {

struct HttpRequest {
  // http or https, without user and password.
  std::string url;
  // What the answer may be ("application/json"); empty: anything.
  std::string accept = {};
  // Basic authentication; empty: none.
  std::string username = {};
  std::string password = {};
  // Of an `Authorization: Bearer` header; empty: none.
  std::string bearer_token = {};
  // Certificates of authorities in PEM; empty: the system's.
  std::string ca_file = {};
  // For all of it, from the look-up of the name to the last byte.
  absl::Duration timeout = absl::Seconds(10);
  // Longest answer.
  size_t body_bytes_max = size_t{1} << 20;
};

struct HttpResponse {
  int status = 0;
  std::string body;
};

// Certificates are always checked. A secret goes over plain http without any
// proxy. Redirects are not followed: they could lead
// a password elsewhere, and are an answer like any other. Blocks: until the
// answer, the time-out, or soon after `stop`. Errors: UNAVAILABLE: no
// answer; DEADLINE; CANCELLED: `stop`; RECORD_TOO_LARGE; INVALID_CONFIG: the
// URL is none. No secret appears in them (INV-10).
absl::StatusOr<HttpResponse> HttpGet(const HttpRequest& request,
                                     const std::stop_token& stop);

}  // namespace penstock::core
