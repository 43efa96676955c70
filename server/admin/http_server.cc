#include "server/admin/http_server.h"

#include "core/base/clock.h"
#include "core/base/status_macros.h"
#include "core/base/thread.h"
#include "server/admin/http_connection.h"
#include "server/net/listener.h"

#include <absl/strings/string_view.h>

#include <poll.h>
#include <sys/eventfd.h>
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <list>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace penstock::server {
namespace {

// When there is nothing else to do: whether somebody's time is over.
constexpr int kLookMs = 500;

class PollServer final : public HttpServer {
 public:
  PollServer(Options options, Listener listener)
      : options_(std::move(options)),
        listener_(std::move(listener)),
        wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
        thread_("admin", [this](std::stop_token stop) { Run(stop); }) {}
  PollServer(const PollServer&) = delete;
  PollServer& operator=(const PollServer&) = delete;
  ~PollServer() override { End(); }

  void Close() override { End(); }
  int port() const override { return listener_.port(); }
  Counts counts() const override {
    return {.open = open_, .accepted = accepted_, .cut_off = cut_off_};
  }

 private:
  void End() {
    thread_.RequestStop();
    eventfd_write(wake_.get(), 1);
    thread_.Join();
  }

  using Connections = std::list<HttpConnection>;

  void Run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      std::vector<pollfd> polled = Interests();
      poll(polled.data(), polled.size(), HasAsked() ? 0 : kLookMs);
      const absl::Time now = core::RealClock().SteadyNow();
      Move(polled);
      Accept(now);
      Answer();
      CutOff(now);
      open_ = connections_.size();
    }
  }

  // The listening sockets, what ends the thread, then connections in order.
  std::vector<pollfd> Interests() const {
    std::vector<pollfd> polled;
    polled.reserve(connections_.size() + 3);
    // Without a descriptor left it looks again a little later.
    const short accepts = is_starved_ ? 0 : POLLIN;
    for (const UniqueFd& socket : listener_.sockets()) {
      polled.push_back({.fd = socket.get(), .events = accepts, .revents = 0});
    }
    polled.push_back({.fd = wake_.get(), .events = POLLIN, .revents = 0});
    for (const HttpConnection& connection : connections_) {
      polled.push_back({.fd = connection.fd(),
                        .events = connection.interest(),
                        .revents = 0});
    }
    return polled;
  }

  void Move(const std::vector<pollfd>& polled) {
    size_t next = listener_.sockets().size() + 1;
    for (auto it = connections_.begin(); it != connections_.end();) {
      if (polled[next++].revents != 0 && !it->Move()) {
        it = connections_.erase(it);
      } else {
        ++it;
      }
    }
  }

  void Accept(absl::Time now) {
    for (const UniqueFd& socket : listener_.sockets()) {
      // A few at a time: those that are there have their turn, too.
      for (size_t i = 0; i < options_.connections_max; ++i) {
        UniqueFd fd = Listener::Accept(socket.get());
        is_starved_ = !fd.is_open() && errno != EAGAIN;
        if (!fd.is_open()) break;
        ++accepted_;
        connections_.emplace_back(std::move(fd), now);
        // Most ask at once.
        if (!connections_.back().Move()) connections_.pop_back();
      }
    }
  }

  bool HasAsked() const {
    return std::any_of(connections_.begin(), connections_.end(),
                       [](const auto& one) { return one.has_asked(); });
  }

  // All that is quick, and one question that is not, for everybody who asks it:
  // so a probe waits for one scrape, and a scrape for one of each kind, however
  // many are asked for, perhaps by clients that have given up long ago.
  void Answer() {
    // Of the question that is not quick.
    std::string path;
    HttpRequest request;
    HttpConnection::Text reply;
    for (auto it = connections_.begin(); it != connections_.end();) {
      const auto now = it++;
      if (!now->has_asked()) continue;
      const auto route = options_.routes.find(now->path());
      if (route == options_.routes.end()) {
        now->Answer(HttpReply{.code = 404, .body = "no such page\n"});
      } else if (route->second.is_quick) {
        now->Answer(route->second.handler(now->request()));
      } else if (reply == nullptr) {
        path = now->path();
        request = now->request();
        reply = HttpConnection::Format(route->second.handler(request));
        now->Answer(reply);
      } else if (now->path() == path && now->request() == request) {
        now->Answer(reply);
      } else {
        continue;
      }
      if (!now->Move()) connections_.erase(now);
    }
  }

  size_t HeldBytes() const {
    size_t bytes = 0;
    std::set<const std::string*> counted;
    for (const HttpConnection& one : connections_) {
      bytes += one.request_bytes();
      const std::string* answer = one.answer().get();
      if (answer != nullptr && counted.insert(answer).second) {
        bytes += answer->size();
      }
    }
    return bytes;
  }

  // The list is in the order of their arrival.
  void CutOff(absl::Time now) {
    while (!connections_.empty()) {
      HttpConnection& oldest = connections_.front();
      const bool is_late = now - oldest.since() > options_.time_max;
      if (!is_late && connections_.size() <= options_.connections_max &&
          HeldBytes() <= options_.answer_bytes_max) {
        break;
      }
      ++cut_off_;
      oldest.Refuse(is_late);
      connections_.pop_front();
    }
  }

  const Options options_;
  const Listener listener_;
  const UniqueFd wake_;
  Connections connections_;
  bool is_starved_ = false;
  std::atomic<uint64_t> open_{0};
  std::atomic<uint64_t> accepted_{0};
  std::atomic<uint64_t> cut_off_{0};
  // Last: it uses all of the above.
  core::Thread thread_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(Options options) {
  ASSIGN_OR_RETURN(Listener listener,
                   Listener::Open(options.address, "--admin-listen"));
  return std::make_unique<PollServer>(std::move(options), std::move(listener));
}

}  // namespace penstock::server
