#include "server/net/refused_client.h"

#include <absl/strings/str_cat.h>

#include <sys/socket.h>
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace penstock::server {
namespace {

// What a client says first (RFC 9113, 3.4).
constexpr absl::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
constexpr size_t kHeadBytes = 9;
// A text of HPACK with a length of one byte.
constexpr size_t kTextMax = 126;

enum class Frame : uint8_t { kHeaders = 1, kSettings = 4, kGoAway = 7 };
constexpr char kEndStreamAndHeaders = 0x5;

void AppendNumber(uint32_t number, int bytes, std::string& to) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
    to += static_cast<char>(number >> shift & 0xff);
  }
}

uint32_t NumberAt(absl::string_view bytes) {
  uint32_t number = 0;
  for (const char byte : bytes) {
    number = number << 8 | static_cast<uint8_t>(byte);
  }
  return number;
}

std::string MakeFrame(Frame type, char flags, uint32_t stream,
                      absl::string_view payload) {
  std::string frame;
  AppendNumber(static_cast<uint32_t>(payload.size()), 3, frame);
  frame += static_cast<char>(type);
  frame += flags;
  AppendNumber(stream, 4, frame);
  return absl::StrCat(frame, payload);
}

// A literal field that is not indexed.
void AppendField(absl::string_view name, absl::string_view value,
                 std::string& to) {
  to += '\0';
  for (const absl::string_view text : {name, value.substr(0, kTextMax)}) {
    to += static_cast<char>(text.size());
    absl::StrAppend(&to, text);
  }
}

}  // namespace

RefusedClient::RefusedClient(UniqueFd fd, absl::string_view why, absl::Time now)
    : fd_(std::move(fd)), why_(why), since_(now) {
  Send(MakeFrame(Frame::kSettings, 0, 0, ""));
}

void RefusedClient::Send(absl::string_view frames) {
  // A client that takes not even this is told nothing.
  (void)send(fd_.get(), frames.data(), frames.size(), MSG_NOSIGNAL);
}

bool RefusedClient::Move(absl::Time now) {
  char bytes[4096];
  const ssize_t got = recv(fd_.get(), bytes, sizeof bytes, 0);
  if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return false;
  if (now - since_ > kTimeMax) return false;
  if (got < 0 || is_answered_) return true;
  heard_.append(bytes, static_cast<size_t>(got));
  if (const uint32_t stream = FindCall(); stream != 0) Answer(stream);
  return heard_.size() <= kBytesMax;
}

uint32_t RefusedClient::FindCall() const {
  size_t at = kPreface.size();
  while (at + kHeadBytes <= heard_.size()) {
    const absl::string_view head =
        absl::string_view(heard_).substr(at, kHeadBytes);
    if (head[3] == static_cast<char>(Frame::kHeaders)) {
      return NumberAt(head.substr(5, 4));
    }
    at += kHeadBytes + NumberAt(head.substr(0, 3));
  }
  return 0;
}

void RefusedClient::Answer(uint32_t stream) {
  is_answered_ = true;
  std::string fields("\x88", 1);  // :status 200, of the static table
  AppendField("content-type", "application/grpc", fields);
  AppendField("grpc-status", "14", fields);  // UNAVAILABLE
  AppendField("grpc-message", why_, fields);
  std::string last;
  AppendNumber(stream, 4, last);
  AppendNumber(0, 4, last);
  Send(absl::StrCat(
      MakeFrame(Frame::kHeaders, kEndStreamAndHeaders, stream, fields),
      MakeFrame(Frame::kGoAway, 0, 0, last)));
  shutdown(fd_.get(), SHUT_WR);
}

}  // namespace penstock::server
