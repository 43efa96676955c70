// A COMMIT whose answer is lost, before or after its effect (field case B072).
#include "core/base/error.h"
#include "core/contract/sink_error.h"
#include "tests/core/sinks/postgres/postgres_fixture.h"
#include "tests/support/postgres_proxy.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>

#include <memory>

namespace penstock::core {
namespace {

using testing::ElementsAre;

class PostgresLostCommitTest : public PostgresSinkTest {
 protected:
  void SetUp() override {
    PostgresSinkTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    proxy_ =
        std::make_unique<PostgresProxy>(PostgresServer::Shared().directory());
    Run("CREATE TABLE t (record text)");
    PostgresSinkConfig config = Config();
    config.url = absl::StrCat(
        "host=", proxy_->directory(),
        " user=postgres dbname=", Scalar("SELECT current_database()"));
    writer_ = Start(config, Open(1, Schema()));
    ASSERT_OK(writer_->opened());
    ASSERT_OK(writer_->PushRecords({0, 1}, {"a"}));
    ASSERT_OK(writer_->End());
  }
  // The statement after the one that moves the progress.
  void AtCommit(PostgresProxy::Deed deed) {
    proxy_->SetScript([deed](const PostgresProxy::Statement& statement) {
      return statement.number == 2 ? deed : PostgresProxy::Deed::kForward;
    });
  }
  std::vector<std::string> Table() { return Query("SELECT record FROM t"); }

  std::unique_ptr<PostgresProxy> proxy_;
  std::unique_ptr<SinkWriter> writer_;
};

TEST_F(PostgresLostCommitTest, TookEffectAsTheProgressRowSays) {
  ASSERT_OK(writer_->PushRecords({1, 2}, {"b"}));
  AtCommit(PostgresProxy::Deed::kCutAnswer);
  EXPECT_OK(writer_->End());
  EXPECT_THAT(Table(), ElementsAre("a", "b"));
  ASSERT_OK(writer_->PushRecords({2, 3}, {"c"}));
  ASSERT_OK(writer_->End());
  EXPECT_THAT(Table(), ElementsAre("a", "b", "c"));
}

TEST_F(PostgresLostCommitTest, NeverArrivedAsTheProgressRowSays) {
  ASSERT_OK(writer_->PushRecords({1, 2}, {"b"}));
  AtCommit(PostgresProxy::Deed::kCut);
  const absl::Status lost = writer_->End();
  EXPECT_EQ(KindOfSinkError(lost), SinkErrorKind::kRetryable) << lost;
  EXPECT_THAT(Table(), ElementsAre("a"));
  ASSERT_OK(writer_->PushRecords({1, 2}, {"b"}));
  ASSERT_OK(writer_->End());
  EXPECT_THAT(Table(), ElementsAre("a", "b"));
}

// It would still commit, long after the same batch was written again.
TEST_F(PostgresLostCommitTest, IsOnItsWayWhenTheBatchComesAgain) {
  writer_->set_deadline(absl::Milliseconds(500));
  ASSERT_OK(writer_->PushRecords({1, 2}, {"b"}));
  AtCommit(PostgresProxy::Deed::kHold);
  EXPECT_THAT(writer_->End(), HasReason(Reason::DEADLINE));
  writer_->set_deadline(absl::InfiniteDuration());
  ASSERT_OK(writer_->PushRecords({1, 2}, {"b"}));
  ASSERT_OK(writer_->End());
  proxy_->ReleaseHeld();
  EXPECT_THAT(Table(), ElementsAre("a", "b"));
}

}  // namespace
}  // namespace penstock::core
