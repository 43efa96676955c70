#include "server/admin/http_server.h"

#include "core/base/error.h"

#include <absl/strings/str_cat.h>
#include <civetweb.h>

#include <utility>

namespace penstock::server {
namespace {

struct Route {
  HttpServer::Handler handler;
};

int Answer(mg_connection* connection, void* user) {
  const mg_request_info* request = mg_get_request_info(connection);
  const Route& route = *static_cast<const Route*>(user);
  HttpReply reply;
  if (absl::string_view(request->request_method) != "GET") {
    reply.code = 405;
    reply.body = "only GET is answered here\n";
  } else {
    reply = route.handler(
        request->query_string == nullptr ? "" : request->query_string);
  }
  mg_printf(connection,
            "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
            "Cache-Control: no-store\r\nConnection: close\r\n"
            "X-Content-Type-Options: nosniff\r\n"
            "Content-Security-Policy: default-src 'none'; connect-src 'self'; "
            "img-src data:; style-src 'unsafe-inline'; "
            "script-src 'unsafe-inline'; frame-ancestors 'none'\r\n\r\n",
            reply.code, mg_get_response_code_text(connection, reply.code),
            reply.content_type.c_str(), reply.body.size());
  mg_write(connection, reply.body.data(), reply.body.size());
  return reply.code;
}

class CivetServer final : public HttpServer {
 public:
  explicit CivetServer(std::map<std::string, Handler> handlers) {
    for (auto& [path, handler] : handlers) {
      routes_[path] = std::make_unique<Route>(Route{std::move(handler)});
    }
  }
  ~CivetServer() override {
    if (context_ != nullptr) mg_stop(context_);
  }
  CivetServer(const CivetServer&) = delete;
  CivetServer& operator=(const CivetServer&) = delete;

  absl::Status Listen(const std::string& address) {
    const std::string threads = absl::StrCat(kThreads);
    const char* options[] = {
        "listening_ports",    address.c_str(), "num_threads", threads.c_str(),
        "request_timeout_ms", "5000",          nullptr};
    mg_callbacks callbacks{};
    context_ = mg_start(&callbacks, this, options);
    if (context_ == nullptr) {
      return core::MakeError(
          core::Reason::UNAVAILABLE,
          absl::StrCat("listening for admin requests on ", address,
                       ": the address is in use or not ours; choose another "
                       "with --admin-listen"),
          {{"address", address}});
    }
    mg_server_port ports[4];
    if (mg_get_server_ports(context_, 4, ports) > 0) port_ = ports[0].port;
    for (auto& [path, route] : routes_) {
      // "$": the whole path, no prefix.
      mg_set_request_handler(context_, absl::StrCat(path, "$").c_str(), Answer,
                             route.get());
    }
    return absl::OkStatus();
  }

  int port() const override { return port_; }

 private:
  std::map<std::string, std::unique_ptr<Route>> routes_;
  mg_context* context_ = nullptr;
  int port_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(
    const std::string& address, std::map<std::string, Handler> handlers) {
  auto server = std::make_unique<CivetServer>(std::move(handlers));
  if (const absl::Status status = server->Listen(address); !status.ok()) {
    return status;
  }
  return server;
}

}  // namespace penstock::server
