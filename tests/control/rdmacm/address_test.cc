// SPDX-License-Identifier: BSD-3-Clause
#include "tests/control/rdmacm/two_hosts.h"

namespace verbline::rdmacm {
namespace {

using namespace test;
using Kind = link::GidTable::Kind;

struct Address : testing::Test {
    Network network;
    Host& host = network.host(0);
    Service& service = *host.service;

    IdNumber create(PortSpace space = PortSpace::tcp) {
        return service.create_id(host.queue, 1, space, QueuePairType::rc);
    }
    int bind(IdNumber id, const SocketAddress& address) {
        const auto bound = service.bind(id, address, network.now);
        return bound ? 0 : bound.error().code;
    }
    int listen(IdNumber id) {
        const auto listening = service.listen(id, 0, network.now);
        return listening ? 0 : listening.error().code;
    }
};

TEST_F(Address, BoundToOneIsOnItsPort) {
    const auto id = create();
    ASSERT_EQ(bind(id, ipv4(10, 0, 0, 1)), 0);
    const auto route = service.route(id).value();
    EXPECT_EQ(route.port, &host.port());
    EXPECT_EQ(route.source_gid, gid4(10, 0, 0, 1));
    EXPECT_GE(route.source.port, 40'000) << "an ephemeral one";
    EXPECT_EQ(bind(id, ipv4(10, 0, 0, 1)), EINVAL) << "once";
}

TEST_F(Address, BoundToAnyIsOnNone) {
    const auto id = create();
    ASSERT_EQ(bind(id, any4(7174)), 0);
    EXPECT_EQ(service.route(id)->port, nullptr);
}

TEST_F(Address, OfAnotherHostIsNotAvailable) {
    EXPECT_EQ(bind(create(), ipv4(10, 0, 0, 2)), EADDRNOTAVAIL);
}

/// The kernel leaves such an id without a device; libfabric, which binds endpoints like that when it is told nothing,
/// finds none in programs whose addresses are no interface's then.
TEST_F(Address, OfLoopbackIsTheFirstPorts) {
    const auto id = create();
    ASSERT_EQ(bind(id, ipv4(127, 0, 0, 1)), 0);
    const auto route = service.route(id).value();
    EXPECT_EQ(route.port, &host.port());
    EXPECT_EQ(route.source.gid, gid4(10, 0, 0, 1)) << "what peers can be told";
    EXPECT_EQ(route.source_gid, gid4(10, 0, 0, 1));
    EXPECT_GE(route.source.port, 40'000);
    EXPECT_EQ(bind(create(), ipv4(127, 1, 2, 3, 7174)), 0) << "any of 127.0.0.0/8";
    EXPECT_EQ(bind(create(), ipv4(10, 0, 0, 1, 7174)), EADDRINUSE) << "it is the same address";
    const auto six = create();
    ASSERT_EQ(bind(six, ipv6(0, 1)), 0);
    EXPECT_EQ(service.route(six)->source.gid, ipv6(0xfd00'0000'0000'0000, 1).gid);
}

TEST_F(Address, OfLoopbackNeedsAPortThatIsUp) {
    host.port().change().active = false;
    EXPECT_EQ(bind(create(), ipv4(127, 0, 0, 1)), ENODEV);
    host.port().change().active = true;
    host.port().change().addresses.clear();
    EXPECT_EQ(bind(create(), ipv4(127, 0, 0, 1)), ENODEV) << "with an address of that family";
}

TEST_F(Address, TowardsLoopbackIsOurselves) {
    const auto id = create();
    ASSERT_TRUE(service.resolve_address(id, std::nullopt, ipv4(127, 0, 0, 1, 7174), second, network.now));
    EXPECT_EQ(host.expect(EventKind::address_resolved).status, 0);
    const auto route = service.route(id).value();
    EXPECT_EQ(route.source.gid, gid4(10, 0, 0, 1));
    EXPECT_EQ(route.destination.gid, gid4(10, 0, 0, 1));
    EXPECT_EQ(route.destination.port, 7174);
    const auto both = create();
    ASSERT_TRUE(service.resolve_address(both, ipv6(0, 1), ipv6(0, 1, 7174), second, network.now));
    EXPECT_EQ(host.expect(EventKind::address_resolved).status, 0);
    EXPECT_EQ(service.route(both)->destination.gid, ipv6(0xfd00'0000'0000'0000, 1).gid);
}

TEST_F(Address, OnePortNumberForOneId) {
    ASSERT_EQ(bind(create(), ipv4(10, 0, 0, 1, 7174)), 0);
    EXPECT_EQ(bind(create(), ipv4(10, 0, 0, 1, 7174)), EADDRINUSE);
    EXPECT_EQ(bind(create(), any4(7174)), EADDRNOTAVAIL) << "as Linux says of any address";
    EXPECT_EQ(bind(create(PortSpace::udp), ipv4(10, 0, 0, 1, 7174)), 0) << "another space";
    EXPECT_EQ(bind(create(), ipv6(0xfd00'0000'0000'0000, 1, 7174)), 0) << "another address";
}

TEST_F(Address, AnyOfIpv6IsAnyOfIpv4UnlessFamilyOnly) {
    ASSERT_EQ(bind(create(), any4(7174)), 0);
    EXPECT_EQ(bind(create(), any6(7174)), EADDRNOTAVAIL);
    const auto only = create();
    ASSERT_TRUE(service.set_option(only, Service::Option::address_family_only, 1));
    EXPECT_EQ(bind(only, any6(7174)), 0);
}

TEST_F(Address, ReuseNeedsTheOptionOnBothIds) {
    const auto first = create(), second_id = create(), third = create();
    for (const auto id : {first, second_id}) ASSERT_TRUE(service.set_option(id, Service::Option::reuse_address, 1));
    ASSERT_EQ(bind(first, any4(7174)), 0);
    EXPECT_EQ(bind(second_id, any4(7174)), 0);
    EXPECT_EQ(bind(third, any4(7174)), EADDRNOTAVAIL);
    EXPECT_EQ(listen(first), EADDRNOTAVAIL) << "who listens is alone";
    ASSERT_TRUE(service.destroy_id(second_id, network.now));
    EXPECT_EQ(listen(first), 0);
    EXPECT_EQ(service.set_option(first, Service::Option::reuse_address, 1).error().code, EINVAL);
}

TEST_F(Address, AnotherProcessMayHaveThePortNumber) {
    host.port().reserved.insert({{PortSpace::tcp, 7174}, {}});
    const auto id = create();
    EXPECT_EQ(bind(id, any4(7174)), EADDRINUSE);
    EXPECT_EQ(bind(id, any4(7175)), 0) << "the id is as before";
}

TEST_F(Address, AnotherProcessMayHaveAnotherAddressOfTheNumber) {
    const PortUse others{.address = gid4(10, 0, 0, 9), .listening = true};
    host.port().reserved.insert({{PortSpace::tcp, 7174}, others});
    const auto id = create();
    EXPECT_EQ(bind(create(), any4(7174)), EADDRINUSE);
    ASSERT_EQ(bind(id, ipv4(10, 0, 0, 1, 7174)), 0);
    EXPECT_EQ(listen(id), 0);
    host.port().reserved.insert({{PortSpace::tcp, 7175}, {.reuse = true}});
    const auto reuses = create();
    ASSERT_TRUE(service.set_option(reuses, Service::Option::reuse_address, 1));
    EXPECT_EQ(bind(reuses, any4(7175)), 0);
    EXPECT_EQ(listen(reuses), EADDRINUSE) << "who listens is alone, also among processes";
    ASSERT_TRUE(service.destroy_id(reuses, network.now));
    EXPECT_EQ(host.port().reserved.count({PortSpace::tcp, 7175}), 1u) << "the other's";
}

TEST_F(Address, PortsAreToldHowANumberIsUsed) {
    const auto use = [&] { return host.port().reserved.find({PortSpace::tcp, 7174})->second; };
    const auto id = create(), active = create();
    ASSERT_EQ(bind(id, any4(7174)), 0);
    EXPECT_EQ(use(), PortUse{});
    ASSERT_TRUE(service.set_option(id, Service::Option::reuse_address, 1));
    EXPECT_EQ(use(), PortUse{.reuse = true});
    ASSERT_TRUE(service.set_option(id, Service::Option::address_family_only, 0));
    EXPECT_EQ(use(), (PortUse{.only_its_family = false, .reuse = true}));
    ASSERT_EQ(listen(id), 0);
    EXPECT_EQ(use(), (PortUse{.only_its_family = false, .listening = true}));
    ASSERT_TRUE(service.destroy_id(id, network.now));

    ASSERT_EQ(bind(active, any4(7174)), 0);
    ASSERT_TRUE(service.resolve_address(active, std::nullopt, ipv4(10, 0, 0, 2, 7174), second, network.now));
    EXPECT_EQ(use(), PortUse{.address = gid4(10, 0, 0, 1)}) << "the address that it has got";
    EXPECT_EQ(bind(create(), ipv6(0xfd00'0000'0000'0000, 1, 7174)), 0) << "others may have another";
}

TEST_F(Address, TwoListenersOfOneNumberHaveTheirAddresses) {
    const auto four = create(), six = create();
    ASSERT_EQ(bind(four, ipv4(10, 0, 0, 1, 7174)), 0);
    ASSERT_EQ(bind(six, ipv6(0xfd00'0000'0000'0000, 1, 7174)), 0);
    EXPECT_EQ(listen(four), 0);
    EXPECT_EQ(listen(six), 0);
    Host& peer = network.host(1);
    for (const auto& to : {ipv4(10, 0, 0, 1, 7174), ipv6(0xfd00'0000'0000'0000, 1, 7174)}) {
        const auto id = peer.service->create_id(peer.queue, 1, PortSpace::tcp, QueuePairType::rc);
        ASSERT_TRUE(peer.service->resolve_address(id, std::nullopt, to, second, network.now));
        peer.expect(EventKind::address_resolved);
        ASSERT_TRUE(peer.service->resolve_route(id, second, network.now));
        peer.expect(EventKind::route_resolved);
        ASSERT_TRUE(peer.service->connect(id, {.qpn = wire::Qpn{5}}, network.now));
        network.settle();
        EXPECT_EQ(host.expect(EventKind::connect_request).listener, to.family == Family::ipv4 ? four : six);
    }
}

TEST_F(Address, PortNumbersAreGivenBack) {
    const auto id = create();
    ASSERT_EQ(bind(id, any4(7174)), 0);
    ASSERT_EQ(listen(id), 0);
    ASSERT_TRUE(service.destroy_id(id, network.now));
    EXPECT_TRUE(host.port().reserved.empty());
    EXPECT_EQ(bind(create(), any4(7174)), 0);
}

TEST_F(Address, AListenerNeedNotBeBound) {
    const auto id = create();
    ASSERT_EQ(listen(id), 0);
    EXPECT_GE(service.route(id)->source.port, 40'000);
}

TEST_F(Address, ResolvedFromTheNetworkItIsIn) {
    const auto id = create();
    ASSERT_TRUE(service.resolve_address(id, std::nullopt, ipv4(10, 0, 0, 2, 7174), second, network.now));
    host.expect(EventKind::address_resolved);
    const auto route = service.route(id).value();
    EXPECT_EQ(route.source.gid, gid4(10, 0, 0, 1));
    EXPECT_EQ(route.destination_gid, gid4(10, 0, 0, 2));
    EXPECT_TRUE(host.port().reserved.contains({PortSpace::tcp, route.source.port}));
}

TEST_F(Address, AnyAddressIsOneself) {
    const auto id = create();
    ASSERT_TRUE(service.resolve_address(id, std::nullopt, any4(7174), second, network.now));
    host.expect(EventKind::address_resolved);
    EXPECT_EQ(service.route(id)->destination, ipv4(10, 0, 0, 1, 7174));
}

TEST_F(Address, NoUsableRouteIsAnError) {
    auto& port = host.port();
    port.change().active = false;
    EXPECT_EQ(service.resolve_address(create(), std::nullopt, ipv4(10, 0, 0, 2), second, 0).error().code, ENETUNREACH);
}

TEST_F(Address, ResolutionMayBeRetriedAfterTimeout) {
    const auto id = create();
    host.port().answers = false;
    ASSERT_TRUE(service.resolve_address(id, std::nullopt, ipv4(10, 0, 0, 2, 7174), 2 * second, network.now));
    EXPECT_EQ(service.resolve_address(id, std::nullopt, ipv4(10, 0, 0, 2), second, 0).error().code, EINVAL) << "busy";
    network.pass(second);
    EXPECT_TRUE(host.quiet());
    network.pass(2 * second);
    EXPECT_EQ(host.expect(EventKind::address_error).status, -ETIMEDOUT);
    EXPECT_TRUE(host.port().waiting.empty()) << "cancelled";
    EXPECT_EQ(service.route(id)->port, nullptr);
    EXPECT_TRUE(service.route(id)->source.any());

    host.port().answers = true;
    ASSERT_TRUE(service.resolve_address(id, std::nullopt, ipv4(10, 0, 0, 2, 7174), second, network.now));
    host.expect(EventKind::address_resolved);
    EXPECT_EQ(service.resolve_address(id, std::nullopt, ipv4(10, 0, 0, 2), second, 0).error().code, EINVAL) << "done";
}

TEST_F(Address, UnansweredResolutionIsHostUnreachable) {
    ASSERT_TRUE(service.resolve_address(create(), std::nullopt, ipv4(10, 0, 0, 99), second, network.now));
    EXPECT_EQ(host.expect(EventKind::address_error).status, -EHOSTUNREACH);
}

TEST_F(Address, AnswersAfterTheIdIsDestroyedAreDropped) {
    const auto id = create();
    host.port().answers = false;
    ASSERT_TRUE(service.resolve_address(id, std::nullopt, ipv4(10, 0, 0, 2, 7174), second, network.now));
    const auto late = host.port().waiting.begin()->second;
    ASSERT_TRUE(service.destroy_id(id, network.now));
    EXPECT_TRUE(host.port().waiting.empty()) << "cancelled";
    late();
    EXPECT_TRUE(host.quiet());
}

TEST_F(Address, FamiliesMustBeTheSame) {
    EXPECT_EQ(service.resolve_address(create(), any6(), ipv4(10, 0, 0, 2), second, 0).error().code, EINVAL);
    const auto id = create();
    ASSERT_EQ(bind(id, any6()), 0);
    EXPECT_EQ(service.resolve_address(id, std::nullopt, ipv4(10, 0, 0, 2), second, 0).error().code, EINVAL);
}

TEST_F(Address, AfIbNamesItsSpaceByTheServiceId) {
    SocketAddress address{.family = Family::ib,
                          .service_id = 0x0106'0000,  // as libraries ask whether AF_IB is known
                          .service_mask = 0xffff'ffff'ffff'0000};
    const auto id = create(PortSpace::ib);
    ASSERT_EQ(bind(id, address), 0);
    const auto source = service.route(id)->source;
    EXPECT_EQ(source.service_id, 0x0106'0000u | source.port);
    EXPECT_EQ(source.service_mask, ~std::uint64_t{0});
    EXPECT_TRUE(host.port().reserved.contains({PortSpace::tcp, source.port}));
    EXPECT_EQ(bind(create(PortSpace::udp), address), EPROTONOSUPPORT);
}

TEST_F(Address, RouteOnRoceIsMadeHere) {
    const auto id = create();
    ASSERT_TRUE(service.set_option(id, Service::Option::type_of_service, 0x68));
    ASSERT_TRUE(service.resolve_address(id, std::nullopt, ipv4(10, 0, 0, 2, 7174), second, network.now));
    ASSERT_TRUE(service.resolve_route(id, second, network.now));
    const auto path = service.route(id)->paths.at(0);
    EXPECT_EQ(path.destination_gid, gid4(10, 0, 0, 2));
    EXPECT_EQ(path.source_gid, gid4(10, 0, 0, 1));
    EXPECT_EQ(path.hop_limit, 64);
    EXPECT_EQ(path.traffic_class, 0x68);
    EXPECT_EQ(path.lifetime, 18);
    EXPECT_EQ(path.mtu, wire::IbMtu::bytes_2048);
    EXPECT_NE(path.flow_label, 0u);
    EXPECT_EQ(path.pkey, wire::PKey{0xffff});
}

TEST_F(Address, PathsMayBeGiven) {
    const auto id = create();
    EXPECT_EQ(service.set_paths(id, {{}}, 0).error().code, EINVAL);
    ASSERT_TRUE(service.resolve_address(id, std::nullopt, ipv4(10, 0, 0, 2, 7174), second, network.now));
    host.expect(EventKind::address_resolved);
    EXPECT_EQ(service.set_paths(id, {}, 0).error().code, EINVAL);
    ASSERT_TRUE(service.set_paths(id, {{.hop_limit = 9}}, network.now));
    host.expect(EventKind::route_resolved);
    EXPECT_EQ(service.route(id)->paths.at(0).hop_limit, 9);
}

TEST(AddressOnInfiniband, RouteIsQueriedFromTheSa) {
    Network network(Kind::ib);
    Host& host = network.host(0);
    const auto id = host.service->create_id(host.queue, 1, PortSpace::tcp, QueuePairType::rc);
    ASSERT_TRUE(host.service->resolve_address(id, std::nullopt, ipv4(10, 0, 0, 2, 7174), second, network.now));
    host.expect(EventKind::address_resolved);
    EXPECT_EQ(host.service->route(id)->destination_gid, network.host(1).port().facts().port_gid);
    host.port().refusal = ENETUNREACH;
    ASSERT_TRUE(host.service->resolve_route(id, second, network.now));
    EXPECT_EQ(host.expect(EventKind::route_error).status, -ENETUNREACH);
    host.port().refusal = 0;
    host.port().answers = false;
    ASSERT_TRUE(host.service->resolve_route(id, second, network.now)) << "may be tried again";
    network.pass(2 * second);
    EXPECT_EQ(host.expect(EventKind::route_error).status, -ETIMEDOUT);
    host.port().answers = true;
    ASSERT_TRUE(host.service->resolve_route(id, second, network.now));
    host.expect(EventKind::route_resolved);
    EXPECT_EQ(host.service->route(id)->paths.at(0).destination_lid, wire::Lid{2});
}

TEST(AddressOnTwoPorts, LongestPrefixIsTheSource) {
    Network network;
    Host host;
    auto wide = facts_of(Kind::roce, 0), narrow = facts_of(Kind::roce, 0);
    wide.addresses = {{gid4(10, 1, 0, 1), 8}};
    narrow.addresses = {{gid4(192, 168, 0, 1), 24}, {gid4(10, 0, 0, 9), 24}};
    narrow.port_gid = ipv6(0xfe80'0000'0000'0000, 9).gid;
    host.ports.push_back(std::make_unique<FakePort>(network, 0, wide));
    host.ports.push_back(std::make_unique<FakePort>(network, 0, narrow));
    host.start(1);
    const auto source_for = [&](const SocketAddress& destination) {
        const auto id = host.service->create_id(host.queue, 1, PortSpace::tcp, QueuePairType::rc);
        EXPECT_TRUE(host.service->resolve_address(id, std::nullopt, destination, second, 0));
        return host.service->route(id)->port == &host.port(0) ? 0 : 1;
    };
    host.port(0).answers = host.port(1).answers = false;
    EXPECT_EQ(source_for(ipv4(10, 0, 0, 2)), 1);
    EXPECT_EQ(source_for(ipv4(10, 5, 0, 2)), 0);
    EXPECT_EQ(source_for(ipv4(8, 8, 8, 8)), 0) << "by the first port's router";
    EXPECT_EQ(source_for(ipv4(192, 168, 0, 1)), 1) << "itself";
}

TEST(AddressOnTwoPorts, TheScopeOfALinkLocalOneSelectsThePort) {
    constexpr std::uint64_t link_local = 0xfe80'0000'0000'0000;
    Network network;
    Host host;
    for (const unsigned ifindex : {7u, 8u}) {
        auto facts = facts_of(Kind::roce, 0);
        facts.addresses = {{ipv6(link_local, 1).gid, 64}, {ipv6(0xfd00'0000'0000'0000, ifindex).gid, 64}};
        facts.ifindex = ifindex;
        host.ports.push_back(std::make_unique<FakePort>(network, 0, facts));
    }
    host.start(1);
    host.port(0).answers = host.port(1).answers = false;
    const auto scoped = [](SocketAddress address, std::uint32_t scope) {
        address.scope_id = scope;
        return address;
    };
    const auto create = [&] { return host.service->create_id(host.queue, 1, PortSpace::tcp, QueuePairType::rc); };
    for (const std::uint32_t ifindex : {7u, 8u}) {
        const auto* const port = &host.port(ifindex - 7);
        const auto listener = create(), active = create();
        EXPECT_TRUE(host.service->bind(listener, scoped(ipv6(link_local, 1, 7174), ifindex), 0));
        EXPECT_EQ(host.service->route(listener)->port, port);
        ASSERT_TRUE(host.service->destroy_id(listener, 0));
        EXPECT_TRUE(
            host.service->resolve_address(active, std::nullopt, scoped(ipv6(link_local, 2), ifindex), second, 0));
        EXPECT_EQ(host.service->route(active)->port, port);
        EXPECT_EQ(host.service->route(active)->source.scope_id, ifindex);
        const auto global = create();
        EXPECT_TRUE(host.service->resolve_address(global, std::nullopt, scoped(ipv6(0xfd00'0000'0000'0000, ifindex), 9),
                                                  second, 0))
            << "of other addresses it does not count";
    }
    EXPECT_EQ(host.service->bind(create(), scoped(ipv6(link_local, 1), 9), 0).error().code, EADDRNOTAVAIL);
}

TEST(ServiceIds, StandForPorts) {
    static_assert(port_of(service_id(PortSpace::udp, 7174)) == std::pair{PortSpace::udp, std::uint16_t{7174}});
    static_assert(!port_of(wire::CmServiceId{0x1'0106'1c06}), "of another prefix");
    static_assert(!port_of(wire::CmServiceId{0x0107'1c06}), "of no space");
    static_assert(!port_of(wire::CmServiceId{7174}));
}

}  // namespace
}  // namespace verbline::rdmacm
