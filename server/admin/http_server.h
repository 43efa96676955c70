// The admin port: metrics and probes over HTTP.
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace penstock::server {

struct HttpReply {
  int code = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
};

// GET on fixed paths, nothing else.
//
// Owner:     the app. Threads: handlers run on the server's own threads, at
//            most `kThreads` at a time.
// Lifecycle: listens from Start until destruction, which waits for handlers.
class HttpServer {
 public:
  static constexpr int kThreads = 4;
  // `query` is the text behind "?", not decoded.
  using Handler = std::function<HttpReply(const std::string& query)>;

  // `address`: `host:port`, port 0 for any. Errors: UNAVAILABLE.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(
      const std::string& address, std::map<std::string, Handler> handlers);
  virtual ~HttpServer() = default;
  // The port it listens on.
  virtual int port() const = 0;
};

}  // namespace penstock::server
