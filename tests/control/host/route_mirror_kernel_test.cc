// SPDX-License-Identifier: BSD-3-Clause
// A mirror of routes beside the kernel whose they are.
#include <random>
#include <sstream>

#include "tests/control/host/netlink_namespace.h"

namespace verbline::host {
namespace {

class NetlinkRandomTest : public NetlinkTest, public testing::WithParamInterface<unsigned> {
protected:
    template <class Address>
    std::map<std::string, std::pair<std::string, std::string>> decisions(const std::vector<Address>& destinations,
                                                                         const std::string& options = "-j") const;
    std::map<std::string, std::pair<std::string, std::string>> settled_decisions(
        Follower& follower, const std::vector<wire::Ipv6Address>& destinations) const;
};

/// What the kernel would do with a packet to each destination: output interface and gateway, or nothing.
template <class Address>
std::map<std::string, std::pair<std::string, std::string>> NetlinkRandomTest::decisions(
    const std::vector<Address>& destinations, const std::string& options) const {
    std::string commands;
    for (const auto& destination : destinations)
        commands += fmt::format("route get {}\n", wire::to_string(destination));
    std::map<std::string, std::pair<std::string, std::string>> out;
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
    constexpr const char* ways[] = {"via 10.1.0.2", "via 10.1.0.3", "via 10.2.0.2",
                                    "dev lan",      "dev ib0",      "via inet6 fe80::2 dev lan"};
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
                commands += fmt::format("route {} {} {} metric {}\n", verb, prefix, any_of(ways), random() % 3);
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
            const auto ours = follower.lookup(destination).value_or(NextHop{});
            const auto theirs = kernel.find(text);
            const bool sends = ours.kind != NextHop::Kind::unreachable && ours.kind != NextHop::Kind::blackhole;
            ASSERT_EQ(sends, theirs != kernel.end()) << text << " in round " << round;
            if (!sends) continue;
            const auto& [device, gateway] = theirs->second;
            if (ours.kind == NextHop::Kind::local) {
                EXPECT_EQ(device, "local") << text;
                continue;
            }
            EXPECT_EQ(device, ours.interface == InterfaceId{0} ? "lan" : "ib0") << text << " in round " << round;
            const auto ipv6 = follower.ipv6_gateways.gateway_of(ours.gateway);
            const auto via = ipv6 ? wire::to_string(*ipv6) : wire::to_string(ours.gateway);
            EXPECT_EQ(gateway, ours.kind == NextHop::Kind::via ? via : "") << text;
        }
    }
}

/// Decisions between which and `follower`'s state the kernel changed nothing: Linux gives an IPv6 address its local
/// route once duplicate address detection is over, in a thread of its own after the command has returned.
std::map<std::string, std::pair<std::string, std::string>> NetlinkRandomTest::settled_decisions(
    Follower& follower, const std::vector<wire::Ipv6Address>& destinations) const {
    for (;;) {
        follower.catch_up();
        follower.events.clear();
        auto kernel = decisions(destinations, "-6 -j");
        follower.catch_up();
        if (follower.events.empty()) return kernel;
    }
}

/// Of equal routes the kernel chooses by flow, so that here each has a metric of its own.
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
    constexpr const char* ways[] = {"via fd76:1::2", "via fe80::3 dev lan", "via fd76:2::2", "dev lan", "dev ib0"};
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
            commands += fmt::format("route {} {} {} metric {}\n", any_of(verbs),
                                    wire::to_string(wire::Ipv6Prefix{near.network(), near.length}), any_of(ways),
                                    1 + random() % 3);
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
            const auto ours = follower.lookup(destination).value_or(forward::Ipv6NextHop{});
            const auto theirs = kernel.find(text);
            ASSERT_EQ(ours.kind != NextHop::Kind::unreachable, theirs != kernel.end()) << text << " in round " << round;
            if (theirs == kernel.end()) continue;
            const auto& [device, gateway] = theirs->second;
            if (ours.kind == NextHop::Kind::local) {
                EXPECT_EQ(device, "local") << text;
                continue;
            }
            EXPECT_EQ(device, ours.interface == InterfaceId{0} ? "lan" : "ib0") << text << " in round " << round;
            EXPECT_EQ(gateway, ours.kind == NextHop::Kind::via ? wire::to_string(ours.gateway) : "") << text;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, NetlinkRandomTest, testing::Range(0u, 20u));

}  // namespace
}  // namespace verbline::host
