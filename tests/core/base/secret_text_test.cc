#include "core/base/secret_text.h"

#include "core/base/error.h"
#include "core/base/path_policy.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace penstock::core {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Kind = SecretPart::Kind;

TEST(SecretTextTest, TextIsCutAtItsReferences) {
  EXPECT_THAT(ParseSecretText("a $b${env:NAME}${file:/run/x y}{c}"),
              IsOkAndHolds(ElementsAre(SecretPart{Kind::kLiteral, "a $b"},
                                       SecretPart{Kind::kEnvironment, "NAME"},
                                       SecretPart{Kind::kFile, "/run/x y"},
                                       SecretPart{Kind::kLiteral, "{c}"})));
  EXPECT_THAT(ParseSecretText(""), IsOkAndHolds(IsEmpty()));
}

class BadSecretTextTest : public testing::TestWithParam<std::string> {};

TEST_P(BadSecretTextTest, IsRefused) {
  EXPECT_THAT(ParseSecretText(GetParam()), HasReason(Reason::INVALID_CONFIG));
}

INSTANTIATE_TEST_SUITE_P(All, BadSecretTextTest,
                         testing::Values("${", "${env:NAME", "${NAME}",
                                         "${env:}", "${vault:x}"));

class SecretPartTest : public testing::Test {
 protected:
  void Write(absl::string_view path, absl::string_view text) {
    ASSERT_OK(files_.CreateDirectories("/run"));
    ASSERT_OK(WriteFileDurably(files_, path, text));
  }
  absl::StatusOr<std::string> File(std::string path) {
    return ResolveSecretPart({Kind::kFile, std::move(path)}, files_, paths_);
  }

  FakeFileSystem files_;
  const PathPolicy paths_{{"/run"}};
};

TEST_F(SecretPartTest, FileIsReadWithoutItsLastNewline) {
  Write("/run/secret", "hush\n\n");
  EXPECT_THAT(File("/run/secret"), IsOkAndHolds(std::string("hush\n")));
}

TEST_F(SecretPartTest, FileMustBeAllowed) {
  EXPECT_THAT(File("/etc/shadow"), HasReason(Reason::PATH_NOT_ALLOWED));
}

TEST_F(SecretPartTest, LongFileIsNoSecret) {
  Write("/run/long", std::string((size_t{64} << 10) + 1, 'x'));
  EXPECT_THAT(File("/run/long"), HasReason(Reason::INVALID_CONFIG));
}

TEST_F(SecretPartTest, MissingVariableIsNamed) {
  EXPECT_THAT(
      ResolveSecretPart({Kind::kEnvironment, "PENSTOCK_TEST_NOBODY_SETS_THIS"},
                        files_, paths_),
      HasReason(Reason::INVALID_CONFIG));
}

TEST_F(SecretPartTest, VariableThatIsSetIsTaken) {
  const auto path =
      ResolveSecretPart({Kind::kEnvironment, "PATH"}, files_, paths_);
  ASSERT_OK(path);
  EXPECT_FALSE(path->empty());
}

}  // namespace
}  // namespace penstock::core
