// Addresses that a worker listens at, and those that it cannot.
#include "server/net/listener.h"

#include "core/base/error.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <cstring>
#include <string>

namespace penstock::server {
namespace {

using core::HasReason;
using core::Reason;
using testing::AllOf;
using testing::HasSubstr;

class ListenerTest : public testing::Test {
 protected:
  static absl::Status Why(const std::string& address) {
    return Listener::Open(address, "--listen").status();
  }
  // What a process that was killed leaves.
  void LeaveDeadSocket() const {
    const UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path_.data(), path_.size());
    ASSERT_EQ(bind(fd.get(), reinterpret_cast<const sockaddr*>(&address),
                   sizeof address),
              0);
    ASSERT_EQ(listen(fd.get(), 1), 0);
  }

  core::TempDir dir_;
  const std::string path_ = dir_.path() + "/worker.sock";
  const std::string address_ = absl::StrCat("unix:", path_);
};

TEST_F(ListenerTest, ALivingSocketIsNotTakenOver) {
  const auto first = Listener::Open(address_, "--listen");
  ASSERT_OK(first.status());
  struct stat before {};
  ASSERT_EQ(stat(path_.c_str(), &before), 0);
  const absl::Status refused = Why(address_);
  EXPECT_THAT(refused, HasReason(Reason::UNAVAILABLE));
  EXPECT_THAT(
      std::string(refused.message()),
      AllOf(HasSubstr("another process listens there"), HasSubstr("--listen")));
  struct stat after {};
  ASSERT_EQ(stat(path_.c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
}

TEST_F(ListenerTest, ADeadSocketIsTakenOver) {
  LeaveDeadSocket();
  EXPECT_OK(Why(address_));
}

TEST_F(ListenerTest, WhyAnAddressCannotBeIsSaid) {
  const auto first = Listener::Open("127.0.0.1:0", "--listen");
  ASSERT_OK(first.status());
  EXPECT_THAT(
      std::string(Why(absl::StrCat("127.0.0.1:", first->port())).message()),
      HasSubstr("the port is in use"));
  // Of the network kept for documentation: nobody's.
  EXPECT_THAT(std::string(Why("192.0.2.1:7070").message()),
              HasSubstr("this machine has no such address"));
  EXPECT_THAT(
      std::string(Why(absl::StrCat("unix:", dir_.path(), "/none/s")).message()),
      HasSubstr("its directory is not there"));
  EXPECT_THAT(
      std::string(Why(absl::StrCat("unix:/", std::string(200, 'x'))).message()),
      HasSubstr("107 bytes"));
}

// A child, so that the rights that it gives up come back to nobody else.
TEST_F(ListenerTest, APortThatOnlyRootMayHaveIsSaidToBeOne) {
  EXPECT_EXIT(
      {
        const bool is_root = geteuid() == 0;
        if (is_root && setuid(65534) != 0) _exit(1);
        const std::string why(Why("127.0.0.1:1").message());
        // A machine may allow low ports to everybody.
        const bool told =
            why.empty() || why.find("CAP_NET_BIND_SERVICE") != why.npos;
        _exit(told ? 0 : 2);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace penstock::server
