// SPDX-License-Identifier: BSD-3-Clause
// A mirror of routes beside the kernel whose they are.
#include <random>
#include <set>
#include <sstream>
#include <utility>

#include "tests/control/host/netlink_namespace.h"

namespace verbline::host {
namespace {

/// What a packet meets: output interface and gateway.
using Decision = std::pair<std::string, std::string>;

class NetlinkRandomTest : public NetlinkTest, public testing::WithParamInterface<unsigned> {
protected:
    template <class Address>
    std::map<std::string, Decision> decisions(const std::vector<Address>& destinations,
                                              const std::string& options = "-j") const;
    std::map<std::string, Decision> settled_decisions(Follower& follower,
                                                      const std::vector<wire::Ipv6Address>& destinations) const;
};

std::string text_of(const Follower& follower, Ipv4Address gateway) {
    const auto ipv6 = follower.ipv6_gateways.gateway_of(gateway);
    return ipv6 ? wire::to_string(*ipv6) : wire::to_string(gateway);
}
std::string text_of(const Follower&, const wire::Ipv6Address& gateway) {
    return wire::to_string(gateway);
}

/// What the mirror lets packets to a destination meet, one of these each; none: they are not sent.
template <class Address>
std::set<Decision> choices(const Follower& follower, const Address& destination) {
    std::set<Decision> out;
    const auto group = follower.lookup(destination);
    if (!group) return out;
    for (const auto& [hop, weight] : group->members()) {
        const auto* const device = hop.interface == InterfaceId{0} ? "lan" : "ib0";
        if (hop.kind == forward::NextHopKind::local) out.emplace("local", "");
        if (hop.kind == forward::NextHopKind::on_link) out.emplace(device, "");
        if (hop.kind == forward::NextHopKind::via) out.emplace(device, text_of(follower, hop.gateway));
    }
    return out;
}

/// What the kernel would do with a packet to each destination, or nothing.
template <class Address>
std::map<std::string, Decision> NetlinkRandomTest::decisions(const std::vector<Address>& destinations,
                                                             const std::string& options) const {
    std::string commands;
    for (const auto& destination : destinations)
        commands += fmt::format("route get {}\n", wire::to_string(destination));
    std::map<std::string, Decision> out;
    std::istringstream lines(batch(commands, options));
    for (std::string line; std::getline(lines, line);) {
        if (line.empty() || line[0] != '[') continue;
        for (const auto& route : nlohmann::json::parse(line)) {
            if (!route.contains("dst")) continue;
            const std::string ipv6_gateway = route.contains("via") ? route["via"]["host"] : "";
            out[route["dst"]] = {route.value("type", "") == "local" ? "local" : route.value("dev", ""),
                                 route.value("gateway", ipv6_gateway)};
        }
    }
    return out;
}

TEST_P(NetlinkRandomTest, TheMirrorDecidesAsTheKernelDoes) {
    std::mt19937 random(GetParam());
    inside->run("ip link set eth0 down");  // so that routes are over our interfaces only
    const auto restore = [&] {
        configure(*netlink, {.name = "lan", .addresses = {own("10.1.0.1/24")}});
        configure(*netlink, {.name = "ib0", .addresses = {own("10.2.0.1/24")}});
    };
    restore();
    Follower follower(inside->path(), lan, ib0);
    constexpr const char* verbs[] = {"add", "append", "prepend", "replace", "change", "del", "del"};
    constexpr const char* ways[] = {"via 10.1.0.2",
                                    "via 10.1.0.3",
                                    "via 10.2.0.2",
                                    "dev lan",
                                    "dev ib0",
                                    "via inet6 fe80::2 dev lan",
                                    "nexthop via 10.1.0.2 nexthop via 10.2.0.2 weight 3",
                                    "nexthop via 10.1.0.3 nexthop via 10.1.0.2 nexthop via inet6 fe80::2 dev lan",
                                    "nexthop dev ib0 nexthop dev lan"};
    constexpr const char* refusals[] = {"blackhole", "unreachable", "prohibit"};
    const auto any_of = [&](const auto& choices) { return choices[random() % std::size(choices)]; };

    for (int round = 0; round < 6; ++round) {
        std::string commands;
        for (int i = 0; i < 40; ++i) {
            const unsigned length = 16 + random() % 5 * 2;
            const Ipv4Prefix near{ipv4(10, 50, random() % 256, 0), static_cast<std::uint8_t>(length)};
            const auto prefix = wire::to_string(Ipv4Prefix{near.network(), near.length});
            const auto verb = any_of(verbs);
            if (random() % 10 == 0) {
                commands += fmt::format("route {} {} {} metric {}\n", verb, any_of(refusals), prefix, random() % 3);
            } else {
                commands += fmt::format("route {} {} metric {} {}\n", verb, prefix, random() % 3, any_of(ways));
            }
            if (random() % 40 == 0) commands += fmt::format("link set {} down\n", random() % 2 ? "lan" : "ib0");
            if (random() % 40 == 0) commands += fmt::format("address del 10.1.0.1/24 dev lan\n");
            if (random() % 40 == 0) commands += fmt::format("address replace 10.50.7.{}/32 dev ib0\n", random() % 9);
        }
        batch(commands);
        if (random() % 2 == 0) restore();
        follower.catch_up();

        std::vector<Ipv4Address> destinations;
        for (int i = 0; i < 64; ++i) destinations.push_back(ipv4(10, 50, i * 4, 1 + random() % 9));
        for (unsigned i = 0; i < 9; ++i) destinations.push_back(ipv4(10, 50, 7, i));
        for (unsigned i : {1, 2, 9})
            destinations.push_back(ipv4(10, 1, 0, i)), destinations.push_back(ipv4(10, 2, 0, i));
        const auto kernel = decisions(destinations);
        EXPECT_FALSE(kernel.empty());
        for (const auto destination : destinations) {
            const auto text = wire::to_string(destination);
            const auto ours = choices(follower, destination);
            const auto theirs = kernel.find(text);
            ASSERT_EQ(!ours.empty(), theirs != kernel.end()) << text << " in round " << round;
            if (ours.empty()) continue;
            EXPECT_TRUE(ours.contains(theirs->second))
                << text << " in round " << round << ": " << theirs->second.first << " " << theirs->second.second;
        }
    }
}

/// Decisions between which and `follower`'s state the kernel changed nothing: Linux gives an IPv6 address its local
/// route once duplicate address detection is over, in a thread of its own after the command has returned.
std::map<std::string, Decision> NetlinkRandomTest::settled_decisions(
    Follower& follower, const std::vector<wire::Ipv6Address>& destinations) const {
    for (;;) {
        follower.catch_up();
        follower.events.clear();
        auto kernel = decisions(destinations, "-6 -j");
        follower.catch_up();
        if (follower.events.empty()) return kernel;
    }
}

/// Of equal routes of which some have no gateway the kernel chooses in turn, so that none is added to others.
TEST_P(NetlinkRandomTest, TheMirrorDecidesOfIpv6AsTheKernelDoes) {
    std::mt19937 random(GetParam());
    inside->run("ip link set eth0 down");
    const auto restore = [&] {
        configure(*netlink, {.name = "lan", .addresses = {}}), configure(*netlink, {.name = "ib0", .addresses = {}});
        batch("address replace fd76:1::1/64 dev lan\naddress replace fd76:2::1/64 dev ib0\n", "-6");
    };
    restore();
    Follower follower(inside->path(), lan, ib0);
    constexpr const char* verbs[] = {"add", "replace", "replace", "del"};
    constexpr const char* ways[] = {"via fd76:1::2",
                                    "via fe80::3 dev lan",
                                    "via fd76:2::2",
                                    "dev lan",
                                    "dev ib0",
                                    "nexthop via fd76:1::2 weight 2 nexthop via fd76:2::2",
                                    "nexthop via fd76:1::2 nexthop via fe80::3 dev lan nexthop via fd76:2::2"};
    const auto any_of = [&](const auto& choices) { return choices[random() % std::size(choices)]; };
    const auto address = [&] {
        auto out = *wire::from_string<wire::Ipv6Address>("fd76:50::1");
        out.bytes[5] = static_cast<std::byte>(random() & 3), out.bytes[7] = static_cast<std::byte>(random() & 0x81);
        return out;
    };
    for (int round = 0; round < 4; ++round) {
        std::string commands;
        for (int i = 0; i < 30; ++i) {
            const wire::Ipv6Prefix near{address(), static_cast<std::uint8_t>(40 + random() % 4 * 8)};
            commands += fmt::format("route {} {} metric {} {}\n", any_of(verbs),
                                    wire::to_string(wire::Ipv6Prefix{near.network(), near.length}), 1 + random() % 3,
                                    any_of(ways));
            if (random() % 40 == 0) commands += fmt::format("link set {} down\n", random() % 2 ? "lan" : "ib0");
            if (random() % 40 == 0) commands += "address del fd76:1::1/64 dev lan\n";
        }
        batch(commands, "-6");
        restore();

        std::vector<wire::Ipv6Address> destinations;
        for (int i = 0; i < 40; ++i) destinations.push_back(address());
        for (const auto* text : {"fd76:1::1", "fd76:1::2", "fd76:2::9"}) {
            destinations.push_back(*wire::from_string<wire::Ipv6Address>(text));
        }
        const auto kernel = settled_decisions(follower, destinations);
        EXPECT_FALSE(kernel.empty());
        for (const auto& destination : destinations) {
            const auto text = wire::to_string(destination);
            const auto ours = choices(follower, destination);
            const auto theirs = kernel.find(text);
            ASSERT_EQ(!ours.empty(), theirs != kernel.end()) << text << " in round " << round;
            if (ours.empty()) continue;
            EXPECT_TRUE(ours.contains(theirs->second))
                << text << " in round " << round << ": " << theirs->second.first << " " << theirs->second.second;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, NetlinkRandomTest, testing::Range(0u, 20u));

}  // namespace
}  // namespace verbline::host
