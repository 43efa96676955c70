// One client of the admin port.
// See server/README.md.
#pragma once

#include "server/admin/http_server.h"
#include "server/net/unique_fd.h"

#include <absl/strings/string_view.h>
#include <absl/time/time.h>

#include <cstddef>
#include <memory>
#include <string>

namespace penstock::server {

//   READING ─a whole head─▶ ASKED ─Answer─▶ WRITING ─all taken─▶ over
//      └─bad, too long, no GET─────────────────▲
//
// What it sends behind its head is never another request: one answer, and the
// connection ends (no body of a GET, no pipelining).
//
// Owner:   HttpServer. Threads: confined to its thread. Blocks: never.
// Bound:   kRequestBytesMax, and one answer, which others may share.
class HttpConnection {
 public:
  HttpConnection(UniqueFd fd, absl::Time now)
      : fd_(std::move(fd)), since_(now) {}

  int fd() const { return fd_.get(); }
  // Of poll.
  short interest() const;
  // Reads or writes what it can. False: it is over.
  bool Move();
  bool has_asked() const { return stage_ == Stage::kAsked; }
  // Requires: has_asked().
  const std::string& path() const { return path_; }
  const HttpRequest& request() const { return asked_; }
  void Answer(const HttpReply& reply) { Answer(Format(reply)); }
  // Shared with: others who asked the same.
  using Text = std::shared_ptr<const std::string>;
  void Answer(Text text);
  static Text Format(const HttpReply& reply);
  // The last word to one that is cut off, if it takes it without waiting: it
  // was too slow, or there are too many.
  void Refuse(bool is_late);

  absl::Time since() const { return since_; }
  // Held for it, and, where there is one, the answer, perhaps for others, too.
  size_t request_bytes() const { return request_.size(); }
  const Text& answer() const { return answer_; }

 private:
  enum class Stage { kReading, kAsked, kWriting };

  bool Read();
  bool Write();
  // Looks at the head, which is whole.
  void Parse(absl::string_view head);

  UniqueFd fd_;
  const absl::Time since_;
  Stage stage_ = Stage::kReading;
  std::string request_;
  std::string path_;
  HttpRequest asked_;
  Text answer_;
  size_t written_ = 0;
};

}  // namespace penstock::server
