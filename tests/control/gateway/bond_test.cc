// SPDX-License-Identifier: BSD-3-Clause
#include "control/gateway/bond.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "pmd/ethdev/ethdev.h"
#include "pmd/ethdev/port.h"
#include "tests/support/eal.h"

namespace verbline::gateway {
namespace {

/// Two members, and a bond of them.
struct BondTest : ::testing::Test {
    // DPDK keeps the first, and its drivers some of the second, when a port is removed.
    void SetUp() override { RecordProperty("left_behind", "rte_eth_dev_data;allocations of rte_malloc"); }

    void make(const std::string& mode) {
        for (auto* const name : {"net_null0", "net_null1"}) {
            auto member = pmd::EthdevPort::plug(name);
            ASSERT_TRUE(member) << member.error().what;
            members.push_back(std::move(*member));
        }
        const auto arguments = "net_bonding0,mode=" + mode + ",slave=net_null0,slave=net_null1,primary=net_null1";
        auto made = pmd::EthDevice::create(arguments, test::packet_pool(), {});
        ASSERT_TRUE(made) << made.error().what;
        device = std::move(*made);
    }

    std::vector<pmd::EthdevPort> members;
    std::unique_ptr<pmd::EthDevice> device;
};

TEST_F(BondTest, NamesTheMemberThatIsUsed) {
    make("1");
    const auto bond = Bond::find(device->name());
    ASSERT_TRUE(bond);
    EXPECT_EQ(bond->active(), "net_null1");
}

TEST_F(BondTest, OthersThanActiveBackupUseAllMembers) {
    make("0");
    EXPECT_FALSE(Bond::find(device->name()));
}

TEST_F(BondTest, OtherDevicesAreNone) {
    EXPECT_FALSE(Bond::find("lan0"));
    const auto single = pmd::EthDevice::create("net_null0", test::packet_pool(), {});
    ASSERT_TRUE(single) << single.error().what;
    EXPECT_FALSE(Bond::find((*single)->name()));
}

}  // namespace
}  // namespace verbline::gateway
