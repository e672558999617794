// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The kernel, in a network namespace made for each test. What `ip` says and what the kernel decides (`ip route get`)
/// is the yardstick; without the right to make a namespace the tests are skipped.

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
#include "control/host/netlink.h"
#include "control/host/netlink_monitor.h"
#include "control/host/route_mirror.h"
#include "datapath/link/interface_address.h"
#include "datapath/wire/text.h"
#include "pmd/base/file_descriptor.h"
#include "tests/support/namespace.h"

namespace verbline::host {

using forward::InterfaceId;
using forward::NextHop;
using wire::ipv4;
using wire::Ipv4Address;
using wire::Ipv4Prefix;

/// "10.1.0.1/24"
inline link::InterfaceAddress own(std::string_view text) {
    return *link::parse_interface_address(text);
}

/// An interface such as the gateway's, with a carrier for as long as the descriptor is open.
inline FileDescriptor make_tun(const std::string& name) {
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

    std::optional<test::Namespace> inside;
    std::map<std::string, FileDescriptor> tuns;
    std::optional<Netlink> netlink;
    int lan = 0, ib0 = 0;
};

/// A monitor and a mirror that follow the kernel.
class Follower {
public:
    Follower(const std::string& netns, int lan, int ib0) : monitor(*NetlinkMonitor::open(netns)) {
        play(mirror.attach(lan, InterfaceId{0}), fib);
        play(mirror.attach(ib0, InterfaceId{1}), fib);
        play(ipv6_mirror.attach(lan, InterfaceId{0}), ipv6_fib);
        play(ipv6_mirror.attach(ib0, InterfaceId{1}), ipv6_fib);
    }

    std::unique_ptr<NetlinkMonitor> monitor;
    Time now = 0;
    Ipv6Gateways ipv6_gateways;
    RouteMirror mirror{&ipv6_gateways};
    Ipv6RouteMirror ipv6_mirror;
    std::vector<KernelEvent> events;
    std::map<Ipv4Prefix, forward::NextHopGroup> fib;
    std::map<wire::Ipv6Prefix, forward::Ipv6NextHopGroup> ipv6_fib;

    /// Everything the kernel has said so far: its messages are queued by the time a command returns. Ends when the
    /// socket is empty, a dump under way included, whose next part is made while the last is read. Pauses between dumps
    /// take no time.
    void catch_up() {
        pollfd ready{.fd = monitor->fd(), .events = POLLIN};
        while (poll(&ready, 1, 0) == 1 || monitor->deadline()) {
            now = std::max(now, monitor->deadline().value_or(now));
            const auto received = monitor->receive(now);
            ASSERT_TRUE(received) << received.error().what;
            for (const auto& event : *received) {
                play(mirror.received(event), fib);
                play(ipv6_mirror.received(event), ipv6_fib);
            }
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

    std::optional<forward::NextHopGroup> lookup(Ipv4Address destination) const { return lookup(fib, destination); }
    std::optional<forward::Ipv6NextHopGroup> lookup(const wire::Ipv6Address& destination) const {
        return lookup(ipv6_fib, destination);
    }

private:
    template <class Prefix, class Group, class Address>
    static std::optional<Group> lookup(const std::map<Prefix, Group>& routes, const Address& destination) {
        std::optional<Group> best;
        int length = -1;
        for (const auto& [prefix, next_hops] : routes) {
            if (prefix.length > length && prefix.contains(destination)) best = next_hops, length = prefix.length;
        }
        return best;
    }
    template <class Actions, class Routes>
    static void play(const Actions& actions, Routes& routes) {
        const auto perform = [&](const auto& action) {
            if constexpr (requires { action.next_hops; }) {
                routes[action.prefix] = action.next_hops;
            } else {
                EXPECT_EQ(routes.erase(action.prefix), 1u);
            }
        };
        for (const auto& action : actions) std::visit(perform, action);
    }
};

}  // namespace verbline::host
