// How many clients a port takes.
#include "server/net/connection_gate.h"

#include "core/base/mutex.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace penstock::server {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class ConnectionGateTest : public testing::Test {
 protected:
  void Start(size_t connections_max, bool is_plaintext = true) {
    auto listener = Listener::Open(absl::StrCat("unix:", path_), "--listen");
    ASSERT_OK(listener.status());
    gate_.emplace(*std::move(listener),
                  ConnectionGate::Options{.connections_max = connections_max,
                                          .is_plaintext = is_plaintext},
                  [this](int /*listening*/, UniqueFd connection) {
                    core::MutexLock lock(mu_);
                    served_.push_back(std::move(connection));
                  });
  }
  UniqueFd Connect() const {
    UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path_.data(), path_.size());
    EXPECT_EQ(connect(fd.get(), reinterpret_cast<const sockaddr*>(&address),
                      sizeof address),
              0);
    return fd;
  }
  static void Say(const UniqueFd& fd, const std::string& text) {
    (void)send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL);
  }
  static std::string Hear(const UniqueFd& fd) {
    std::string text;
    char bytes[512];
    ssize_t got = 0;
    while ((got = recv(fd.get(), bytes, sizeof bytes, 0)) > 0) {
      text.append(bytes, static_cast<size_t>(got));
    }
    return text;
  }
  void WaitForServed(size_t count) {
    while (true) {
      {
        core::MutexLock lock(mu_);
        if (served_.size() >= count) return;
      }
      std::this_thread::yield();
    }
  }

  const core::TempDir directory_;
  const std::string path_ = directory_.Path("s");
  core::Mutex mu_;
  std::vector<UniqueFd> served_ ABSL_GUARDED_BY(mu_);
  // Last: it uses what is above.
  std::optional<ConnectionGate> gate_;
};

TEST_F(ConnectionGateTest, OneTooManyIsToldWhyAndTheOthersGoOn) {
  Start(2);
  const UniqueFd first = Connect();
  const UniqueFd second = Connect();
  WaitForServed(2);
  const UniqueFd third = Connect();
  // Its settings, and a call in two pieces.
  Say(third, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  Say(third, std::string("\0\0\6\4\0\0\0\0\0abcdef", 15));
  Say(third, std::string("\0\0\2\1", 4));
  Say(third, std::string("\4\0\0\0\7xy", 7));
  const std::string told = Hear(third);
  EXPECT_EQ(told.substr(0, 9), std::string("\0\0\0\4\0\0\0\0\0", 9));
  EXPECT_EQ(told.substr(12, 6), std::string("\1\5\0\0\0\7", 6));
  EXPECT_THAT(told, HasSubstr("grpc-status\x2"
                              "14"));
  EXPECT_THAT(told, HasSubstr("has 2 connections"));
  EXPECT_THAT(told, HasSubstr("--connections-max"));
  const ConnectionGate::Counts counts = gate_->counts();
  EXPECT_EQ(counts.open, 2u);
  EXPECT_EQ(counts.open_max, 2u);
  EXPECT_EQ(counts.refused, 1u);
  core::MutexLock lock(mu_);
  EXPECT_EQ(send(served_[0].get(), "x", 1, 0), 1);
}

// Whoever was given a connection closes it without a word.
TEST_F(ConnectionGateTest, WhatIsClosedMakesRoom) {
  Start(1);
  for (int i = 0; i < 50; ++i) {
    const UniqueFd client = Connect();
    WaitForServed(1);
    EXPECT_EQ(gate_->counts().open, 1u);
    core::MutexLock lock(mu_);
    served_.clear();
  }
  EXPECT_EQ(gate_->counts().open, 0u);
  EXPECT_EQ(gate_->counts().refused, 0u);
}

TEST_F(ConnectionGateTest, ClosedItStillCounts) {
  Start(2);
  const UniqueFd client = Connect();
  WaitForServed(1);
  gate_->Close();
  gate_->Close();
  EXPECT_EQ(gate_->counts().open, 1u);
  EXPECT_NE(access(path_.c_str(), F_OK), 0);
}

// The number of a descriptor that was closed may be another file's by now.
TEST_F(ConnectionGateTest, AnotherFileWithItsNumberIsNoConnection) {
  Start(4);
  const UniqueFd client = Connect();
  WaitForServed(1);
  const UniqueFd other(socket(AF_UNIX, SOCK_STREAM, 0));
  {
    core::MutexLock lock(mu_);
    ASSERT_GE(dup2(other.get(), served_[0].get()), 0);
  }
  EXPECT_EQ(gate_->counts().open, 0u);
}

TEST_F(ConnectionGateTest, InTlsOneTooManyIsOnlyClosed) {
  Start(1, /*is_plaintext=*/false);
  const UniqueFd client = Connect();
  WaitForServed(1);
  EXPECT_THAT(Hear(Connect()), IsEmpty());
  EXPECT_EQ(gate_->counts().refused, 1u);
}

TEST_F(ConnectionGateTest, ASocketIsRemovedUnlessItIsAnothers) {
  Start(1);
  EXPECT_EQ(access(path_.c_str(), F_OK), 0);
  // Somebody took it away, or the other could not listen there.
  ASSERT_EQ(unlink(path_.c_str()), 0);
  auto second = Listener::Open(absl::StrCat("unix:", path_), "--listen");
  ASSERT_OK(second.status());
  gate_.reset();
  EXPECT_EQ(access(path_.c_str(), F_OK), 0) << "it removed the other's";
  second = absl::CancelledError();
  EXPECT_NE(access(path_.c_str(), F_OK), 0);
}

}  // namespace
}  // namespace penstock::server
