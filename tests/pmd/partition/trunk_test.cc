// SPDX-License-Identifier: BSD-3-Clause
// What partitions add to a trunk; what all trunks do is tested with VLANs (tests/pmd/vlan/trunk_test.cc).
#include "pmd/partition/trunk.h"

#include <array>
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/pmd/partition/frames.h"
#include "tests/support/counter.h"
#include "tests/support/fake_netdev.h"

namespace verbline::pmd::partition::over_partitions {
namespace {

using test::counter;
using testing::ElementsAre, testing::IsEmpty;

constexpr wire::PKey everybody{0xffff}, blue{0x8001}, limited_blue{0x0001}, red{0x8002}, none{0x8000};

class PartitionTrunk : public testing::Test {
protected:
    PartitionTrunk() {
        auto owned = std::make_unique<test::FakeNetDevice>();
        link = owned.get();
        const auto trunk = Trunk::create(std::move(owned), {});
        for (const auto pkey : {everybody, blue}) ports.push_back(trunk->port(Number{wire::partition(pkey)}));
    }
    /// The last bytes of the frames that a port receives in one burst.
    std::vector<unsigned> receive(std::size_t port) {
        std::array<rte_mbuf*, max_burst> burst;
        const auto n = ports[port]->rx_burst(0, burst);
        std::vector<unsigned> numbers;
        for (auto* each : Burst(burst).first(n)) {
            const test::Packet packet(each);
            numbers.push_back(std::to_integer<unsigned>(test::bytes_of(packet).back()));
        }
        return numbers;
    }

    test::FakeNetDevice* link = nullptr;
    std::vector<std::unique_ptr<NetDevice>> ports;
};

TEST_F(PartitionTrunk, GivesEachPortItsPartitionOfBothMemberships) {
    link->receive(fabric_frame(blue, 1));
    link->receive(fabric_frame(everybody, 2, true));
    link->receive(fabric_frame(limited_blue, 3, true));
    link->receive(fabric_frame(red, 4));
    link->receive(fabric_frame(none, 5));
    EXPECT_THAT(receive(0), ElementsAre(2));
    EXPECT_THAT(receive(1), ElementsAre(1, 3));
    EXPECT_EQ(counter(*ports[0], "rx_dropped_partition"), 2U) << "of no port, and of no partition";
}

TEST_F(PartitionTrunk, GivesTheFirstPortWhatIsNoInfinibandPacket) {
    auto frame = fabric_frame(blue, 7);
    frame[12] = std::byte{0x08}, frame[13] = std::byte{0x06};
    link->receive(frame);
    EXPECT_THAT(receive(1), IsEmpty());
    EXPECT_THAT(receive(0), ElementsAre(7));
}

TEST_F(PartitionTrunk, SendsFramesAsTheyAre) {
    for (auto& port : ports) {
        rte_mbuf* packet = test::make_packet(fabric_frame(blue, 9)).release();
        EXPECT_EQ(port->tx_burst(0, {&packet, 1}), 1);
    }
    ASSERT_EQ(link->sent.size(), 2U);
    for (const auto& sent : link->sent) EXPECT_EQ(test::bytes_of(sent), fabric_frame(blue, 9));
    rte_mbuf* packet = test::make_packet(fabric_frame(blue)).release();
    link->tx_room = 0;
    EXPECT_EQ(ports[1]->tx_burst(0, {&packet, 1}), 0);
    rte_pktmbuf_free(packet);
}

TEST_F(PartitionTrunk, NamesThePortsAsTheKernelDoes) {
    EXPECT_EQ(ports[1]->name(), "fake.8001");
}

}  // namespace
}  // namespace verbline::pmd::partition::over_partitions
