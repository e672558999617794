// SPDX-License-Identifier: BSD-3-Clause
// The relay's sockets on an interface of the kernel's, with a client and a server at the other end of its link.
#include "control/dhcp_relay/relay_service.h"

#include <array>
#include <cstring>
#include <functional>
#include <optional>
#include <string>

#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "datapath/wire/append.h"
#include "datapath/wire/text.h"
#include "pmd/tun/netns.h"
#include "tests/control/dhcp_relay/relay_ports.h"
#include "tests/support/namespace.h"

namespace verbline::dhcp {
namespace {

using testing::HasSubstr;
using wire::Dhcp;
using wire::DhcpOp;

/// A UDP socket of the host at the other end.
class Host {
public:
    struct Packet {
        std::string from;  ///< address and port
        std::vector<std::byte> bytes;
    };

    Host(const std::string& netns, const std::string& address, std::uint16_t port, const std::string& interface = {}) {
        const auto inside = *pmd::NetnsGuard::enter(netns);
        const bool ipv6 = address.find(':') != std::string::npos;
        fd_ = FileDescriptor(socket(ipv6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        constexpr int on = 1;
        EXPECT_EQ(setsockopt(fd_.get(), SOL_SOCKET, SO_BROADCAST, &on, sizeof(on)), 0);
        if (!interface.empty()) {
            EXPECT_EQ(setsockopt(fd_.get(), SOL_SOCKET, SO_BINDTODEVICE, interface.data(),
                                 static_cast<socklen_t>(interface.size())),
                      0);
        }
        const auto [name, size] = socket_name(address, port);
        EXPECT_EQ(bind(fd_.get(), reinterpret_cast<const sockaddr*>(&name), size), 0) << std::strerror(errno);
    }

    void send(const std::string& address, std::uint16_t port, wire::Bytes bytes) const {
        const auto [name, size] = socket_name(address, port);
        EXPECT_EQ(sendto(fd_.get(), bytes.data(), bytes.size(), 0, reinterpret_cast<const sockaddr*>(&name), size),
                  static_cast<ssize_t>(bytes.size()))
            << std::strerror(errno);
    }
    std::optional<Packet> receive() const {
        sockaddr_storage name{};
        socklen_t size = sizeof(name);
        std::array<std::byte, 2048> room{};
        const auto got = recvfrom(fd_.get(), room.data(), room.size(), 0, reinterpret_cast<sockaddr*>(&name), &size);
        if (got < 0) return std::nullopt;
        return Packet{text_of(name), {room.begin(), room.begin() + got}};
    }

private:
    static std::string text_of(const sockaddr_storage& name) {
        const bool ipv6 = name.ss_family == AF_INET6;
        const auto& v4 = reinterpret_cast<const sockaddr_in&>(name);
        const auto& v6 = reinterpret_cast<const sockaddr_in6&>(name);
        std::array<char, INET6_ADDRSTRLEN> text{};
        const void* const address = ipv6 ? static_cast<const void*>(&v6.sin6_addr) : &v4.sin_addr;
        EXPECT_NE(inet_ntop(name.ss_family, address, text.data(), text.size()), nullptr);
        return std::string(text.data()) + " " + std::to_string(ntohs(ipv6 ? v6.sin6_port : v4.sin_port));
    }
    /// The interface of link-local addresses and groups is the socket's.
    static std::pair<sockaddr_storage, socklen_t> socket_name(const std::string& address, std::uint16_t port) {
        sockaddr_storage name{};
        if (address.find(':') == std::string::npos) {
            auto& v4 = reinterpret_cast<sockaddr_in&>(name);
            v4.sin_family = AF_INET, v4.sin_port = htons(port);
            EXPECT_EQ(inet_pton(AF_INET, address.c_str(), &v4.sin_addr), 1);
            return {name, sizeof(v4)};
        }
        auto& v6 = reinterpret_cast<sockaddr_in6&>(name);
        v6.sin6_family = AF_INET6, v6.sin6_port = htons(port);
        EXPECT_EQ(inet_pton(AF_INET6, address.c_str(), &v6.sin6_addr), 1);
        return {name, sizeof(v6)};
    }

    FileDescriptor fd_;
};

class RelayServiceTest : public testing::Test {
protected:
    void SetUp() override {
        SKIP_UNLESS_ROOT();
        here.emplace(), there.emplace();
        here->run("ip link add lan type veth peer name eth netns " + there->path());
        const std::array sides{std::tuple{&here, "lan", "1"}, std::tuple{&there, "eth", "2"}};
        for (const auto& [side, name, number] : sides) {
            (*side)->run(std::string("sysctl -qw net.ipv6.conf.") + name + ".addr_gen_mode=1");
            (*side)->run(std::string("ip link set ") + name + " up");
        }
        for (const auto& [side, name, number] : sides) {
            const auto device = std::string(" dev ") + name;
            // The kernel tells its IPv6 of a carrier later, from a work queue.
            (*side)->run("timeout 10 sh -c 'until ip -br link show up" + device + " | grep -q \"UP \"; do :; done'");
            (*side)->run(std::string("ip address add 10.1.0.") + number + "/24" + device);
            (*side)->run(std::string("ip address add fd76:1::") + number + "/64 nodad" + device);
            (*side)->run(std::string("ip address add fe80::") + number + "/64 nodad" + device);
        }
    }

    template <class Service>
    typename Service::Setup setup(std::vector<RelayPort<typename Service::Address>> ports) {
        return {.netns = here->path(), .ports = std::move(ports), .on_trouble = [this](const std::string& line) {
                    trouble = line;
                }};
    }
    std::unique_ptr<Ipv4RelayService> open(wire::Ipv4Address server) {
        auto opened = Ipv4RelayService::open(*loop, setup<Ipv4RelayService>({{"lan", {server}}, {"ib0", {}}}));
        EXPECT_TRUE(opened) << opened.error().what;
        return opened ? std::move(*opened) : nullptr;
    }
    /// What comes to the host, while the loop runs; none after twenty seconds. It looks once more after those, in which
    /// a busy machine may not have run the test.
    std::optional<Host::Packet> await(const Host& host) {
        const Time end = loop->now() + 20 * second;
        for (bool last = false;; last = loop->now() >= end) {
            loop->run_once(millisecond);
            if (auto packet = host.receive(); packet || last) return packet;
        }
    }
    /// Until that counter is one; what it is after five seconds.
    std::uint64_t await(const Ipv4RelayService& service, std::string_view counter) {
        for (const Time end = loop->now() + 5 * second; loop->now() < end && count_of(service, lan, counter) != 1;)
            loop->run_once(millisecond);
        return count_of(service, lan, counter);
    }
    /// What the relay did, for a test that fails.
    template <class Service>
    static std::string counters(const Service& service) {
        std::string text;
        service.counters(lan, [&](std::string_view name, std::uint64_t value, std::string_view) {
            if (value != 0) text += std::string(name) + " " + std::to_string(value) + " ";
        });
        return text;
    }
    static std::vector<std::byte> message(const Dhcp& header) {
        std::vector<std::byte> bytes;
        wire::append(bytes, header);
        bytes.resize(Dhcp::smallest_message);
        bytes[Dhcp::size] = std::byte{wire::dhcp_option::end};
        return bytes;
    }

    std::unique_ptr<control::Loop> loop = *control::Loop::create();
    std::optional<test::Namespace> here, there;
    std::string trouble;
};

const Dhcp request{.op = DhcpOp::request, .transaction = 7, .broadcast = true};

TEST_F(RelayServiceTest, CarriesRequestsAndReplies) {
    const Host client(there->path(), "0.0.0.0", 68, "eth"), server(there->path(), "10.1.0.2", 67);
    const auto service = open(wire::ipv4(10, 1, 0, 2));
    service->set_addresses(lan, {wire::ipv4(10, 1, 0, 1)});
    client.send("255.255.255.255", 67, message(request));
    const auto relayed = await(server);
    ASSERT_TRUE(relayed) << counters(*service);
    EXPECT_EQ(relayed->from, "10.1.0.1 67");
    EXPECT_EQ(Dhcp::parse(relayed->bytes)->relay, wire::ipv4(10, 1, 0, 1));

    auto reply = request;
    reply.op = DhcpOp::reply, reply.relay = wire::ipv4(10, 1, 0, 1);
    server.send("10.1.0.1", 67, message(reply));
    const auto answer = await(client);
    ASSERT_TRUE(answer) << counters(*service);
    EXPECT_EQ(answer->from, "10.1.0.1 67");
    EXPECT_EQ(Dhcp::parse(answer->bytes), reply);
    EXPECT_EQ(count_of(*service, lan, "dhcp_relay_replies"), 1u);
    EXPECT_TRUE(service->serves(lan));
    EXPECT_FALSE(service->serves(ib0));
}

TEST_F(RelayServiceTest, FollowsTheAddressOfItsPort) {
    const Host client(there->path(), "0.0.0.0", 68, "eth"), server(there->path(), "10.1.0.2", 67);
    const auto service = open(wire::ipv4(10, 1, 0, 2));
    here->run("ip address add 10.1.0.9/24 dev lan");
    for (const auto& [last, text] : {std::pair{1u, "10.1.0.1 67"}, {9u, "10.1.0.9 67"}, {1u, "10.1.0.1 67"}}) {
        service->set_addresses(lan, {wire::ipv4(10, 1, 0, last)});
        client.send("255.255.255.255", 67, message(request));
        const auto relayed = await(server);
        ASSERT_TRUE(relayed) << text;
        EXPECT_EQ(relayed->from, text);
    }
    service->set_addresses(lan, {});
    client.send("255.255.255.255", 67, message(request));
    EXPECT_EQ(await(*service, "dhcp_relay_dropped_no_address"), 1u);
    EXPECT_EQ(trouble, "");
}

TEST_F(RelayServiceTest, ServesByOthersWhileItRuns) {
    const Host client(there->path(), "0.0.0.0", 68, "eth"), server(there->path(), "10.1.0.2", 67);
    auto opened = Ipv4RelayService::open(*loop, setup<Ipv4RelayService>({{"lan", {}}, {"ib0", {}}}));
    ASSERT_TRUE(opened) << opened.error().what;
    auto& service = **opened;
    const auto change = [&](std::vector<wire::Ipv4Address> servers) {
        auto prepared = service.prepare(lan, std::move(servers));
        ASSERT_TRUE(prepared) << prepared.error().what;
        service.use(std::move(*prepared));
        service.set_addresses(lan, {wire::ipv4(10, 1, 0, 1)});
    };
    EXPECT_FALSE(service.serves(lan));
    change({wire::ipv4(10, 9, 0, 2)});
    client.send("255.255.255.255", 67, message(request));
    EXPECT_EQ(await(service, "dhcp_relay_dropped_no_server"), 1u);
    change({wire::ipv4(10, 1, 0, 2)});
    client.send("255.255.255.255", 67, message(request));
    const auto relayed = await(server);
    ASSERT_TRUE(relayed) << counters(service);
    EXPECT_EQ(relayed->from, "10.1.0.1 67");
    change({});
    EXPECT_FALSE(service.serves(lan));
    for (const auto* const address : {"0.0.0.0", "10.1.0.1"})
        const Host other(here->path(), address, 67);  // free again
    change({wire::ipv4(10, 1, 0, 2)});
    client.send("255.255.255.255", 67, message(request));
    EXPECT_TRUE(await(server)) << counters(service);
}

TEST_F(RelayServiceTest, ChangesNothingIfTheInterfaceIsAnothers) {
    const Host other(here->path(), "0.0.0.0", 67);
    auto opened = Ipv4RelayService::open(*loop, setup<Ipv4RelayService>({{"lan", {}}}));
    ASSERT_TRUE(opened) << opened.error().what;
    const auto prepared = (*opened)->prepare(lan, {wire::ipv4(10, 1, 0, 2)});
    ASSERT_FALSE(prepared);
    EXPECT_THAT(prepared.error().what, HasSubstr("no UDP port 67 on interface lan"));
    EXPECT_FALSE((*opened)->serves(lan));
}

TEST_F(RelayServiceTest, CountsServersWithoutARoute) {
    const Host client(there->path(), "0.0.0.0", 68, "eth");
    const auto service = open(wire::ipv4(10, 9, 0, 2));
    service->set_addresses(lan, {wire::ipv4(10, 1, 0, 1)});
    client.send("255.255.255.255", 67, message(request));
    EXPECT_EQ(await(*service, "dhcp_relay_dropped_no_server"), 1u);
}

TEST_F(RelayServiceTest, CarriesIpv6) {
    const auto address = [](std::string_view text) { return *wire::from_string<wire::Ipv6Address>(text); };
    const Host client(there->path(), "::", 546, "eth"), server(there->path(), "fd76:1::2", 547);
    auto opened = Ipv6RelayService::open(*loop, setup<Ipv6RelayService>({{"lan", {address("fd76:1::2")}}}));
    ASSERT_TRUE(opened) << opened.error().what;
    (*opened)->set_addresses(lan, {address("fd76:1::1")});
    const std::vector<std::byte> solicit(4, std::byte{1});
    client.send("ff02::1:2", 547, solicit);
    const auto relayed = await(server);
    ASSERT_TRUE(relayed) << counters(**opened);
    EXPECT_EQ(relayed->from, "fd76:1::1 547");
    EXPECT_EQ(wire::Dhcpv6Relay::parse(relayed->bytes)->peer, address("fe80::2"));

    auto reply = relayed->bytes;  // the message in it comes back as it went
    reply[0] = std::byte{wire::dhcpv6_type::relay_reply};
    server.send("fd76:1::1", 547, reply);
    const auto answer = await(client);
    ASSERT_TRUE(answer) << counters(**opened);
    EXPECT_EQ(answer->from, "fe80::1 547");
    EXPECT_EQ(answer->bytes, solicit);
}

TEST_F(RelayServiceTest, SaysWhoHasThePort) {
    const Host other(here->path(), "0.0.0.0", 67);
    const auto opened = Ipv4RelayService::open(*loop, setup<Ipv4RelayService>({{"lan", {wire::ipv4(10, 1, 0, 2)}}}));
    ASSERT_FALSE(opened);
    EXPECT_THAT(opened.error().what,
                HasSubstr("no UDP port 67 on interface lan: Address already in use (another DHCP"));
}

TEST_F(RelayServiceTest, SaysThatAnAddressCannotBeServed) {
    const auto service = open(wire::ipv4(10, 1, 0, 2));
    const Host other(here->path(), "10.1.0.1", 67, "lo");  // has it, on another interface than the client's
    service->set_addresses(lan, {wire::ipv4(10, 1, 0, 1)});
    EXPECT_THAT(trouble, HasSubstr("lan: cannot relay DHCP: no UDP port 67 at 10.1.0.1"));
}

TEST_F(RelayServiceTest, NeedsTheInterface) {
    const auto opened =
        Ipv4RelayService::open(*loop, setup<Ipv4RelayService>({{"nowhere", {wire::ipv4(10, 1, 0, 2)}}}));
    ASSERT_FALSE(opened);
    EXPECT_THAT(opened.error().what, HasSubstr("on interface nowhere"));
}

}  // namespace
}  // namespace verbline::dhcp
