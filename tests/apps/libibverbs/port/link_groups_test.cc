// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/port/link_groups.h"

#include <memory>
#include <new>
#include <set>
#include <utility>

#include <gtest/gtest.h>

#include "datapath/link/ip_gid.h"
#include "tests/support/fake_netdev.h"
#include "tests/support/faults.h"

namespace verbline::verbs {
namespace {

using test::Outcome, test::WithoutFaults;

/// Lets in any group, once.
class GroupDevice : public test::FakeNetDevice {
public:
    std::error_code attach_multicast(const pmd::MulticastAddress& group) override {
        const WithoutFaults none;
        EXPECT_TRUE(joined.insert(group.mac).second);
        return {};
    }
    std::error_code detach_multicast(const pmd::MulticastAddress& group) override {
        const WithoutFaults none;
        joined.erase(group.mac);
        return {};
    }
    std::set<wire::MacAddress> joined;
};

struct LinkGroupsTest : ::testing::Test {
    LinkGroupsTest() {
        auto made = std::make_unique<GroupDevice>();
        device = made.get();
        link.device = std::move(made);
    }

    const wire::Gid group = link::gid_of(wire::ipv4(224, 1, 2, 3)), same_mac = link::gid_of(wire::ipv4(224, 129, 2, 3));
    OpenedLink link;
    GroupDevice* device = nullptr;
    std::mutex mutex;
};

TEST_F(LinkGroupsTest, GroupIsLeftWithItsLastUser) {
    LinkGroups groups(link, mutex);
    ASSERT_TRUE(groups.join(group, {}));
    ASSERT_TRUE(groups.join(same_mac, {}));
    groups.leave(group, {});
    EXPECT_EQ(device->joined.size(), 1u);
    groups.leave(same_mac, {});
    EXPECT_TRUE(device->joined.empty());
}

TEST_F(LinkGroupsTest, GroupThatCannotBeJoinedForLackOfMemoryIsNotKept) {
    test::expect_survives_faults("groups of a link", [this]() -> Outcome {
        LinkGroups groups(link, mutex);
        try {
            if (auto joined = groups.join(group, {}); !joined) return joined.error();
        } catch (const std::bad_alloc&) {
            const WithoutFaults none;
            EXPECT_TRUE(device->joined.empty());
            EXPECT_TRUE(groups.join(group, {})) << "there is memory again";
            EXPECT_EQ(device->joined.size(), 1u);
            groups.leave(group, {});
            EXPECT_TRUE(std::exchange(device->joined, {}).empty());
            throw;
        }
        groups.leave(group, {});
        return {};
    });
    EXPECT_TRUE(device->joined.empty());
}

TEST_F(LinkGroupsTest, FurtherUserWithoutMemoryLeavesTheFirstItsGroup) {
    test::expect_survives_faults("groups of a link: a further user", [this]() -> Outcome {
        LinkGroups groups(link, mutex);
        {
            const WithoutFaults none;
            EXPECT_TRUE(groups.join(group, {}));
        }
        const auto leave = [&] {
            const WithoutFaults none;
            EXPECT_EQ(device->joined.size(), 1u);
            groups.leave(group, {});
            EXPECT_TRUE(std::exchange(device->joined, {}).empty());
        };
        try {
            if (auto joined = groups.join(same_mac, {}); !joined) return joined.error();
            groups.leave(same_mac, {});
        } catch (const std::bad_alloc&) {
            leave();
            throw;
        }
        leave();
        return {};
    });
}

}  // namespace
}  // namespace verbline::verbs
