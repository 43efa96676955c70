// The admin port against clients of every kind.
#include "server/admin/http_server.h"

#include "core/base/notification.h"
#include "core/base/thread.h"
#include "server/net/unique_fd.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace penstock::server {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

UniqueFd Connect(int port) {
  UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval patience{.tv_sec = 60, .tv_usec = 0};
  setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  EXPECT_EQ(connect(fd.get(), reinterpret_cast<const sockaddr*>(&address),
                    sizeof address),
            0);
  return fd;
}

void Say(const UniqueFd& fd, const std::string& text) {
  (void)send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL);
}

std::string Hear(const UniqueFd& fd) {
  std::string text;
  char bytes[4096];
  ssize_t got = 0;
  while ((got = recv(fd.get(), bytes, sizeof bytes, 0)) > 0) {
    text.append(bytes, static_cast<size_t>(got));
  }
  return text;
}

class HttpServerTest : public testing::Test {
 protected:
  static HttpRoute Text(std::string body, bool is_quick) {
    return {[body = std::move(body)](const HttpRequest& request) {
              return HttpReply{.body = absl::StrCat(body, request.query)};
            },
            is_quick};
  }
  void Start(HttpServer::Options options) {
    options.address = "127.0.0.1:0";
    options.routes.emplace("/livez", Text("alive", true));
    options.routes.emplace("/metrics", Text("many", false));
    auto server = HttpServer::Start(std::move(options));
    ASSERT_OK(server.status());
    server_ = *std::move(server);
  }
  UniqueFd Client() const { return Connect(server_->port()); }
  std::string Ask(const std::string& request) const {
    const UniqueFd client = Client();
    Say(client, request);
    return Hear(client);
  }
  std::string Get(const std::string& path) const {
    return Ask(absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: a\r\n\r\n"));
  }

  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpServerTest, AnswersWhatItHas) {
  Start({});
  EXPECT_THAT(Get("/livez"), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(Get("/livez"), EndsWith("\r\n\r\nalive"));
  EXPECT_THAT(Get("/metrics?x=%20"), EndsWith("\r\n\r\nmanyx=%20"));
  EXPECT_THAT(Get("/livez/"), StartsWith("HTTP/1.1 404 Not Found\r\n"));
  EXPECT_THAT(Ask("POST /livez HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc"),
              StartsWith("HTTP/1.1 405 "));
  for (const char* nonsense :
       {"\r\n\r\n", "GET /livez\r\n\r\n", "GET livez HTTP/1.1\r\n\r\n",
        "GET  /livez HTTP/1.1\r\n\r\n", "PRI * HTTP/2.0\r\n\r\n",
        "\x16\x03\x01 \r\n\r\n"}) {
    EXPECT_THAT(Ask(nonsense), StartsWith("HTTP/1.1 400 ")) << nonsense;
  }
  EXPECT_THAT(Ask(std::string(2 * HttpServer::kRequestBytesMax, 'a')),
              StartsWith("HTTP/1.1 431 "));
}

// A page of elsewhere whose name was made to lead here names its own.
TEST_F(HttpServerTest, AHandlerKnowsWhetherLoopbackWasMeant) {
  HttpServer::Options options;
  options.routes["/who"] = {
      [](const HttpRequest& request) {
        return HttpReply{.body = request.names_loopback ? "own" : "other"};
      },
      true};
  Start(std::move(options));
  for (const auto& [host, answer] :
       std::vector<std::pair<std::string, std::string>>{
           {"", "own"},
           {"Host: localhost:7071\r\n", "own"},
           {"A: b\r\nhost:127.0.0.1\r\n", "own"},
           {"Host: [::1]:7071\r\n", "own"},
           {"Host: [::1]\r\n", "own"},
           {"Host: evil.example:7071\r\n", "other"},
           {"Host: localhost.evil.example\r\n", "other"},
           {"Host: evil.example\r\nHost: localhost\r\n", "other"}}) {
    EXPECT_THAT(Ask(absl::StrCat("GET /who HTTP/1.1\r\n", host, "\r\n")),
                EndsWith("\r\n\r\n" + answer))
        << host;
  }
}

// What stands behind a head is no request, whatever the head says of it.
TEST_F(HttpServerTest, B105NothingBehindAHeadIsAnswered) {
  Start({});
  for (const char* length :
       {"", "Content-Length: 0\r\n", "Transfer-Encoding: chunked\r\n"}) {
    const std::string answer =
        Ask(absl::StrCat("GET /livez HTTP/1.1\r\n", length,
                         "\r\nGET /metrics HTTP/1.1\r\n\r\n"));
    EXPECT_THAT(answer, EndsWith("\r\n\r\nalive"));
    EXPECT_THAT(answer, HasSubstr("Connection: close"));
  }
}

TEST_F(HttpServerTest, ARequestMayComeInPieces) {
  Start({});
  const UniqueFd client = Client();
  for (const char* piece : {"GET /li", "vez HTTP/1.1\r", "\n\r", "\n"}) {
    Say(client, piece);
  }
  EXPECT_THAT(Hear(client), EndsWith("alive"));
}

TEST_F(HttpServerTest, B103ManySlowClientsHoldNobodyUp) {
  Start({.connections_max = 16});
  std::vector<UniqueFd> slow;
  for (int i = 0; i < 400; ++i) {
    slow.push_back(Client());
    Say(slow.back(), "G");
    if (i % 40 == 0) {
      EXPECT_THAT(Get("/livez"), EndsWith("alive"));
      EXPECT_THAT(Get("/metrics"), EndsWith("many"));
    }
  }
  EXPECT_THAT(Get("/livez"), EndsWith("alive"));
  EXPECT_LE(server_->counts().open, 16u);
  EXPECT_GE(server_->counts().cut_off, 400u - 16);
  EXPECT_THAT(Hear(slow.front()), HasSubstr("--admin-connections-max"));
}

TEST_F(HttpServerTest, B103WhoTakesTooLongIsToldSo) {
  Start({.time_max = absl::Milliseconds(20)});
  const UniqueFd slow = Client();
  Say(slow, "GET /livez HTTP/1.1\r\n");
  EXPECT_THAT(Hear(slow), StartsWith("HTTP/1.1 408 "));
}

TEST_F(HttpServerTest, AnswersThatNobodyTakesAreBounded) {
  constexpr size_t kBytes = size_t{16} << 20;
  HttpServer::Options options{.answer_bytes_max = 2 * kBytes};
  options.routes["/large"] = Text(std::string(kBytes, 'x'), false);
  Start(std::move(options));
  std::vector<UniqueFd> deaf;
  for (int i = 0; i < 4; ++i) {
    deaf.push_back(Client());
    Say(deaf.back(), "GET /large HTTP/1.1\r\n\r\n");
    EXPECT_THAT(Get("/livez"), EndsWith("alive"));
  }
  while (server_->counts().cut_off < 3) {
    EXPECT_THAT(Get("/livez"), EndsWith("alive"));
  }
  // The one that asked last has it whole.
  EXPECT_GT(Hear(deaf.back()).size(), kBytes);
}

// However many scrapes are asked for, a probe waits for one of them only.
TEST_F(HttpServerTest, AProbePassesScrapesThatWait) {
  core::Notification go;
  int slow_ones = 0;
  std::string order;
  HttpServer::Options options;
  options.routes["/slow"] = {[&](const HttpRequest&) {
                               ++slow_ones;
                               go.WaitForNotification();
                               order += 's';
                               return HttpReply{};
                             },
                             false};
  options.routes["/probe"] = {[&](const HttpRequest&) {
                                order += 'p';
                                return HttpReply{};
                              },
                              true};
  Start(std::move(options));
  std::vector<UniqueFd> scrapes;
  for (int i = 0; i < 5; ++i) {
    scrapes.push_back(Client());
    Say(scrapes.back(), "GET /slow HTTP/1.1\r\n\r\n");
  }
  const UniqueFd probe = Client();
  Say(probe, "GET /probe HTTP/1.1\r\n\r\n");
  go.Notify();
  Hear(probe);
  for (const UniqueFd& scrape : scrapes) Hear(scrape);
  server_.reset();
  EXPECT_LE(slow_ones, 2);
  EXPECT_LE(order.find('p'), 2u) << order;
}

// Scrapes that were given up are not worked through before the next one.
TEST_F(HttpServerTest, WhoHasGoneHoldsNobodyUp) {
  core::Notification began;
  core::Notification go;
  int scrapes = 0;
  HttpServer::Options options;
  options.routes["/slow"] = {[&](const HttpRequest& request) {
                               ++scrapes;
                               if (!began.HasBeenNotified()) began.Notify();
                               go.WaitForNotification();
                               return HttpReply{.body = request.query};
                             },
                             false};
  Start(std::move(options));
  const UniqueFd first = Client();
  Say(first, "GET /slow?a HTTP/1.1\r\n\r\n");
  began.WaitForNotification();
  for (int i = 0; i < 20; ++i) Say(Client(), "GET /slow?b HTTP/1.1\r\n\r\n");
  const UniqueFd last = Client();
  Say(last, "GET /slow?b HTTP/1.1\r\n\r\n");
  const UniqueFd other = Client();
  Say(other, "GET /slow?c HTTP/1.1\r\n\r\n");
  go.Notify();
  EXPECT_THAT(Hear(first), EndsWith("\r\n\r\na"));
  EXPECT_THAT(Hear(last), EndsWith("\r\n\r\nb"));
  EXPECT_THAT(Hear(other), EndsWith("\r\n\r\nc"));
  server_.reset();
  EXPECT_EQ(scrapes, 3);
}

// As a scrape asks for the counts while the worker ends.
TEST_F(HttpServerTest, AHandlerThatRunsMayAskItUntilItReturned) {
  core::Notification began;
  core::Notification go;
  uint64_t accepted = 0;
  HttpServer::Options options;
  options.routes["/counts"] = {[&](const HttpRequest&) {
                                 began.Notify();
                                 go.WaitForNotification();
                                 accepted = server_->counts().accepted;
                                 return HttpReply{};
                               },
                               false};
  Start(std::move(options));
  const UniqueFd client = Client();
  Say(client, "GET /counts HTTP/1.1\r\n\r\n");
  began.WaitForNotification();
  core::Thread closes("closes", [&](std::stop_token) { server_->Close(); });
  go.Notify();
  closes.Join();
  server_->Close();
  EXPECT_EQ(accepted, 1u);
}

TEST(HttpServerStartTest, AnAddressInUseIsToldSo) {
  auto first = HttpServer::Start({.address = "127.0.0.1:0"});
  ASSERT_OK(first.status());
  const std::string taken = absl::StrCat("127.0.0.1:", (*first)->port());
  for (const std::string& address :
       {taken, std::string("no.such.host.:1"), std::string("127.0.0.1")}) {
    const auto second = HttpServer::Start({.address = address});
    EXPECT_THAT(std::string(second.status().message()),
                HasSubstr("choose another address with --admin-listen"));
  }
}

}  // namespace
}  // namespace penstock::server
