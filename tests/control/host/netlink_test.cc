// SPDX-License-Identifier: BSD-3-Clause
// Against the kernel, in a network namespace made for each test. What `ip` says and what the kernel decides
// (`ip route get`) is the yardstick; without the right to make a namespace the tests are skipped.
#include "control/host/netlink.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <sstream>

#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "control/host/kernel_interface.h"
#include "control/host/netlink_monitor.h"
#include "control/host/route_mirror.h"
#include "datapath/wire/text.h"
#include "pmd/file_descriptor.h"
#include "tests/support/namespace.h"

namespace verbline::host {
namespace {

using forward::InterfaceId;
using forward::NextHop;
using wire::ipv4;
using wire::Ipv4Address;
using wire::Ipv4Prefix;

/// An interface such as the gateway's, with a carrier for as long as the descriptor is open.
FileDescriptor make_tun(const std::string& name) {
    FileDescriptor tun(open("/dev/net/tun", O_RDWR | O_CLOEXEC));
    ifreq request{};
    request.ifr_flags = IFF_TUN | IFF_NO_PI;
    name.copy(request.ifr_name, IFNAMSIZ - 1);
    return ioctl(tun.get(), TUNSETIFF, &request) == 0 ? std::move(tun) : FileDescriptor();
}

/// lan and ib0 as the gateway has them, and eth0, which is not ours.
class NetlinkTest : public testing::Test {
protected:
    void SetUp() override {
        SKIP_UNLESS_ROOT();
        inside.emplace();
        inside->enter([this] {
            for (const auto* name : {"lan", "ib0", "eth0"}) tuns[name] = make_tun(name);
        });
        ASSERT_TRUE(tuns["lan"] && tuns["ib0"] && tuns["eth0"]) << "needs /dev/net/tun";
        auto opened = Netlink::open(inside->path());
        ASSERT_TRUE(opened) << opened.error().what;
        netlink.emplace(std::move(*opened));
        lan = netlink->link("lan")->ifindex;
        ib0 = netlink->link("ib0")->ifindex;
    }

    /// What `ip` prints.
    std::string ip(const std::string& arguments) const {
        const auto command = "nsenter --net=" + inside->path() + " ip " + arguments;
        const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
        std::string text;
        std::array<char, 65536> chunk{};
        while (const auto n = fread(chunk.data(), 1, chunk.size(), pipe.get())) text.append(chunk.data(), n);
        return text;
    }
    /// Runs many `ip` commands in one process; those that fail are passed over.
    std::string batch(const std::string& commands, const std::string& options = "") const {
        std::array<char, 32> name{"/tmp/verbline-ip-XXXXXX"};
        const FileDescriptor file(mkstemp(name.data()));
        EXPECT_EQ(write(file.get(), commands.data(), commands.size()), static_cast<ssize_t>(commands.size()));
        auto text = ip(fmt::format("{} -force -batch {} 2>/dev/null", options, name.data()));
        unlink(name.data());
        return text;
    }
    std::map<std::string, std::pair<std::string, std::string>> decisions(const std::vector<Ipv4Address>& destinations);

    std::optional<test::Namespace> inside;
    std::map<std::string, FileDescriptor> tuns;
    std::optional<Netlink> netlink;
    int lan = 0, ib0 = 0;
};

/// A monitor and a mirror that follow the kernel.
class Follower {
public:
    Follower(const std::string& netns, int lan, int ib0) : monitor(*NetlinkMonitor::open(netns)) {
        play(mirror.attach(lan, InterfaceId{0}));
        play(mirror.attach(ib0, InterfaceId{1}));
    }

    std::unique_ptr<NetlinkMonitor> monitor;
    RouteMirror mirror;
    std::vector<KernelEvent> events;
    std::map<Ipv4Prefix, NextHop> fib;

    /// Everything the kernel has said so far: its messages are queued by the time a command returns. Ends when the
    /// socket is empty, a dump under way included, whose next part is made while the last is read.
    void catch_up() {
        pollfd ready{.fd = monitor->fd(), .events = POLLIN};
        while (poll(&ready, 1, 0) == 1) {
            const auto received = monitor->receive();
            ASSERT_TRUE(received) << received.error().what;
            for (const auto& event : *received) play(mirror.received(event));
            events.insert(events.end(), received->begin(), received->end());
        }
    }
    template <class Event>
    std::size_t count(const std::function<bool(const Event&)>& like) const {
        return std::ranges::count_if(events, [&](const KernelEvent& event) {
            const auto* same = std::get_if<Event>(&event);
            return same != nullptr && like(*same);
        });
    }
    template <class Event>
    std::size_t count() const {
        return count<Event>([](const Event&) { return true; });
    }

