#include "server/security/role.h"

#include "core/base/error.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace penstock::server {
namespace {

TEST(RoleTest, WhatTheTableDoesNotNameNobodyMayCall) {
  EXPECT_TRUE(RolesFor("/penstock.v1.ControlService/New").empty());
  EXPECT_TRUE(RolesFor("").empty());
  EXPECT_FALSE(RoleSet::All().Meets(RolesFor("/x.Y/Z")));
}

TEST(RoleTest, GrantsAreRead) {
  const auto grant = ParseRoleGrant("operator=spiffe://a/b=c");
  ASSERT_OK(grant);
  EXPECT_EQ(grant->role, Role::kOperator);
  EXPECT_EQ(grant->name, "spiffe://a/b=c");
}

class BadGrantTest : public testing::TestWithParam<std::string> {};
TEST_P(BadGrantTest, IsRefused) {
  EXPECT_THAT(ParseRoleGrant(GetParam()),
              core::HasReason(core::Reason::INVALID_CONFIG));
}
INSTANTIATE_TEST_SUITE_P(All, BadGrantTest,
                         testing::Values("", "controller", "controller=",
                                         "admin=a", "=a", "Controller=a"));

TEST(RoleTest, NamesAreComparedWhole) {
  const std::vector<RoleGrant> grants = {{Role::kController, "a.example"},
                                         {Role::kOperator, "b.example"}};
  EXPECT_EQ(RolesOf(grants, {"a.example"}), RoleSet(Role::kController));
  EXPECT_EQ(RolesOf(grants, {"x", "b.example", "a.example"}),
            RoleSet(Role::kController) | Role::kOperator);
  EXPECT_TRUE(RolesOf(grants, {"a.example.org", "A.example", "*"}).empty());
  EXPECT_TRUE(RolesOf(grants, {}).empty());
}

TEST(RoleTest, AStarIsEverybody) {
  const std::vector<RoleGrant> grants = {{Role::kObserver, "*"}};
  EXPECT_EQ(RolesOf(grants, {}), RoleSet(Role::kObserver));
  EXPECT_EQ(RolesOf(grants, {"a"}), RoleSet(Role::kObserver));
}

TEST(RoleTest, NeitherOperatorNorControllerIncludesTheOther) {
  EXPECT_FALSE(RoleSet(Role::kController)
                   .Meets(RolesFor("/penstock.v1.ControlService/Drain")));
  EXPECT_FALSE(RoleSet(Role::kOperator)
                   .Meets(RolesFor("/penstock.v1.ControlService/Queue")));
}

}  // namespace
}  // namespace penstock::server
