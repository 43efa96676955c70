#include "tests/support/fake_schema_registry.h"

#include "core/base/check.h"
#include "core/base/json_text.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/string_view.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>

namespace penstock::core {
namespace {

constexpr int kLookMs = 20;

std::string Response(int status, absl::string_view body) {
  return absl::StrCat("HTTP/1.1 ", status,
                      " -\r\nContent-Type: application/json\r\n"
                      "Connection: close\r\nContent-Length: ",
                      body.size(), "\r\n\r\n", body);
}

std::string Body(const std::string& text, const std::string& type,
                 const std::string& references) {
  std::string body = "{\"schema\":";
  AppendJsonString(text, body);
  if (!type.empty()) {
    body += ",\"schemaType\":";
    AppendJsonString(type, body);
  }
  if (!references.empty()) {
    absl::StrAppend(&body, ",\"references\":", references);
  }
  return body + "}";
}

// Whether there is something to read, or to accept, within a moment.
bool IsReadable(int socket) {
  pollfd one{.fd = socket, .events = POLLIN, .revents = 0};
  return poll(&one, 1, kLookMs) > 0;
}

}  // namespace

FakeSchemaRegistry::FakeSchemaRegistry() {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  CHECK_GE(listener_, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const plain = reinterpret_cast<sockaddr*>(&address);
  CHECK_EQ(bind(listener_, plain, size), 0);
  CHECK_EQ(listen(listener_, 16), 0);
  CHECK_EQ(getsockname(listener_, plain, &size), 0);
  port_ = ntohs(address.sin_port);
  thread_.emplace("registry",
                  [this](const std::stop_token& stop) { Run(stop); });
}

FakeSchemaRegistry::~FakeSchemaRegistry() {
  thread_.reset();
  close(listener_);
}

std::string FakeSchemaRegistry::url() const {
  return absl::StrCat("http://127.0.0.1:", port_);
}

void FakeSchemaRegistry::SetSchema(uint32_t id, std::string text,
                                   std::string type, std::string references) {
  MutexLock lock(mu_);
  schemas_[absl::StrCat("/schemas/ids/", id)] = Body(text, type, references);
}

void FakeSchemaRegistry::SetVersion(const std::string& subject,
                                    uint32_t version, std::string text,
                                    std::string references, std::string type) {
  MutexLock lock(mu_);
  schemas_[absl::StrCat("/subjects/", subject, "/versions/", version)] =
      Body(text, type, references);
}

void FakeSchemaRegistry::SetStatus(std::optional<int> status) {
  MutexLock lock(mu_);
  status_ = status;
}

void FakeSchemaRegistry::SetHangs(bool hangs) {
  MutexLock lock(mu_);
  hangs_ = hangs;
}

void FakeSchemaRegistry::RequireHeader(std::string line) {
  MutexLock lock(mu_);
  header_ = std::move(line);
}

int FakeSchemaRegistry::requests() const {
  MutexLock lock(mu_);
  return requests_;
}

void FakeSchemaRegistry::Run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    if (!IsReadable(listener_)) continue;
    const int connection = accept(listener_, nullptr, nullptr);
    if (connection < 0) continue;
    Serve(connection, stop);
    close(connection);
  }
}

void FakeSchemaRegistry::Serve(int connection, const std::stop_token& stop) {
  std::string head;
  char bytes[4096];
  while (head.find("\r\n\r\n") == std::string::npos) {
    if (stop.stop_requested()) return;
    if (!IsReadable(connection)) continue;
    const ssize_t got = recv(connection, bytes, sizeof(bytes), 0);
    if (got <= 0) return;
    head.append(bytes, static_cast<size_t>(got));
  }
  const std::string answer = AnswerTo(head);
  while (!stop.stop_requested()) {
    {
      MutexLock lock(mu_);
      if (!hangs_) break;
    }
    // Until the client gives up.
    if (IsReadable(connection)) return;
  }
  size_t sent = 0;
  while (sent < answer.size()) {
    const ssize_t more = send(connection, answer.data() + sent,
                              answer.size() - sent, MSG_NOSIGNAL);
    if (more <= 0) return;
    sent += static_cast<size_t>(more);
  }
}

std::string FakeSchemaRegistry::AnswerTo(const std::string& head) {
  MutexLock lock(mu_);
  ++requests_;
  if (status_.has_value()) return Response(*status_, "{}");
  if (head.find(header_) == std::string::npos) {
    return Response(401, R"({"error_code":401,"message":"who are you"})");
  }
  constexpr absl::string_view kGet = "GET ";
  if (!absl::StartsWith(head, kGet)) return Response(404, "not here");
  const std::string path =
      head.substr(kGet.size(), head.find(' ', kGet.size()) - kGet.size());
  const auto schema = schemas_.find(path);
  if (schema != schemas_.end()) return Response(200, schema->second);
  if (absl::StartsWith(path, "/subjects/")) {
    return Response(404, R"({"error_code":40402,"message":"no version"})");
  }
  if (!absl::StartsWith(path, "/schemas/ids/")) {
    return Response(404, "not here");
  }
  return Response(404, R"({"error_code":40403,"message":"Schema not found"})");
}

}  // namespace penstock::core