    std::optional<NextHop> lookup(Ipv4Address destination) const {
        std::optional<NextHop> best;
        int length = -1;
        for (const auto& [prefix, next_hop] : fib) {
            if (prefix.length > length && prefix.contains(destination)) best = next_hop, length = prefix.length;
        }
        return best;
    }

private:
    void play(const RouteMirror::Actions& actions) {
        for (const auto& action : actions) {
            if (const auto* set = std::get_if<RouteMirror::Set>(&action)) {
                fib[set->prefix] = set->next_hop;
            } else {
                EXPECT_EQ(fib.erase(std::get<RouteMirror::Unset>(action).prefix), 1u);
            }
        }
    }
};

TEST_F(NetlinkTest, ConfiguresAnInterface) {
    const KernelInterface wanted{
        .name = "lan", .mtu = 2044, .addresses = {{ipv4(10, 1, 0, 1), 24}, {ipv4(10, 1, 9, 1), 24}}};
    for (int i = 0; i < 2; ++i) {
        const auto done = configure(*netlink, wanted);
        ASSERT_TRUE(done) << done.error().what << ", time " << i;
        EXPECT_EQ(*done, lan);
    }
    const auto shown = nlohmann::json::parse(ip("-j -4 address show dev lan"));
    EXPECT_EQ(shown[0]["mtu"], 2044);
    ASSERT_EQ(shown[0]["addr_info"].size(), 2u);
    EXPECT_EQ(shown[0]["addr_info"][0]["local"], "10.1.0.1");
    EXPECT_EQ(shown[0]["addr_info"][0]["prefixlen"], 24);
    const auto link = netlink->link("lan");
    ASSERT_TRUE(link);
    EXPECT_TRUE(link->up);
    EXPECT_EQ(link->mtu, 2044u);
    ASSERT_TRUE(netlink->set_up(lan, false));
    EXPECT_FALSE(netlink->link("lan")->up);
}

TEST_F(NetlinkTest, SaysInOneLineWhatIsWrong) {
    const auto missing = configure(*netlink, {.name = "nowhere"});
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, ENODEV);
    EXPECT_EQ(missing.error().what, "no interface nowhere: No such device");

    const auto large = configure(*netlink, {.name = "lan", .mtu = 1 << 20});
    ASSERT_FALSE(large);
    EXPECT_EQ(large.error().what, "interface lan: cannot set the MTU to 1048576: mtu greater than device maximum");

