#include "server/admin/http_connection.h"

#include "core/base/loopback.h"

#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>

#include <poll.h>
#include <sys/socket.h>
#include <cerrno>
#include <utility>
#include <vector>

namespace penstock::server {
namespace {

absl::string_view Phrase(int code) {
  switch (code) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 431:
      return "Request Header Fields Too Large";
    case 503:
      return "Service Unavailable";
  }
  return "Status";
}

// Whether `head` names no Host, or one of loopback.
bool NamesLoopback(absl::string_view head) {
  for (absl::string_view line : absl::StrSplit(head, "\r\n")) {
    if (!absl::StartsWithIgnoreCase(line, "host:")) continue;
    const absl::string_view host =
        absl::StripAsciiWhitespace(line.substr(sizeof "host:" - 1));
    // A port behind the last colon; an address of IPv6 is in brackets.
    const size_t colon = host.rfind(':');
    const bool has_port = colon != host.npos && !absl::EndsWith(host, "]");
    if (!core::IsLoopbackHost(has_port ? host.substr(0, colon) : host)) {
      return false;
    }
  }
  return true;
}

bool WouldWait() { return errno == EAGAIN || errno == EINTR; }

}  // namespace

HttpConnection::Text HttpConnection::Format(const HttpReply& reply) {
  return std::make_shared<const std::string>(absl::StrCat(
      "HTTP/1.1 ", reply.code, " ", Phrase(reply.code), "\r\nContent-Type: ",
      reply.content_type, "\r\nContent-Length: ", reply.body.size(),
      "\r\nCache-Control: no-store\r\nConnection: close\r\n"
      "X-Content-Type-Options: nosniff\r\n"
      "Content-Security-Policy: default-src 'none'; connect-src 'self'; "
      "img-src data:; style-src 'unsafe-inline'; "
      "script-src 'unsafe-inline'; frame-ancestors 'none'\r\n\r\n",
      reply.body));
}

short HttpConnection::interest() const {
  switch (stage_) {
    case Stage::kReading:
      return POLLIN;
    case Stage::kAsked:
      return 0;
    case Stage::kWriting:
      return POLLOUT;
  }
  return 0;
}

bool HttpConnection::Move() {
  switch (stage_) {
    case Stage::kReading:
      return Read();
    case Stage::kAsked:
      // Nothing was polled for: its client has gone.
      return false;
    case Stage::kWriting:
      return Write();
  }
  return false;
}

bool HttpConnection::Read() {
  char bytes[2048];
  const ssize_t got = recv(fd_.get(), bytes, sizeof bytes, 0);
  if (got < 0) return WouldWait();
  if (got == 0) return false;
  request_.append(bytes, static_cast<size_t>(got));
  const size_t end = request_.find("\r\n\r\n");
  if (end != request_.npos) {
    Parse(absl::string_view(request_).substr(0, end));
  } else if (request_.size() > HttpServer::kRequestBytesMax) {
    Answer(HttpReply{.code = 431,
                     .body = "the head of the request is too long\n"});
  }
  return stage_ != Stage::kWriting || Write();
}

void HttpConnection::Parse(absl::string_view head) {
  const absl::string_view line = head.substr(0, head.find("\r\n"));
  const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
  if (words.size() != 3 || !absl::StartsWith(words[1], "/") ||
      !absl::StartsWith(words[2], "HTTP/1.")) {
    return Answer(
        HttpReply{.code = 400, .body = "this is no request of HTTP/1.1\n"});
  }
  if (words[0] != "GET") {
    return Answer(
        HttpReply{.code = 405, .body = "only GET is answered here\n"});
  }
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(words[1], absl::MaxSplits('?', 1));
  path_ = std::string(parts.first);
  asked_ = {.query = std::string(parts.second),
            .names_loopback = NamesLoopback(head)};
  stage_ = Stage::kAsked;
}

void HttpConnection::Answer(Text text) {
  request_ = {};
  answer_ = std::move(text);
  stage_ = Stage::kWriting;
}

void HttpConnection::Refuse(bool is_late) {
  if (stage_ != Stage::kWriting) {
    Answer(is_late ? HttpReply{.code = 408, .body = "this took too long\n"}
                   : HttpReply{.code = 503,
                               .body = "too many connections; raise "
                                       "--admin-connections-max\n"});
  }
  Write();
}

bool HttpConnection::Write() {
  const ssize_t sent = send(fd_.get(), answer_->data() + written_,
                            answer_->size() - written_, MSG_NOSIGNAL);
  if (sent < 0) return WouldWait();
  written_ += static_cast<size_t>(sent);
  if (written_ < answer_->size()) return true;
  shutdown(fd_.get(), SHUT_WR);
  // Closed with something unread it would lose what was just sent.
  char unread[2048];
  for (size_t i = 0; i < HttpServer::kRequestBytesMax / sizeof unread; ++i) {
    if (recv(fd_.get(), unread, sizeof unread, 0) <= 0) break;
  }
  return false;
}

}  // namespace penstock::server
