// SPDX-License-Identifier: BSD-3-Clause
// An IPoIB port of a simulated fabric with a real OpenSM; its shard and its device are the test.
#include "control/router/ipoib_port.h"

#include <gtest/gtest.h>

#include "control/mad/open.h"
#include "datapath/link/ip_gid.h"
#include "datapath/link/soft_ib.h"
#include "datapath/wire/arp.h"
#include "datapath/wire/ethernet.h"
#include "tests/control/router/commands.h"
#include "tests/support/fabric.h"
#include "tests/support/fake_netdev.h"
#include "tests/support/packet.h"

namespace verbline::router {
namespace {

using test::FabricOptions;
using wire::ipv4, wire::IpoibArp;

constexpr auto own_address = ipv4(10, 2, 0, 1), peer_address = ipv4(10, 2, 0, 2);
constexpr wire::Lid broadcast_mlid{0xc000};

class IpoibPortTest : public testing::Test {
protected:
    void open(wire::PKey pkey = wire::PKey{0xffff}) {
        transport = std::move(*mad::open(fabric.spec("H2"), *loop));
        peer_transport = std::move(*mad::open(fabric.spec("H3"), *loop));
        agent.emplace(*transport, *loop);
        port.emplace(*loop, *shards, ControlPort::Setup{.name = "ib0", .device = &device, .pool = test::packet_pool()},
                     IpoibPort::Link{.pkey = pkey, .qpn = wire::Qpn{0x48}}, *agent);
        port->set_addresses({{link::gid_of(own_address), 24}});
    }
    bool run_until(const std::function<bool()>& done, Time limit = 10 * second) {
        for (const Time end = loop->now() + limit; !done() && loop->now() < end;) loop->run_once(5 * millisecond);
        return done();
    }
    template <class T>
    std::optional<T> await() {
        std::optional<T> command;
        run_until([&] { return command || (command = test::next<T>(*shard)); });
        return command;
    }
    wire::IpoibAddress us() const { return {.qpn = wire::Qpn{0x48}, .gid = transport->port().gid()}; }
    wire::IpoibAddress peer() const { return {.qpn = wire::Qpn{0x77}, .gid = peer_transport->port().gid()}; }
    void hear(const IpoibArp& arp) {
        test::ByteVector bytes(IpoibArp::size);
        arp.emit(std::span(bytes).first<IpoibArp::size>());
        port->handle(Punted{port->id(), wire::ether_type::arp, test::make_packet(bytes).release()});
    }