    const auto lost = add_static_route(*netlink, {.to = {ipv4(10, 5, 0, 0), 16}, .via = ipv4(10, 99, 0, 1)});
    ASSERT_FALSE(lost);
    EXPECT_EQ(lost.error().what,
              "cannot add the route to 10.5.0.0/16 via 10.99.0.1: Nexthop has invalid gateway "
              "(the gateway must be a neighbour on an interface that is up)");
}

TEST_F(NetlinkTest, AddsAndRemovesAddressesAndRoutes) {
    ASSERT_TRUE(configure(*netlink, {.name = "lan", .addresses = {{ipv4(10, 1, 0, 1), 24}}}));
    const StaticRoute route{.to = {ipv4(10, 5, 0, 0), 16}, .via = ipv4(10, 1, 0, 2), .metric = 7};
    ASSERT_TRUE(add_static_route(*netlink, route));
    ASSERT_TRUE(add_static_route(*netlink, route)) << "again";
    const auto shown = nlohmann::json::parse(ip("-j route show 10.5.0.0/16"));
    ASSERT_EQ(shown.size(), 1u);
    EXPECT_EQ(shown[0]["gateway"], "10.1.0.2");
    EXPECT_EQ(shown[0]["dev"], "lan");
    EXPECT_EQ(shown[0]["metric"], 7);
    EXPECT_EQ(shown[0]["protocol"], "static");

    const Route gone{.prefix = route.to, .metric = 7, .hops = {{.ifindex = lan, .gateway = route.via}}};
    ASSERT_TRUE(netlink->delete_route(gone));
    EXPECT_EQ(netlink->delete_route(gone).error().code, ESRCH);
    ASSERT_TRUE(netlink->delete_address(lan, {ipv4(10, 1, 0, 1), 24}));
    EXPECT_EQ(netlink->delete_address(lan, {ipv4(10, 1, 0, 1), 24}).error().code, EADDRNOTAVAIL);
}

TEST_F(NetlinkTest, ListsWhatThereIs) {
    ASSERT_TRUE(configure(*netlink, {.name = "lan", .addresses = {{ipv4(10, 1, 0, 1), 24}}}));
    const auto events = netlink->list();
    ASSERT_TRUE(events);
    const auto has = [&](const auto& like) { return std::ranges::any_of(*events, like); };
    EXPECT_TRUE(has([&](const KernelEvent& event) {
        const auto* link = std::get_if<LinkChanged>(&event);
        return link && link->link.name == "lan" && link->link.ifindex == lan && link->link.up;
    }));
    EXPECT_TRUE(has([&](const KernelEvent& event) {
        const auto* added = std::get_if<AddressAdded>(&event);
        return added && added->ifindex == lan && added->address == Ipv4Prefix{ipv4(10, 1, 0, 1), 24};
    }));
    EXPECT_TRUE(has([&](const KernelEvent& event) {
        const auto* added = std::get_if<RouteAdded>(&event);
        return added && added->route.prefix == Ipv4Prefix{ipv4(10, 1, 0, 255), 32} &&
               added->route.type == RTN_BROADCAST;
    }));
}

TEST_F(NetlinkTest, WorksInTheNamespaceItWasOpenedIn) {
    EXPECT_TRUE(netlink->link("lan")) << "which is not this thread's";
    auto here = Netlink::open("");
    ASSERT_TRUE(here);
    EXPECT_NE(here->link("lan").value_or(Link{}).ifindex, lan);
    EXPECT_FALSE(Netlink::open("no-such-namespace"));
    EXPECT_FALSE(NetlinkMonitor::open("no-such-namespace"));
}

TEST_F(NetlinkTest, TellsChangesAsEvents) {
    Follower follower(inside->path(), lan, ib0);
    follower.catch_up();
    ASSERT_EQ(follower.count<Synced>(), 1u);
    EXPECT_EQ(follower.count<Resync>(), 0u) << "once is enough";
    follower.events.clear();

    ASSERT_TRUE(configure(*netlink, {.name = "lan", .mtu = 1400, .addresses = {{ipv4(10, 1, 0, 1), 24}}}));
    follower.catch_up();
    EXPECT_EQ(follower.count<AddressAdded>(), 1u);
    EXPECT_GE(follower.count<LinkChanged>([&](const LinkChanged& e) { return e.link.up && e.link.mtu == 1400; }), 1u);
    EXPECT_EQ(follower.lookup(ipv4(10, 1, 0, 1))->kind, NextHop::Kind::local);
    EXPECT_EQ(follower.lookup(ipv4(10, 1, 0, 9)), (NextHop{NextHop::Kind::on_link, InterfaceId{0}}));

    inside->run("ip route add 10.5.0.0/16 via 10.1.0.2 metric 5");
    follower.catch_up();
    EXPECT_EQ(follower.count<RouteAdded>([](const RouteAdded& e) {
        return e.route.prefix == Ipv4Prefix{ipv4(10, 5, 0, 0), 16} && e.route.metric == 5 &&
               e.route.hops.at(0).gateway == ipv4(10, 1, 0, 2);
    }),
              1u);
    EXPECT_EQ(follower.count<Resync>(), 0u);

    tuns.erase("lan");  // and with its descriptor the interface
    follower.catch_up();
    EXPECT_EQ(follower.count<LinkRemoved>([&](const LinkRemoved& e) { return e.ifindex == lan; }), 1u);
    EXPECT_FALSE(follower.lookup(ipv4(10, 1, 0, 9)));
    EXPECT_FALSE(follower.lookup(ipv4(10, 1, 0, 1)));
    EXPECT_FALSE(follower.lookup(ipv4(10, 5, 0, 1)));
}

TEST_F(NetlinkTest, NoticesRoutesThatVanishWithoutAWord) {
    ASSERT_TRUE(configure(*netlink, {.name = "lan", .addresses = {{ipv4(10, 1, 0, 1), 24}, {ipv4(10, 9, 0, 1), 32}}}));
    Follower follower(inside->path(), lan, ib0);
    inside->run("ip route add 10.5.0.0/16 via 10.1.0.2");
    inside->run("ip route add 10.6.0.0/16 via 10.1.0.2 src 10.9.0.1");
    inside->run("ip nexthop add id 7 via 10.1.0.3 dev lan");
    inside->run("ip route add 10.7.0.0/16 nhid 7");
    follower.catch_up();
    EXPECT_TRUE(follower.lookup(ipv4(10, 5, 0, 1)) && follower.lookup(ipv4(10, 6, 0, 1)));
    EXPECT_EQ(follower.lookup(ipv4(10, 7, 0, 1)), (NextHop{NextHop::Kind::via, InterfaceId{0}, ipv4(10, 1, 0, 3)}));

    inside->run("ip nexthop replace id 7 via 10.1.0.4 dev lan");
    follower.catch_up();
    EXPECT_EQ(follower.lookup(ipv4(10, 7, 0, 1)), (NextHop{NextHop::Kind::via, InterfaceId{0}, ipv4(10, 1, 0, 4)}));
    inside->run("ip nexthop del id 7");
    follower.catch_up();
    EXPECT_FALSE(follower.lookup(ipv4(10, 7, 0, 1)));

    inside->run("ip address del 10.9.0.1/32 dev lan");
    follower.catch_up();
    EXPECT_FALSE(follower.lookup(ipv4(10, 6, 0, 1)));
    inside->run("ip link set lan down");
    inside->run("ip link set lan up");
    follower.catch_up();
    EXPECT_FALSE(follower.lookup(ipv4(10, 5, 0, 1))) << "a static route does not come back by itself";
    EXPECT_TRUE(follower.lookup(ipv4(10, 1, 0, 9))) << "the subnet's does";
}

TEST_F(NetlinkTest, TellsADumpFromOthersChangesOfTheSameSequenceNumber) {
    ASSERT_TRUE(configure(*netlink, {.name = "lan", .addresses = {{ipv4(10, 1, 0, 1), 24}}}));
    Follower follower(inside->path(), lan, ib0);
    auto another = Netlink::open(inside->path());  // libnl begins to count at the time in seconds: as the monitor did
    const Ipv4Prefix to{ipv4(10, 5, 0, 0), 16};
    ASSERT_TRUE(add_static_route(*netlink, {.to = to, .via = ipv4(10, 1, 0, 2)}));
    ASSERT_TRUE(add_static_route(*another, {.to = to, .via = ipv4(10, 1, 0, 3)}));
    follower.catch_up();
    EXPECT_EQ(follower.lookup(to.address), (NextHop{NextHop::Kind::via, InterfaceId{0}, ipv4(10, 1, 0, 3)}));
}

TEST_F(NetlinkTest, ConcludesNothingFromAPictureThatIsStale) {
    ASSERT_TRUE(configure(*netlink, {.name = "lan", .addresses = {{ipv4(10, 1, 0, 1), 24}}}));
    Follower follower(inside->path(), lan, ib0);
    ASSERT_TRUE(add_static_route(*netlink, {.to = {ipv4(10, 5, 0, 0), 16}, .via = ipv4(10, 1, 0, 2)}));
    ASSERT_TRUE(netlink->set_up(lan, false) && netlink->set_up(lan, true));
    follower.catch_up();
    EXPECT_FALSE(follower.lookup(ipv4(10, 5, 0, 1))) << "heard of before it vanished";
    EXPECT_EQ(follower.count<Resync>(), 1u);
    EXPECT_EQ(follower.count<Synced>(), 1u);
}

TEST_F(NetlinkTest, HearsEverythingAgainHoweverManyMessagesWait) {
    ASSERT_TRUE(configure(*netlink, {.name = "lan", .addresses = {{ipv4(10, 1, 0, 1), 24}}}));
    Follower follower(inside->path(), lan, ib0);
    for (unsigned waiting = 60; waiting < 68; ++waiting) {  // about as many as one call reads
        inside->run("ip nexthop add id 7 via 10.1.0.3 dev lan");
        inside->run("ip route add 10.7.0.0/16 nhid 7");
        follower.catch_up();
        EXPECT_TRUE(follower.lookup(ipv4(10, 7, 0, 1)));
        std::string commands;
        for (unsigned i = 0; i < waiting; ++i) commands += fmt::format("route replace 20.{}.0.0/16 via 10.1.0.2\n", i);
        batch(commands + "nexthop del id 7\n");
        follower.catch_up();
        EXPECT_FALSE(follower.lookup(ipv4(10, 7, 0, 1))) << waiting;
        batch("route flush root 20.0.0.0/8");
        follower.catch_up();
    }
}

TEST_F(NetlinkTest, HearsEverythingAgainWhenMessagesWereLost) {
    ASSERT_TRUE(configure(*netlink, {.name = "lan", .addresses = {{ipv4(10, 1, 0, 1), 24}}}));
    Follower follower(inside->path(), lan, ib0);
    follower.catch_up();
    constexpr unsigned routes = 20'000;  // more than the socket holds messages
    std::string commands;
    for (unsigned i = 0; i < routes; ++i)
        commands += fmt::format("route add 20.{}.{}.0/24 via 10.1.0.2\n", i / 256, i % 256);
    batch(commands);
    follower.catch_up();
    EXPECT_GE(follower.monitor->counters().netlink_rx_overruns.value(), 1u);
    EXPECT_GE(follower.count<Resync>(), 1u);
    EXPECT_TRUE(std::holds_alternative<Synced>(follower.events.back()));
    EXPECT_EQ(std::ranges::count_if(follower.fib, [](const auto& entry) { return entry.first.length == 24; }),
              routes + 1);
}

/// What the kernel would do with a packet to each destination: output interface and gateway, or nothing.
std::map<std::string, std::pair<std::string, std::string>> NetlinkTest::decisions(
    const std::vector<Ipv4Address>& destinations) {
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

class NetlinkRandomTest : public NetlinkTest, public testing::WithParamInterface<unsigned> {};

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
