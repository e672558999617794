// SPDX-License-Identifier: BSD-3-Clause
// A mirror of routes beside the kernel whose they are.
#include <random>
#include <sstream>

#include "tests/control/host/netlink_namespace.h"

namespace verbline::host {
namespace {

class NetlinkRandomTest : public NetlinkTest, public testing::WithParamInterface<unsigned> {
protected:
    std::map<std::string, std::pair<std::string, std::string>> decisions(
        const std::vector<Ipv4Address>& destinations) const;
};

/// What the kernel would do with a packet to each destination: output interface and gateway, or nothing.
std::map<std::string, std::pair<std::string, std::string>> NetlinkRandomTest::decisions(
    const std::vector<Ipv4Address>& destinations) const {
    std::string commands;
    for (const auto destination : destinations) commands += fmt::format("route get {}\n", wire::to_string(destination));
    std::map<std::string, std::pair<std::string, std::string>> out;
    std::istringstream lines(batch(commands, "-j"));
    for (std::string line; std::getline(lines, line);) {
        if (line.empty() || line[0] != '[') continue;
        for (const auto& route : nlohmann::json::parse(line)) {
            if (!route.contains("dst")) continue;
            out[route["dst"]] = {route.value("type", "") == "local" ? "local" : route.value("dev", ""),
                                 route.value("gateway", "")};
        }
    }
    return out;
}

TEST_P(NetlinkRandomTest, TheMirrorDecidesAsTheKernelDoes) {
    std::mt19937 random(GetParam());
    inside->run("ip link set eth0 down");  // so that routes are over our interfaces only
    const auto restore = [&] {
        configure(*netlink, {.name = "lan", .addresses = {{ipv4(10, 1, 0, 1), 24}}});
        configure(*netlink, {.name = "ib0", .addresses = {{ipv4(10, 2, 0, 1), 24}}});
    };
    restore();
    Follower follower(inside->path(), lan, ib0);
    constexpr const char* verbs[] = {"add", "append", "prepend", "replace", "change", "del", "del"};
    constexpr const char* ways[] = {"via 10.1.0.2", "via 10.1.0.3", "via 10.2.0.2", "dev lan", "dev ib0"};
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
            EXPECT_EQ(gateway, ours.kind == NextHop::Kind::via ? wire::to_string(ours.gateway) : "") << text;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, NetlinkRandomTest, testing::Range(0u, 20u));

}  // namespace
}  // namespace verbline::host
