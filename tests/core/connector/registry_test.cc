#include "core/connector/registry.h"

#include "core/base/error.h"
#include "tests/core/connector/harness.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace penstock::core {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Registry::EncoderFactory LineFactory() {
  return [](const ComponentConfig&, FrameKind,
            const Schema&) -> absl::StatusOr<std::unique_ptr<RowEncoder>> {
    return std::make_unique<LineEncoder>();
  };
}

TEST(RegistryTest, MakesWhatIsRegistered) {
  Registry registry;
  registry.RegisterEncoder("line", LineFactory());
  EXPECT_OK(
      registry.MakeEncoder(NamedConfig("line"), FrameKind::kConcatenated, {}));
}

TEST(RegistryTest, UnknownTypeIsNamedBesideThoseThatExist) {
  Registry registry;
  registry.RegisterEncoder("line", LineFactory());
  registry.RegisterEncoder("raw", LineFactory());
  const absl::Status status =
      registry.MakeEncoder(NamedConfig("lien"), FrameKind::kConcatenated, {})
          .status();
  ASSERT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument,
                               HasReason(Reason::INVALID_CONFIG)));
  EXPECT_THAT(std::string(status.message()), HasSubstr("\"lien\""));
  EXPECT_EQ(GetErrorInfo(status)->metadata.at("known"), "line, raw");
}

TEST(RegistryTest, FactoryErrorComesThrough) {
  Registry registry;
  registry.RegisterParser(
      "broken",
      [](const ComponentConfig&,
         const Schema&) -> absl::StatusOr<std::unique_ptr<Parser>> {
        return MakeError(Reason::INVALID_CONFIG, "no such column");
      });
  EXPECT_THAT(registry.MakeParser(NamedConfig("broken"), {}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("no such column")));
}

TEST(RegistryTest, NamesAreSorted) {
  Registry registry;
  const auto make = [](const ComponentConfig&, const Schema&)
      -> absl::StatusOr<std::unique_ptr<Parser>> { return nullptr; };
  registry.RegisterParser("ndjson", make);
  registry.RegisterParser("csv", make);
  EXPECT_THAT(registry.format_names(), ElementsAre("csv", "ndjson"));
}

TEST(RegistryDeathTest, NameIsTakenOnce) {
  Registry registry;
  registry.RegisterEncoder("line", LineFactory());
  EXPECT_DEATH(registry.RegisterEncoder("line", LineFactory()),
               "registered twice");
}

}  // namespace
}  // namespace penstock::core
