// SPDX-License-Identifier: BSD-3-Clause
#include "control/router/shard_links.h"

#include <optional>

#include <rte_mbuf.h>

#include <gtest/gtest.h>

#include "control/router/ethernet_port.h"
#include "datapath/link/ip_gid.h"
#include "datapath/wire/arp.h"
#include "tests/control/router/commands.h"
#include "tests/control/router/hosts.h"
#include "tests/support/fake_netdev.h"
#include "tests/support/packet.h"

namespace verbline::router {
namespace {

using test::our_ip, test::peer_ip, test::our_mac, test::peer_mac;

struct ShardLinksTest : testing::Test {
    static constexpr std::uint16_t count = 3;

    std::optional<Command> command(std::size_t shard) { return (*shards)[shard].commands().pop(); }
    Transmit packet_of(InterfaceId port) {
        return {.port = port, .packet = test::make_packet(test::pattern(60)).release(), .to = {}};
    }
    /// The shards that are told to send a packet; frees it.
    std::vector<std::size_t> senders() {
        std::vector<std::size_t> found;
        for (std::size_t i = 0; i < count; ++i) {
            while (const auto transmit = test::next<Transmit>((*shards)[i])) {
                rte_pktmbuf_free(transmit->packet);
                found.push_back(i);
            }
        }
        return found;
    }

    std::unique_ptr<control::Loop> loop = std::move(*control::Loop::create());
    std::unique_ptr<ShardLinks> shards = std::move(*ShardLinks::create(*loop, "links", count, [](const Event&) {}));
};

TEST_F(ShardLinksTest, SendsCommandsToEveryShardInOrder) {
    for (unsigned i = 0; i < 100; ++i) shards->send(SetAddress{InterfaceId{}, wire::Ipv4Address{i}});
    for (std::size_t shard = 0; shard < count; ++shard) {
        for (unsigned i = 0; i < 100; ++i) {
            const auto told = command(shard);
            ASSERT_TRUE(told);
            EXPECT_EQ(std::get<SetAddress>(*told).address, wire::Ipv4Address{i});
        }
        EXPECT_FALSE(command(shard));
    }
}

TEST_F(ShardLinksTest, LetsOneShardSendAPacket) {
    for (const auto port : {InterfaceId{0}, InterfaceId{1}, InterfaceId{2}, InterfaceId{3}}) {
        shards->send(packet_of(port));
        const auto first = senders();
        ASSERT_EQ(first.size(), 1u);
        shards->send(packet_of(port));
        EXPECT_EQ(senders(), first) << "packets of one port keep their order";
    }
}

TEST_F(ShardLinksTest, HoldsUpNoShardForAnotherThatIsBehind) {
    unsigned sent = 0;
    for (; (*shards)[1].waiting() == 0; ++sent) {
        shards->send(SetAddress{InterfaceId{}, wire::Ipv4Address{sent}});
        for (const std::size_t other : {0, 2}) {
            const auto told = command(other);
            ASSERT_TRUE(told);
            EXPECT_EQ(std::get<SetAddress>(*told).address, wire::Ipv4Address{sent});
        }
    }
    EXPECT_EQ((*shards)[0].waiting() + (*shards)[2].waiting(), 0u);
    EXPECT_EQ((*shards)[1].waiting(), 1u);
}

TEST_F(ShardLinksTest, SolicitsOnceForMissesOfSeveralShards) {
    test::FakeNetDevice device;
    EthernetPort port{*loop, *shards, {.name = "lan", .device = &device, .pool = test::packet_pool()}, our_mac};
    port.set_addresses({{link::gid_of(our_ip), 24}});
    port.set_carrier(true);
    senders();
    for (std::size_t i = 0; i < count; ++i) port.handle(Unresolved{port.id(), link::gid_of(peer_ip)});
    EXPECT_EQ(senders().size(), 1u);

    test::ByteVector reply(wire::EthernetArp::size);
    wire::EthernetArp{.operation = wire::ArpOperation::reply,
                      .sender_link = peer_mac,
                      .sender = peer_ip,
                      .target_link = our_mac,
                      .target = our_ip}
        .emit(std::span(reply).first<wire::EthernetArp::size>());
    port.handle(Punted{port.id(), wire::ether_type::arp, test::make_packet(reply).release()});
    for (std::size_t i = 0; i < count; ++i) {
        const auto neighbour = test::next<SetNeighbour>((*shards)[i]);
        ASSERT_TRUE(neighbour) << "shard " << i;
        EXPECT_EQ(neighbour->address, link::gid_of(peer_ip));
    }
}

TEST_F(ShardLinksTest, HearsEveryShard) {
    std::vector<wire::Gid> heard;
    const auto hears = std::move(*ShardLinks::create(
        *loop, "heard", count, [&](const Event& event) { heard.push_back(std::get<Unresolved>(event).address); }));
    for (unsigned i = 0; i < count; ++i) {
        (*hears)[i].events().push(Unresolved{InterfaceId{}, link::gid_of(wire::Ipv4Address{i})});
        (*hears)[i].wake().signal();
    }
    for (const Time limit = loop->now() + 5 * second; heard.size() < count && loop->now() < limit;) {
        loop->run_once(second);
    }
    EXPECT_EQ(heard.size(), count);
}

}  // namespace
}  // namespace verbline::router
