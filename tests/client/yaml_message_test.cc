#include "client/internal/yaml_message.h"

#include "proto/penstock/v1/connector.pb.h"
#include "proto/wire/violations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock::client::internal {
namespace {

using ::testing::ElementsAre;

// Lists of texts and of messages are read by the tests of pipeline files.
TEST(YamlMessageTest, ListsOfNumbersAreRead) {
  v1::DeleteConnectorResponse message;
  FieldLines lines;
  wire::Violations violations;
  ReadYaml("unconfirmed_steps: [1, 18446744073709551615]\ndropped_steps: [2]\n",
           message, lines, violations);
  EXPECT_TRUE(violations.empty());
  EXPECT_THAT(message.unconfirmed_steps(), ElementsAre(1u, UINT64_MAX));
  EXPECT_THAT(message.dropped_steps(), ElementsAre(2u));
}

TEST(YamlMessageTest, AWrongNumberOfAListHasItsPlace) {
  v1::DescribeConnectorTypeResponse message;
  FieldLines lines;
  wire::Violations violations;
  ReadYaml("versions:\n- 3\n- 4294967296\n", message, lines, violations);
  EXPECT_FALSE(violations.empty());
  EXPECT_EQ(lines.Of("versions[1]"), 3);
  EXPECT_THAT(message.versions(), ElementsAre(3u));
}

}  // namespace
}  // namespace penstock::client::internal
