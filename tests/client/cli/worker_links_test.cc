#include "client/cli/worker_links.h"

#include "client/pipeline_file.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/str_cat.h>
#include <absl/time/time.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace penstock::client {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr char kPath[] = "/shop.yaml";

class WorkerLinksTest : public testing::Test {
 protected:
  WorkerLinksTest() {
    Write("unix:/a");
    auto file = ParsePipelineFile(Text("unix:/a"), kPath);
    EXPECT_OK(file);
    auto links = WorkerLinks::Connect(file->workers, {});
    EXPECT_OK(links);
    links_ = *std::move(links);
    EXPECT_THAT(Follow(), IsEmpty());
  }
  static std::string Text(const std::string& address) {
    return absl::StrCat(
        "name: shop\n"
        "workers:\n"
        "- {name: one, address: '",
        address,
        "'}\n"
        "- {name: two, address: 'unix:/two'}\n"
        "connectors:\n"
        "- {name: a, source: {file: {path: i}}, format: {raw: {}}, sink: "
        "{null: {}}}\n");
  }
  void Write(const std::string& address) { files_.Put(kPath, Text(address)); }
  // As it looks a second later.
  std::string Follow() {
    now_ += absl::Seconds(1);
    return links_->Follow(files_, kPath, now_);
  }

  core::FakeFileSystem files_;
  absl::Time now_ = absl::UnixEpoch();
  std::unique_ptr<WorkerLinks> links_;
};

TEST_F(WorkerLinksTest, EachWorkerHasAControl) {
  EXPECT_THAT(links_->controls(), SizeIs(2));
}

TEST_F(WorkerLinksTest, AnEditedAddressIsTakenOver) {
  Write("unix:/b");
  EXPECT_EQ(Follow(), "worker 'one' is at unix:/b now");
  EXPECT_THAT(Follow(), IsEmpty());
}

TEST_F(WorkerLinksTest, TheFileIsNotReadMoreThanOnceASecond) {
  Write("unix:/b");
  EXPECT_THAT(links_->Follow(files_, kPath, now_ + absl::Milliseconds(999)),
              IsEmpty());
  EXPECT_THAT(links_->Follow(files_, kPath, now_ + absl::Seconds(1)),
              HasSubstr("unix:/b"));
}

TEST_F(WorkerLinksTest, AFileThatIsWrongNowChangesNothing) {
  Write("nowhere");
  EXPECT_THAT(Follow(), HasSubstr("the workers stay where they were"));
  Write("unix:/b");
  EXPECT_THAT(Follow(), HasSubstr("unix:/b"));
}

TEST_F(WorkerLinksTest, AnAddressThatMayNotBeUsedChangesNothing) {
  Write("far.example:7070");
  EXPECT_THAT(Follow(), HasSubstr("worker 'one' stays where it was"));
}

}  // namespace
}  // namespace penstock::client
