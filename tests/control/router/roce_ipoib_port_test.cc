// SPDX-License-Identifier: BSD-3-Clause
// IPoIB ports over RoCE v2; their shards and devices are the test.
#include "control/router/roce_ipoib_port.h"

#include <gtest/gtest.h>

#include "datapath/link/gid_table.h"
#include "datapath/link/ip_gid.h"
#include "datapath/wire/arp.h"
#include "datapath/wire/ethernet.h"
#include "datapath/wire/ipoib.h"
#include "datapath/wire/text.h"
#include "tests/control/router/commands.h"
#include "tests/control/router/hosts.h"
#include "tests/support/counter.h"
#include "tests/support/fake_netdev.h"
#include "tests/support/packet.h"

namespace verbline::router {
namespace {

using test::our_ip, test::peer_ip, test::our_mac, test::peer_mac;
using wire::IpoibArp;

constexpr wire::Qpn our_qpn{0x48}, peer_qpn{0x77};
constexpr wire::PKey pkey{0x8001};

struct RoceIpoibPortTest : testing::Test {
    RoceIpoibPortTest() { port.set_addresses({{link::gid_of(our_ip), 24}}); }

    template <class T>
    std::optional<T> next() {
        return test::next<T>(*shard);
    }
    void hear_reply(const wire::Gid& gid) {
        test::ByteVector bytes(IpoibArp::size);
        IpoibArp{.operation = wire::ArpOperation::reply,
                 .sender_link = {.qpn = peer_qpn, .gid = gid},
                 .sender = peer_ip,
                 .target_link = {.qpn = our_qpn, .gid = link::link_local_gid(our_mac)},
                 .target = our_ip}
            .emit(std::span(bytes).first<IpoibArp::size>());
        port.handle(Punted{port.id(), wire::ether_type::arp, test::make_packet(bytes).release()});
    }
    /// The port is up and asks for its peer.
    void ask() {
        port.set_carrier(true);
        test::forget_commands(*shard);
        port.handle(Unresolved{port.id(), link::gid_of(peer_ip)});
    }

    std::unique_ptr<control::Loop> loop = std::move(*control::Loop::create());
    std::unique_ptr<ShardLinks> shards = std::move(*ShardLinks::create(*loop, "test", 1, [](const Event&) {}));
    ShardLink* shard = &(*shards)[0];
    test::FakeNetDevice device;
    RoceIpoibPort port{*loop,   *shards, {.name = "ib0", .device = &device, .pool = test::packet_pool()},
                       our_mac, our_qpn, pkey};
};

TEST_F(RoceIpoibPortTest, ComesUpWithTheLink) {
    EXPECT_FALSE(port.up());
    port.set_carrier(true);
    EXPECT_TRUE(port.up());
    const auto identity = next<SetIpoib>();
    ASSERT_TRUE(identity && identity->identity);
    EXPECT_EQ(identity->identity->port.gid, link::link_local_gid(our_mac));
    EXPECT_EQ(identity->identity->pkey, pkey);
    EXPECT_EQ(next<AttachGroup>()->group.mgid, wire::ipoib_broadcast_mgid(pkey));
    EXPECT_TRUE(next<SetBroadcast>());
    EXPECT_EQ(device.identity.mac, our_mac);
    ASSERT_EQ(device.groups.size(), 1u);
    EXPECT_EQ(to_string(device.groups[0].mac), "33:33:ff:ff:ff:ff");

    port.set_carrier(false);
    EXPECT_FALSE(port.up());
    const auto down = next<SetIpoib>();
    EXPECT_TRUE(down && !down->identity);
}

/// An adapter's queue pair and GID, which are others when it comes back.
TEST_F(RoceIpoibPortTest, HasTheAddressesOfADeviceOfDatagrams) {
    device.end = pmd::DatagramEnd{wire::Qpn{0x123}, link::link_local_gid(peer_mac)};
    port.set_carrier(true);
    auto identity = next<SetIpoib>();
    ASSERT_TRUE(identity && identity->identity);
    EXPECT_EQ(identity->identity->qpn, wire::Qpn{0x123});
    EXPECT_EQ(identity->identity->port.gid, link::link_local_gid(peer_mac));
    EXPECT_EQ(identity->identity->port.mac, peer_mac);
    EXPECT_EQ(device.identity.qkey, wire::QKey{0x0b1b});
    port.set_carrier(false);
    device.end->qpn = wire::Qpn{0x456};
    test::forget_commands(*shard);
    port.set_carrier(true);
    identity = next<SetIpoib>();
    ASSERT_TRUE(identity && identity->identity);
    EXPECT_EQ(identity->identity->qpn, wire::Qpn{0x456});
}

TEST_F(RoceIpoibPortTest, ReachesANeighbourByArpInTheBroadcastGroup) {
    ask();
    const auto request = next<Transmit>();
    ASSERT_TRUE(request);
    const test::Packet packet(request->packet);
    const auto arp = IpoibArp::parse(test::bytes_of(packet));
    ASSERT_TRUE(arp);
    EXPECT_EQ(arp->target, peer_ip);
    EXPECT_EQ(arp->sender_link, (wire::IpoibAddress{.qpn = our_qpn, .gid = link::link_local_gid(our_mac)}));
    EXPECT_EQ(request->to.address.dgid, wire::ipoib_broadcast_mgid(pkey));

    hear_reply(link::link_local_gid(peer_mac));
    const auto neighbour = next<SetNeighbour>();
    ASSERT_TRUE(neighbour);
    EXPECT_EQ(neighbour->address, link::gid_of(peer_ip));
    EXPECT_EQ(neighbour->to.qpn, peer_qpn);
    EXPECT_EQ(wire::Ethernet::parse(neighbour->to.header.view())->destination, peer_mac) << "from its GID";
}

TEST_F(RoceIpoibPortTest, AGidThatNamesNoMacIsUnreachable) {
    ask();
    hear_reply(wire::Gid::of(0xfd00'0000'0000'0000, wire::Guid{1}));
    EXPECT_FALSE(next<SetNeighbour>());
    EXPECT_EQ(test::counter(port, "neighbours_unreachable"), 1u);
}

// A host could otherwise have our packets to it multiplied by the switch.
TEST_F(RoceIpoibPortTest, AGidOfAMacThatIsNoHostsIsUnreachable) {
    for (const auto hostile : {wire::broadcast_mac, wire::MacAddress{{std::byte{3}}}, wire::MacAddress{}}) {
        ask();
        hear_reply(link::link_local_gid(hostile));
        EXPECT_FALSE(next<SetNeighbour>()) << to_string(hostile);
        port.set_carrier(false);
    }
    EXPECT_EQ(test::counter(port, "neighbours_unreachable"), 3u);
}

}  // namespace
}  // namespace verbline::router
