// SPDX-License-Identifier: BSD-3-Clause
#include "control/hub/xrc_registry.h"

#include <cerrno>

#include <gtest/gtest.h>

#include "control/hub/registry.h"
#include "datapath/link/member.h"

namespace verbline::hub {
namespace {

constexpr LaneId owner{1}, sharer{2}, stranger{3};
constexpr XrcRegistry::File file{8, 100}, other_file{8, 101};
constexpr OpenXrcDomain create{.create = true}, existing{}, alone{.create = true, .exclusive = true};

TEST(XrcRegistry, ADomainIsItsFiles) {
    XrcRegistry registry;
    EXPECT_EQ(registry.open_domain(owner, file, existing).error().code, EAGAIN);
    const auto domain = registry.open_domain(owner, file, alone);
    ASSERT_TRUE(domain);
    EXPECT_EQ(registry.open_domain(sharer, file, existing), domain);
    EXPECT_EQ(registry.open_domain(sharer, file, alone).error().code, EINVAL);
    EXPECT_NE(registry.open_domain(sharer, other_file, create), domain);
    EXPECT_EQ(registry.members(*domain), (std::set{owner, sharer}));
    EXPECT_TRUE(registry.close_domain(owner, *domain));
    EXPECT_EQ(registry.open_domain(stranger, file, existing), domain) << "sharer has it";
    EXPECT_EQ(registry.close_domain(owner, *domain).error().code, EINVAL) << "it was closed";
    registry.leave(sharer);
    registry.leave(stranger);
    EXPECT_EQ(registry.open_domain(owner, file, existing).error().code, EAGAIN) << "nobody";
}

struct XrcTargetsOfRegistry : ::testing::Test {
    void SetUp() override {
        domain = registry.open_domain(owner, file, create).value();
        registry.open_domain(sharer, file, existing).value();
        target = registry.create(owner, domain).value();
    }
    XrcRegistry registry;
    XrcDomainId domain{};
    wire::Qpn target{};
};

TEST_F(XrcTargetsOfRegistry, HaveNumbersOfTheNodesRange) {
    EXPECT_TRUE(link::is_shared_target(target));
    EXPECT_NE(registry.create(owner, domain), target);
    EXPECT_EQ(registry.create(stranger, domain).error().code, EINVAL) << "it has not opened the domain";
    EXPECT_EQ(registry.targets(domain).size(), 2u);
}

TEST_F(XrcTargetsOfRegistry, AreOpenedByNumberInTheirDomain) {
    EXPECT_TRUE(registry.open(sharer, {domain, target}));
    EXPECT_EQ(registry.open(stranger, {domain, target}).error().code, EINVAL);
    const auto elsewhere = registry.open_domain(sharer, other_file, create).value();
    EXPECT_EQ(registry.open(sharer, {elsewhere, target}).error().code, EINVAL);
    EXPECT_EQ(registry.open(sharer, {domain, wire::Qpn{link::own_queue_pairs}}).error().code, EINVAL);
}

TEST_F(XrcTargetsOfRegistry, LiveAsLongAsAnybodyHasAHandle) {
    registry.open(sharer, {domain, target}).value();
    registry.open(sharer, {domain, target}).value();
    EXPECT_EQ(registry.leave(owner).size(), 0u) << "whoever made it";
    EXPECT_EQ(registry.close(sharer, target).value().size(), 0u);
    const auto gone = registry.close(sharer, target).value();
    ASSERT_EQ(gone.size(), 1u);
    EXPECT_EQ(gone[0].qpn, target);
    EXPECT_EQ(gone[0].state, XrcTargetState::gone);
    EXPECT_EQ(registry.find(target), nullptr);
    EXPECT_EQ(registry.close(sharer, target).error().code, EINVAL);
}

TEST_F(XrcTargetsOfRegistry, EndWithTheDomainOfTheirOnlyOwner) {
    const auto gone = registry.close_domain(owner, domain).value();
    ASSERT_EQ(gone.size(), 1u);
    EXPECT_EQ(gone[0].qpn, target);
    EXPECT_EQ(registry.members(domain), std::set{sharer});
}

TEST_F(XrcTargetsOfRegistry, AreChangedByThoseWhoHaveThemOpen) {
    const XrcTarget wanted{.domain = domain, .qpn = target, .state = XrcTargetState::init, .access = 7};
    EXPECT_EQ(registry.set(sharer, wanted).error().code, EINVAL);
    const auto set = registry.set(owner, wanted).value();
    EXPECT_EQ(set.access, 7u);
    EXPECT_EQ(set.change, 1u);
    EXPECT_EQ(*registry.find(target), set);
    auto wrong = wanted;
    wrong.state = XrcTargetState::gone;
    EXPECT_EQ(registry.set(owner, wrong).error().code, EINVAL);
    wrong = wanted;
    wrong.domain = XrcDomainId{99};
    EXPECT_EQ(registry.set(owner, wrong).error().code, EINVAL);
    const auto failed = registry.fail(target, wire::NakCode::remote_access);
    ASSERT_TRUE(failed);
    EXPECT_EQ(failed->state, XrcTargetState::error);
    EXPECT_EQ(failed->failure, wire::NakCode::remote_access);
    EXPECT_EQ(failed->change, 2u);
}

TEST_F(XrcTargetsOfRegistry, AreBoundedForEachProgram) {
    for (std::size_t i = 1; i < XrcRegistry::max_targets; ++i) ASSERT_TRUE(registry.create(owner, domain));
    EXPECT_EQ(registry.create(owner, domain).error().code, ENOMEM);
    EXPECT_TRUE(registry.create(sharer, domain));
    EXPECT_EQ(registry.open(owner, {domain, target}).error().code, ENOMEM);
    for (ino_t inode = 1; inode < XrcRegistry::max_domains; ++inode) {
        ASSERT_TRUE(registry.open_domain(owner, {9, inode}, create));
    }
    EXPECT_EQ(registry.open_domain(owner, {9, 9999}, create).error().code, ENOMEM);
}

}  // namespace
}  // namespace verbline::hub
