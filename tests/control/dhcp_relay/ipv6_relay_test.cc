// SPDX-License-Identifier: BSD-3-Clause
#include "control/dhcp_relay/ipv6_relay.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "datapath/wire/text.h"
#include "tests/control/dhcp_relay/relay_ports.h"
#include "tests/support/hex.h"
#include "tests/support/ipv6.h"

namespace verbline::dhcp {
namespace {

using test::ipv6;
using wire::Ipv6Address;

const auto lan_address6 = ipv6("fd76:1::1"), ib_address6 = ipv6("fd76:2::1");
const auto server6 = ipv6("2001:db8::5"), second_server6 = ipv6("2001:db8::6");
const auto client = ipv6("fe80::5054:ff:fe0e:2");
// A client's SOLICIT with its identifier; the same addresses as bytes.
const std::string solicit = "01a1b2c3 0001000c 000300200002c90300a1b2c3", advertise = "02a1b2c3";
const std::string lan_bytes = "fd760001000000000000000000000001", ib_bytes = "fd760002000000000000000000000001",
                  client_bytes = "fe80000000000000505400fffe0e0002", none(32, '0');
const std::string id_of_lan = "0012 0003 6c616e", id_of_ib = "0012 0003 696230";

/// An option with that value, in hexadecimal.
std::string option_with(std::string_view code, std::string_view value) {
    const auto size = test::from_hex(value).size();
    const std::array length{static_cast<std::byte>(size >> 8), static_cast<std::byte>(size & 0xff)};
    return std::string(code) + test::to_hex(length) + std::string(value);
}

class Ipv6RelayTest : public testing::Test {
protected:
    Ipv6RelayTest() : relay({{"lan", {server6, second_server6}}, {"ib0", {server6}}, {"silent", {}}}) {
        relay.set_addresses(lan, {lan_address6});
        relay.set_addresses(ib0, {ib_address6});
        relay.set_addresses(silent, {ipv6("fd76:5::1")});
    }

    Ipv6Relay::Sends received(std::size_t port, Side side, const Ipv6Address& from, std::string_view hex) {
        const auto bytes = test::from_hex(hex);
        return relay.received({port, side, from, bytes});
    }
    Ipv6Relay::Sends from_link(std::size_t port, std::string_view hex) {
        return received(port, Side::link, client, hex);
    }
    Ipv6Relay::Sends from_server(std::size_t port, std::string_view hex) {
        return received(port, Side::network, server6, hex);
    }
    std::uint64_t count(std::size_t port, std::string_view name) const { return count_of(relay, port, name); }
    static std::string bytes_of(std::string_view hex) { return test::to_hex(test::from_hex(hex)); }

