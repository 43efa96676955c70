// The admin port: metrics and probes over HTTP.
// See server/README.md.
#pragma once

#include <absl/status/statusor.h>
#include <absl/time/time.h>

#include <cstddef>
#include <cstdint>
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

// What a handler is told of who asks. A plain value.
struct HttpRequest {
  // The text behind "?", not decoded.
  std::string query;
  // The Host it names, if any, is one of loopback. A page of elsewhere whose
  // name was made to lead here names its own.
  bool names_loopback = true;
  bool operator==(const HttpRequest&) const = default;
};

// What answers one path.
struct HttpRoute {
  // Everybody who has asked the same before it runs is given its reply.
  std::function<HttpReply(const HttpRequest&)> handler;
  // It costs next to nothing: answered before those that do not.
  bool is_quick = false;
};

// GET on fixed paths, nothing else; one request a connection. No client holds
// up another: nothing waits for one of them, and where there are too many the
// one that has taken longest goes.
//
// Owner:     the app. Threads: handlers run on the server's own thread, one at
//            a time.
// Lifecycle: listens from Start until Close, or destruction.
// Bound:     `connections_max`, with kRequestBytesMax read and one answer each;
//            `answer_bytes_max` of answers, beyond which the one that is taken
//            slowest goes; `time_max` for each connection.
class HttpServer {
 public:
  static constexpr size_t kRequestBytesMax = 8 * 1024;

  struct Options {
    // `host:port`, port 0 for any.
    std::string address;
    size_t connections_max = 256;
    size_t answer_bytes_max = size_t{64} << 20;
    // To say what is wanted, and then to take it.
    absl::Duration time_max = absl::Seconds(10);
    std::map<std::string, HttpRoute> routes;
  };
  struct Counts {
    uint64_t open = 0;
    uint64_t accepted = 0;
    // Closed before they were answered: too slow, or too many.
    uint64_t cut_off = 0;
  };

  // Errors: UNAVAILABLE.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(Options options);
  virtual ~HttpServer() = default;
  // No handler runs any more; port and counts can still be asked.
  // Blocks: until the one that runs returned. Idempotent.
  virtual void Close() = 0;
  // The port it listens on.
  virtual int port() const = 0;
  virtual Counts counts() const = 0;
};

}  // namespace penstock::server