    test::Fabric fabric{test::star(3)};
    std::unique_ptr<control::Loop> loop = std::move(*control::Loop::create());
    std::unique_ptr<ShardLinks> shards = std::move(*ShardLinks::create(*loop, "test", 1, [](const Event&) {}));
    ShardLink* shard = &(*shards)[0];
    test::FakeNetDevice device;
    std::unique_ptr<mad::Transport> transport, peer_transport;
    std::optional<sa::Agent> agent;
    std::optional<IpoibPort> port;
};

/// An adapter's queue pair, which is another when the adapter comes back.
TEST_F(IpoibPortTest, HasTheQueuePairOfADeviceOfDatagrams) {
    device.end = pmd::DatagramEnd{.qpn = wire::Qpn{0x123}};
    open();
    ASSERT_TRUE(run_until([&] { return port->up(); }));
    port->set_carrier(true);
    EXPECT_EQ(port->identity().qpn, wire::Qpn{0x123});
    device.end->qpn = wire::Qpn{0x456};
    port->set_carrier(false);
    EXPECT_EQ(port->identity().qpn, wire::Qpn{0x123});
    port->set_carrier(true);
    EXPECT_EQ(port->identity().qpn, wire::Qpn{0x456});
}

TEST_F(IpoibPortTest, ComesUpInTheBroadcastGroup) {
    open();
    EXPECT_FALSE(port->up());
    EXPECT_FALSE(port->trouble().empty()) << "it says what it waits for";
    ASSERT_TRUE(run_until([&] { return port->up(); }));
    EXPECT_EQ(port->trouble(), "");
    const auto identity = test::next<SetIpoib>(*shard);
    ASSERT_TRUE(identity && identity->identity);
    EXPECT_EQ(device.identity.qkey, wire::QKey{0xb1b});
    EXPECT_EQ(identity->identity->port.lid, transport->port().lid);
    EXPECT_EQ(identity->identity->qkey, wire::QKey{0xb1b}) << "the group's";
    EXPECT_EQ(test::next<AttachGroup>(*shard)->group.mlid, broadcast_mlid);
    EXPECT_TRUE(test::next<SetBroadcast>(*shard));
    EXPECT_EQ(device.identity.mac, link::soft_ib::mac_of(transport->port().lid));
    ASSERT_FALSE(device.groups.empty()) << "those of IPv6 may have followed already";
    EXPECT_EQ(device.groups[0].mlid, broadcast_mlid);
}

TEST_F(IpoibPortTest, ReachesANeighbourByArpAndPath) {
    open();
    ASSERT_TRUE(run_until([&] { return port->up(); }));
    test::forget_commands(*shard);
    port->handle(Unresolved{port->id(), link::gid_of(peer_address)});
    const auto request = await<Transmit>();
    ASSERT_TRUE(request);
    rte_pktmbuf_free(request->packet);
    EXPECT_EQ(request->to.address.dlid, broadcast_mlid);
    EXPECT_TRUE(request->to.address.global) << "multicast carries a GRH";

    hear({.operation = wire::ArpOperation::reply,
          .sender_link = peer(),
          .sender = peer_address,
          .target_link = us(),
          .target = own_address});
    const auto neighbour = await<SetNeighbour>();
    ASSERT_TRUE(neighbour);
    EXPECT_EQ(neighbour->address, link::gid_of(peer_address));
    EXPECT_EQ(neighbour->to.address.dlid, peer_transport->port().lid) << "as the subnet administrator says";
    EXPECT_EQ(neighbour->to.qpn, wire::Qpn{0x77});
    EXPECT_EQ(neighbour->to.qkey, wire::QKey{0xb1b});
}

TEST_F(IpoibPortTest, AnswersUnicast) {
    open();
    ASSERT_TRUE(run_until([&] { return port->up(); }));
    test::forget_commands(*shard);
    hear({.operation = wire::ArpOperation::request,
          .sender_link = peer(),
          .sender = peer_address,
          .target = own_address});
    const auto reply = await<Transmit>();
    ASSERT_TRUE(reply);
    const test::Packet packet(reply->packet);
    EXPECT_EQ(reply->to.address.dlid, peer_transport->port().lid);
    const auto arp = IpoibArp::parse(test::bytes_of(packet));
    ASSERT_TRUE(arp);
    EXPECT_EQ(arp->sender_link, us());
}

TEST_F(IpoibPortTest, GoesOnWhileTheSubnetManagerIsAwayAndJoinsAgainAfterwards) {
    open();
    ASSERT_TRUE(run_until([&] { return port->up(); }));
    EXPECT_TRUE(agent->sm_answering()) << "not silent before it was asked";
    fabric.sm_kill();
    ASSERT_TRUE(run_until([&] { return !agent->sm_answering(); }));
    EXPECT_TRUE(port->up()) << "what is known stays in use";
    test::forget_commands(*shard);
    hear({.operation = wire::ArpOperation::request,
          .sender_link = peer(),
          .sender = peer_address,
          .target = own_address});
    fabric.sm_start();
    const auto joins = [&] {
        std::uint64_t count = 0;
        agent->counters([&](std::string_view name, std::uint64_t value, std::string_view) {
            if (name == "losses_found") count = value;
        });
        return count;
    };
    EXPECT_TRUE(run_until([&] { return joins() > 0 && agent->sm_answering(); }, 3 * second));
    EXPECT_TRUE(port->up());
}

TEST_F(IpoibPortTest, SaysThatAPKeyIsNotThePorts) {
    open(wire::PKey{0x8123});
    run_until([&] { return port->trouble().find("P_Key") != std::string::npos; }, 2 * second);
    EXPECT_NE(port->trouble().find("P_Key 0x8123 is not in the port's table"), std::string::npos) << port->trouble();
    EXPECT_FALSE(port->up());
}

/// Who is in partition 0x8001, as OpenSM reads it.
std::string blue(const std::string& members) {
    return FabricOptions{}.partitions + "Blue=0x0001, ipoib, defmember=full : " + members + ";\n";
}

TEST_F(IpoibPortTest, FollowsThePKeyTable) {
    fabric.assign(blue("ALL=full"));
    const auto probe = std::move(*mad::open(fabric.spec("H2"), *loop));
    ASSERT_TRUE(run_until([&] {
        probe->refresh();
        return std::ranges::count(probe->port().pkeys, wire::PKey{0x8001}) == 1;
    }));
    open(wire::PKey{0x8001});
    ASSERT_TRUE(run_until([&] { return port->up(); }));
    EXPECT_EQ(port->identity().pkey, wire::PKey{0x8001});

    fabric.assign(blue("ALL=limited"));
    ASSERT_TRUE(run_until([&] { return port->identity().pkey == wire::PKey{0x0001}; }))
        << "a limited member must not send as a full one";
    EXPECT_TRUE(port->up());
    EXPECT_EQ(port->identity().qkey, wire::QKey{0xb1b});

    test::forget_commands(*shard);
    fabric.assign(FabricOptions{}.partitions);
    ASSERT_TRUE(run_until([&] { return !port->up(); }));
    EXPECT_NE(port->trouble().find("P_Key 0x8001 is not in the port's table"), std::string::npos) << port->trouble();
    const auto down = test::next<SetIpoib>(*shard);
    ASSERT_TRUE(down);
    EXPECT_FALSE(down->identity);

    fabric.assign(blue("ALL=full"));
    ASSERT_TRUE(run_until([&] { return port->up(); }));
    EXPECT_EQ(port->trouble(), "");
    EXPECT_EQ(port->identity().pkey, wire::PKey{0x8001});
}

TEST_F(IpoibPortTest, SharesItsPortWithOtherPartitions) {
    fabric.assign(blue("ALL=full"));
    open();
    ASSERT_TRUE(
        run_until([&] { return port->up() && std::ranges::count(agent->port().pkeys, wire::PKey{0x8001}) == 1; }));
    test::FakeNetDevice child_device;
    std::optional<IpoibPort> child(
        std::in_place, *loop, *shards,
        ControlPort::Setup{
            .id = forward::InterfaceId{1}, .name = "ib0.8001", .device = &child_device, .pool = test::packet_pool()},
        IpoibPort::Link{.pkey = wire::PKey{0x8001}, .qpn = wire::Qpn{0x49}, .shows_agent = false}, *agent);
    ASSERT_TRUE(run_until([&] { return child->up(); }));
    EXPECT_EQ(child->identity().port, port->identity().port) << "LID and GID are the port's";
    EXPECT_NE(child_device.groups.at(0).mgid, device.groups.at(0).mgid);
    unsigned seen = 0;
    const auto count = [&](std::string_view name, std::uint64_t, std::string_view) { seen += name == "start_overs"; };
    port->counters(count);
    child->counters(count);
    EXPECT_EQ(seen, 1U) << "the agent's, once";

    fabric.assign(FabricOptions{}.partitions);
    EXPECT_TRUE(run_until([&] { return !child->up(); }));
    EXPECT_TRUE(port->up()) << "the others stay";
    child.reset();
    agent->transport().raise(mad::PortEvent::pkey_change);
    EXPECT_TRUE(port->up());
}

}  // namespace
}  // namespace verbline::router
