// SPDX-License-Identifier: BSD-3-Clause
#include "control/hub/xrc_registry.h"

#include <cerrno>

#include <gtest/gtest.h>

#include "control/hub/registry.h"
#include "datapath/link/member.h"

namespace verbline::hub {
namespace {

constexpr LaneId one{1}, two{2}, three{3};
constexpr XrcRegistry::File file{8, 100}, other_file{8, 101};
constexpr OpenXrcDomain create{.create = true}, existing{}, alone{.create = true, .exclusive = true};

TEST(XrcRegistry, ADomainIsItsFiles) {
    XrcRegistry registry;
    EXPECT_EQ(registry.open_domain(one, file, existing).error().code, EAGAIN);
    const auto domain = registry.open_domain(one, file, alone);
    ASSERT_TRUE(domain);
    EXPECT_EQ(registry.open_domain(two, file, existing), domain);
    EXPECT_EQ(registry.open_domain(two, file, alone).error().code, EINVAL);
    EXPECT_NE(registry.open_domain(two, other_file, create), domain);
    EXPECT_EQ(registry.members(*domain), (std::set{one, two}));
    EXPECT_TRUE(registry.close_domain(one, *domain));
    EXPECT_EQ(registry.open_domain(three, file, existing), domain) << "two has it";
    EXPECT_EQ(registry.close_domain(one, *domain).error().code, EINVAL) << "it was closed";
    registry.leave(two);
    registry.leave(three);
    EXPECT_EQ(registry.open_domain(one, file, existing).error().code, EAGAIN) << "nobody";
}

struct XrcTargetsOfRegistry : ::testing::Test {
    void SetUp() override {
        domain = registry.open_domain(one, file, create).value();
        registry.open_domain(two, file, existing).value();
        target = registry.create(one, domain).value();
    }
    XrcRegistry registry;
    XrcDomainId domain{};
    wire::Qpn target{};
};

TEST_F(XrcTargetsOfRegistry, HaveNumbersOfTheNodesRange) {
    EXPECT_TRUE(link::is_shared_target(target));
    EXPECT_NE(registry.create(one, domain), target);
    EXPECT_EQ(registry.create(three, domain).error().code, EINVAL) << "it has not opened the domain";
    EXPECT_EQ(registry.targets(domain).size(), 2u);
}

TEST_F(XrcTargetsOfRegistry, AreOpenedByNumberInTheirDomain) {
    EXPECT_TRUE(registry.open(two, {domain, target}));
    EXPECT_EQ(registry.open(three, {domain, target}).error().code, EINVAL);
    const auto elsewhere = registry.open_domain(two, other_file, create).value();
    EXPECT_EQ(registry.open(two, {elsewhere, target}).error().code, EINVAL);
    EXPECT_EQ(registry.open(two, {domain, wire::Qpn{link::own_queue_pairs}}).error().code, EINVAL);
}

TEST_F(XrcTargetsOfRegistry, LiveAsLongAsAnybodyHasAHandle) {
    registry.open(two, {domain, target}).value();
    registry.open(two, {domain, target}).value();
    EXPECT_EQ(registry.leave(one).size(), 0u) << "whoever made it";
    EXPECT_EQ(registry.close(two, target).value().size(), 0u);
    const auto gone = registry.close(two, target).value();
    ASSERT_EQ(gone.size(), 1u);
    EXPECT_EQ(gone[0].qpn, target);
    EXPECT_EQ(gone[0].state, XrcTargetState::gone);
    EXPECT_EQ(registry.find(target), nullptr);
    EXPECT_EQ(registry.close(two, target).error().code, EINVAL);
}

TEST_F(XrcTargetsOfRegistry, EndWithTheDomainOfTheirOnlyOwner) {
    const auto gone = registry.close_domain(one, domain).value();
    ASSERT_EQ(gone.size(), 1u);
    EXPECT_EQ(gone[0].qpn, target);
    EXPECT_EQ(registry.members(domain), std::set{two});
}

TEST_F(XrcTargetsOfRegistry, AreChangedByThoseWhoHaveThemOpen) {
    const XrcTarget wanted{.domain = domain, .qpn = target, .state = XrcTargetState::init, .access = 7};
    EXPECT_EQ(registry.set(two, wanted).error().code, EINVAL);
    const auto set = registry.set(one, wanted).value();
    EXPECT_EQ(set.access, 7u);
    EXPECT_EQ(set.change, 1u);
    EXPECT_EQ(*registry.find(target), set);
    auto wrong = wanted;
    wrong.state = XrcTargetState::gone;
    EXPECT_EQ(registry.set(one, wrong).error().code, EINVAL);
    wrong = wanted;
    wrong.domain = XrcDomainId{99};
    EXPECT_EQ(registry.set(one, wrong).error().code, EINVAL);
    const auto failed = registry.fail(target, wire::NakCode::remote_access);
    ASSERT_TRUE(failed);
    EXPECT_EQ(failed->state, XrcTargetState::error);
    EXPECT_EQ(failed->failure, wire::NakCode::remote_access);
    EXPECT_EQ(failed->change, 2u);
}

TEST_F(XrcTargetsOfRegistry, AreBoundedForEachProgram) {
    for (std::size_t i = 1; i < XrcRegistry::max_targets; ++i) ASSERT_TRUE(registry.create(one, domain));
    EXPECT_EQ(registry.create(one, domain).error().code, ENOMEM);
    EXPECT_TRUE(registry.create(two, domain));
    EXPECT_EQ(registry.open(one, {domain, target}).error().code, ENOMEM);
    for (ino_t inode = 1; inode < XrcRegistry::max_domains; ++inode) {
        ASSERT_TRUE(registry.open_domain(one, {9, inode}, create));
    }
    EXPECT_EQ(registry.open_domain(one, {9, 9999}, create).error().code, ENOMEM);
}

}  // namespace
}  // namespace verbline::hub
