#include "core/sources/kafka/login_watch.h"

#include <gtest/gtest.h>

namespace penstock::core {
namespace {

const absl::Time kStart = absl::UnixEpoch();

TEST(LoginWatchTest, ARefusalBeforeAnyBrokerWasUpIsForGood) {
  LoginWatch watch;
  EXPECT_TRUE(watch.Refused(kStart));
}

TEST(LoginWatchTest, ARefusalLaterIsBelievedOnlyWhenItGoesOn) {
  LoginWatch watch;
  watch.Up();
  EXPECT_FALSE(watch.Refused(kStart));
  EXPECT_FALSE(watch.Refused(kStart + LoginWatch::kBelievedAfter / 2));
  EXPECT_TRUE(watch.Refused(kStart + LoginWatch::kBelievedAfter));
}

TEST(LoginWatchTest, ABrokerThatIsUpOrAwayBeginsItAnew) {
  LoginWatch watch;
  watch.Up();
  EXPECT_FALSE(watch.Refused(kStart));
  watch.Up();
  EXPECT_FALSE(watch.Refused(kStart + LoginWatch::kBelievedAfter));
  watch.Away();
  EXPECT_FALSE(watch.Refused(kStart + 2 * LoginWatch::kBelievedAfter));
  EXPECT_TRUE(watch.Refused(kStart + 3 * LoginWatch::kBelievedAfter));
}

}  // namespace
}  // namespace penstock::core
