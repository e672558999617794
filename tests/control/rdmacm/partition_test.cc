// SPDX-License-Identifier: BSD-3-Clause
// Partitions of an InfiniBand port: addresses of AF_IB name one, IP addresses are in IPoIB's.
#include <cerrno>

#include "control/rdmacm/source.h"
#include "tests/control/rdmacm/two_hosts.h"

namespace verbline::rdmacm {
namespace {

using namespace test;
using transport::QueuePairState;

constexpr wire::PKey everywhere{0xffff}, blue{0x8001}, limited_blue{0x0001}, red{0x8002};

struct Partition : testing::Test {
    Network network{link::GidTable::Kind::ib};
    Host &client = network.host(0), &server = network.host(1);

    Partition() {
        client.port().change().pkeys = {everywhere, wire::PKey{}, blue};
        server.port().change().pkeys = {everywhere, blue};
    }
    static SocketAddress ib(const wire::Gid& gid, wire::PKey pkey, PortSpace space = PortSpace::ib) {
        return {.family = Family::ib,
                .gid = gid,
                .service_id = std::to_underlying(service_id(space, service_port)),
                .service_mask = ~std::uint64_t{0},
                .pkey = pkey};
    }
    IdNumber create(Host& host, PortSpace space = PortSpace::ib) {
        return host.service->create_id(host.queue, 11, space,
                                       space == PortSpace::udp ? QueuePairType::ud : QueuePairType::rc);
    }
    Result<void> resolve(IdNumber id, wire::PKey pkey) {
        return client.service->resolve_address(id, std::nullopt, ib(server.port().facts().port_gid, pkey), second,
                                               network.now);
    }
    static std::optional<std::uint16_t> index(Host& host, IdNumber id) {
        const auto attributes = host.service->init_queue_pair(id, QueuePairState::init);
        return attributes ? std::optional(attributes->pkey_index) : std::nullopt;
    }
};

TEST_F(Partition, IndexIsOfTheFullMembersPKeyIfThereAreTwo) {
    auto facts = client.port().facts();
    EXPECT_EQ(pkey_index_of(facts, limited_blue), 2);
    facts.pkeys = {everywhere, limited_blue, blue};
    EXPECT_EQ(pkey_index_of(facts, limited_blue), 2);
    EXPECT_EQ(pkey_index_of(facts, red), std::nullopt);
    EXPECT_EQ(pkey_index_of(facts, wire::PKey{0x8000}), std::nullopt) << "no partition";
    facts.pkeys = {everywhere, limited_blue};
    EXPECT_EQ(pkey_index_of(facts, blue), 1);
}

TEST_F(Partition, ConnectionsAreInTheOneThatIsNamed) {
    const auto listener = create(server);
    ASSERT_TRUE(server.service->bind(listener, ib(server.port().facts().port_gid, blue), network.now));
    ASSERT_TRUE(server.service->listen(listener, 0, network.now));
    const auto id = create(client);
    ASSERT_TRUE(resolve(id, blue));
    client.expect(EventKind::address_resolved);
    EXPECT_EQ(client.service->route(id)->source.pkey, blue) << "as in Linux, the destination's";
    ASSERT_TRUE(client.service->resolve_route(id, second, network.now));
    client.expect(EventKind::route_resolved);
    EXPECT_EQ(client.service->route(id)->paths.at(0).pkey, blue);
    ASSERT_TRUE(client.service->connect(id, {.qpn = wire::Qpn{0x111}}, network.now));
    network.settle();
    const auto child = server.expect(EventKind::connect_request).id;
    EXPECT_EQ(index(client, id), 2);
    EXPECT_EQ(index(server, child), 1);
    client.port().change().pkeys = {everywhere};
    EXPECT_EQ(client.service->init_queue_pair(id, QueuePairState::init).error().code, ENOENT) << "taken away";
}

TEST_F(Partition, WithoutThePKeyThereIsNoWay) {
    EXPECT_EQ(resolve(create(client), red).error().code, ENODEV);
    const auto id = create(client);
    EXPECT_EQ(client.service->bind(id, ib(client.port().facts().port_gid, red), network.now).error().code, ENODEV);
    EXPECT_TRUE(resolve(id, blue)) << "the id is as it was";
}

TEST_F(Partition, IpAddressesAreInIpoibs) {
    const auto id = create(client, PortSpace::tcp);
    ASSERT_TRUE(client.service->bind(id, ipv4(10, 0, 0, 1), network.now));
    EXPECT_EQ(index(client, id), 0);
    EXPECT_EQ(client.service->route(id)->pkey, everywhere);
}

TEST_F(Partition, GroupsAreOfTheIds) {
    client.port().change().pkeys = {everywhere, limited_blue};
    const auto id = create(client, PortSpace::udp);
    const auto own = client.port().facts().port_gid;
    ASSERT_TRUE(client.service->bind(id, ib(own, blue, PortSpace::udp), network.now));
    const auto group = ib(gid4(239, 1, 2, 3), blue, PortSpace::udp);
    ASSERT_TRUE(client.service->join(id, 33, group, false, network.now));
    EXPECT_EQ(client.port().requests.at(0).pkey, blue) << "groups have the full members' P_Key";
}

}  // namespace
}  // namespace verbline::rdmacm