    Ipv6Relay relay;
};

TEST_F(Ipv6RelayTest, RequestGoesToEveryServerInARelayForward) {
    const auto sends = from_link(lan, solicit);
    ASSERT_EQ(sends.size(), 2u);
    for (const auto& each : sends) {
        EXPECT_EQ(each.port, lan);
        EXPECT_EQ(each.side, Side::network);
        EXPECT_EQ(each.destination_port, 547);
        EXPECT_EQ(test::to_hex(each.message),
                  bytes_of("0c00" + lan_bytes + client_bytes + id_of_lan + option_with("0009", solicit)));
    }
    EXPECT_EQ(sends[0].destination, server6);
    EXPECT_EQ(sends[1].destination, second_server6);
    EXPECT_EQ(count(lan, "dhcpv6_relay_requests"), 1u);
}

TEST_F(Ipv6RelayTest, RequestHasRemoteIdIfThereIsAnEnterpriseNumber) {
    Ipv6Relay numbered({{"lan", {server6}, 32'473}});
    numbered.set_addresses(0, {lan_address6});
    const auto bytes = test::from_hex(solicit);
    const auto sends = numbered.received({0, Side::link, client, bytes});
    ASSERT_EQ(sends.size(), 1u);
    const auto remote_id = option_with("0025", "00007ed9 6c616e");
    EXPECT_EQ(test::to_hex(sends[0].message),
              bytes_of("0c00" + lan_bytes + client_bytes + id_of_lan + remote_id + option_with("0009", solicit)));
    const std::size_t most = 65'535 - 8 - 34 - (4 + 3) - (4 + 4 + 3) - 4;
    std::vector<std::byte> longest(most, std::byte{1});
    EXPECT_EQ(numbered.received({0, Side::link, client, longest}).at(0).message.size(), 65'535u - 8);
    longest.push_back(std::byte{1});
    EXPECT_TRUE(numbered.received({0, Side::link, client, longest}).empty());
}

TEST_F(Ipv6RelayTest, RequestOfAnotherRelayIsRelayedWhole) {
    const auto forward = "0c07" + lan_bytes + client_bytes + option_with("0009", solicit);
    // By its link-local address, this relay says where it is; else it says so itself (RFC 8415, 19.1.2).
    for (const auto& [from, link] : {std::pair{client, ib_bytes}, {ipv6("fd76:7::7"), none}}) {
        const auto sends = received(ib0, Side::link, from, forward);
        ASSERT_EQ(sends.size(), 1u);
        EXPECT_EQ(test::to_hex(sends[0].message),
                  bytes_of("0c08" + link + test::to_hex(from.bytes) + id_of_ib + option_with("0009", forward)));
    }
}

TEST_F(Ipv6RelayTest, RequestsGoThroughEightRelaysAtMost) {
    for (const std::string hops : {"08", "09", "ff"})
        EXPECT_TRUE(from_link(ib0, "0c" + hops + lan_bytes + client_bytes + option_with("0009", solicit)).empty());
    EXPECT_EQ(count(ib0, "dhcpv6_relay_dropped_hops"), 3u);
}

TEST_F(Ipv6RelayTest, UnknownTypesAreRelayed) {
    EXPECT_EQ(from_link(ib0, "fea1b2c3").size(), 1u);
}

TEST_F(Ipv6RelayTest, LinksSendNoMessagesOfServers) {
    for (const std::string type : {"02", "07", "0a", "0d"})
        EXPECT_TRUE(from_link(ib0, type + "a1b2c3").empty()) << type;
    EXPECT_EQ(count(ib0, "dhcpv6_relay_dropped_type"), 4u);
}

TEST_F(Ipv6RelayTest, ClientIsOnTheLinkOfItsPort) {
    EXPECT_TRUE(from_server(ib0, solicit).empty());
    EXPECT_EQ(count(ib0, "dhcpv6_relay_dropped_off_link"), 1u);
    EXPECT_EQ(from_server(ib0, "0c00" + none + client_bytes + option_with("0009", solicit)).size(), 1u)
        << "a relay may be behind routers";
}

TEST_F(Ipv6RelayTest, PortWithoutAddressRelaysNothing) {
    relay.set_addresses(ib0, {});
    EXPECT_TRUE(from_link(ib0, solicit).empty());
    EXPECT_EQ(count(ib0, "dhcpv6_relay_dropped_no_address"), 1u);
}

TEST_F(Ipv6RelayTest, ReplyGoesToThePeerOnItsPort) {
    // It may come by the socket of any port: the Interface-Id decides, not the link address.
    const auto reply = "0d00" + lan_bytes + client_bytes + option_with("0009", advertise) + id_of_ib;
    const auto sends = from_server(lan, reply);
    ASSERT_EQ(sends.size(), 1u);
    EXPECT_EQ(sends[0].port, ib0);
    EXPECT_EQ(sends[0].side, Side::link);
    EXPECT_EQ(sends[0].destination, client);
    EXPECT_EQ(sends[0].destination_port, 546);
    EXPECT_EQ(test::to_hex(sends[0].message), advertise);
    EXPECT_EQ(count(ib0, "dhcpv6_relay_replies"), 1u);
}

TEST_F(Ipv6RelayTest, ReplyWithoutInterfaceIdGoesByItsLinkAddress) {
    const auto sends = from_server(lan, "0d00" + ib_bytes + client_bytes + option_with("0009", advertise));
    ASSERT_EQ(sends.size(), 1u);
    EXPECT_EQ(sends[0].port, ib0);
}

TEST_F(Ipv6RelayTest, ReplyToAnotherRelayGoesToItsPort) {
    const auto inner = "0d00" + lan_bytes + client_bytes + option_with("0009", advertise);
    auto sends = from_server(ib0, "0d01" + ib_bytes + client_bytes + id_of_ib + option_with("0009", inner));
    ASSERT_EQ(sends.size(), 1u);
    EXPECT_EQ(sends[0].destination_port, 547);
    EXPECT_EQ(test::to_hex(sends[0].message), bytes_of(inner));
    const auto far = ipv6("fd76:7::7");
    sends = from_server(ib0, "0d01" + none + test::to_hex(far.bytes) + id_of_ib + option_with("0009", inner));
    ASSERT_EQ(sends.size(), 1u);
    EXPECT_EQ(sends[0].side, Side::network) << "by the routes";
    EXPECT_EQ(sends[0].destination, far);
}

TEST_F(Ipv6RelayTest, RepliesComeFromServersOfTheirPort) {
    const auto reply = "0d00" + ib_bytes + client_bytes + id_of_ib + option_with("0009", advertise);
    // Neither a host of some link, nor a server of another port, nor a relay's own address.
    for (const auto& source : {client, ipv6("fd76:2::9"), second_server6, lan_address6}) {
        for (const auto arrival : {lan, ib0}) EXPECT_TRUE(received(arrival, Side::network, source, reply).empty());
    }
    EXPECT_EQ(count(ib0, "dhcpv6_relay_dropped_unknown_server"), 8u);
    EXPECT_EQ(count(lan, "dhcpv6_relay_dropped_unknown_server"), 0u);
    const auto to_lan = "0d00" + lan_bytes + client_bytes + id_of_lan + option_with("0009", advertise);
    EXPECT_EQ(received(lan, Side::network, second_server6, to_lan).size(), 1u);
}

TEST_F(Ipv6RelayTest, ReplyToNoPortIsDropped) {
    const auto silent_id = option_with("0012", "73696c656e74");
    for (const auto& id : {option_with("0012", "6962"), option_with("0012", ""), silent_id})
        EXPECT_TRUE(from_server(ib0, "0d00" + ib_bytes + client_bytes + id + option_with("0009", advertise)).empty())
            << id;
    EXPECT_TRUE(from_server(ib0, "0d00" + none + client_bytes + option_with("0009", advertise)).empty());
    EXPECT_EQ(count(ib0, "dhcpv6_relay_dropped_unknown_link"), 4u);
}

TEST_F(Ipv6RelayTest, MalformedMessagesAreDropped) {
    const auto reply = "0d00" + ib_bytes + client_bytes + id_of_ib + option_with("0009", advertise);
    const auto whole = test::from_hex(reply).size();
    std::uint64_t dropped = 0;
    for (std::size_t size = 0; size < whole; ++size) {
        if (size == 34 + 7) continue;  // only the message is missing, which is the same
        EXPECT_TRUE(from_server(ib0, bytes_of(reply).substr(0, 2 * size)).empty()) << size;
        ++dropped;
    }
    EXPECT_TRUE(from_server(ib0, "0d00" + ib_bytes + client_bytes + id_of_ib).empty()) << "no message";
    EXPECT_TRUE(from_server(ib0, "0d00" + ib_bytes + client_bytes + id_of_ib + "00090000").empty()) << "an empty one";
    for (const auto* peer : {"::", "::1", "ff02::1"}) {
        const auto bytes = test::to_hex(ipv6(peer).bytes);
        EXPECT_TRUE(from_server(ib0, "0d00" + ib_bytes + bytes + id_of_ib + option_with("0009", advertise)).empty())
            << peer;
        EXPECT_TRUE(received(ib0, Side::link, ipv6(peer), solicit).empty()) << peer;
    }
    EXPECT_TRUE(from_link(ib0, "0c00" + ib_bytes).empty()) << "a relay's header is longer";
    EXPECT_TRUE(from_link(ib0, "01a1b2").empty());
    EXPECT_EQ(count(ib0, "dhcpv6_relay_dropped_malformed"), dropped + 10);
}

TEST_F(Ipv6RelayTest, RequestLeavesRoomForTheHeader) {
    const std::size_t most = 65'535 - 8 - 34 - 4 - 4 - 3;
    std::vector<std::byte> bytes(most, std::byte{1});
    auto sends = relay.received({ib0, Side::link, client, bytes});
    ASSERT_EQ(sends.size(), 1u);
    EXPECT_EQ(sends[0].message.size(), 65'535u - 8);
    bytes.push_back(std::byte{1});
    EXPECT_TRUE(relay.received({ib0, Side::link, client, bytes}).empty());
    EXPECT_EQ(count(ib0, "dhcpv6_relay_dropped_too_long"), 1u);
}

TEST_F(Ipv6RelayTest, CountsWhatTheKernelRefuses) {
    for (const auto& each : from_link(lan, solicit)) relay.not_sent(each);
    const auto reply = "0d00" + lan_bytes + client_bytes + id_of_lan + option_with("0009", advertise);
    for (const auto& each : from_server(lan, reply)) relay.not_sent(each);
    EXPECT_EQ(count(lan, "dhcpv6_relay_dropped_no_server"), 2u);
    EXPECT_EQ(count(lan, "dhcpv6_relay_dropped_not_sent"), 1u);
}

}  // namespace
}  // namespace verbline::dhcp
