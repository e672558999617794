// SPDX-License-Identifier: BSD-3-Clause
// A client's message, byte for byte, goes to the servers with what a relay adds; a reply comes back without it.
#include "control/dhcp_relay/ipv4_relay.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "datapath/wire/append.h"
#include "tests/control/dhcp_relay/relay_ports.h"
#include "tests/support/hex.h"

namespace verbline::dhcp {
namespace {

using wire::Dhcp;
using wire::DhcpOp;
using wire::ipv4;
using wire::Ipv4Address;

constexpr auto lan_address = ipv4(10, 1, 0, 1), ib_address = ipv4(10, 2, 0, 1);
constexpr auto server = ipv4(10, 2, 0, 2), second_server = ipv4(10, 9, 0, 2);
/// Its type and its client identifier.
const std::string discover = "350101 3d09ff0000000700030020 ", offer = "350102 36040a020002 ";
const std::string option_of_lan = "5205 01036c616e ", option_of_ib = "5205 0103696230 ";

class Ipv4RelayTest : public testing::Test {
protected:
    Ipv4RelayTest() : relay({{"lan", {server, second_server}}, {"ib0", {server}}, {"silent", {}}}) {
        relay.set_addresses(lan, {lan_address});
        relay.set_addresses(ib0, {ib_address, ipv4(10, 2, 0, 254)});
        relay.set_addresses(silent, {ipv4(10, 5, 0, 1)});
    }

    static std::vector<std::byte> message(const Dhcp& header, std::string_view options) {
        std::vector<std::byte> bytes;
        wire::append(bytes, header);
        const auto behind = test::from_hex(options);
        bytes.insert(bytes.end(), behind.begin(), behind.end());
        return bytes;
    }
    /// As RFC 4390 has it.
    static Dhcp ipoib_request() {
        return {.op = DhcpOp::request, .hardware_type = 32, .transaction = 0x1b0b1b0b, .broadcast = true};
    }
    static Dhcp reply_to(Ipv4Address giaddr) {
        return {.op = DhcpOp::reply, .hardware_type = 32, .your = ipv4(10, 2, 0, 100), .relay = giaddr};
    }
    Ipv4Relay::Sends from_link(std::size_t port, const std::vector<std::byte>& bytes) {
        return relay.received({port, Side::link, Ipv4Address{}, bytes});
    }
    Ipv4Relay::Sends from_network(std::size_t port, const std::vector<std::byte>& bytes) {
        return relay.received({port, Side::network, server, bytes});
    }
    std::uint64_t count(std::size_t port, std::string_view name) const { return count_of(relay, port, name); }

    Ipv4Relay relay;
};

TEST_F(Ipv4RelayTest, RequestGoesToEveryServerWithGiaddrHopsAndOption82) {
    const auto sends = from_link(lan, message(ipoib_request(), discover + "ff"));
    ASSERT_EQ(sends.size(), 2u);
    auto relayed = ipoib_request();
    relayed.hops = 1, relayed.relay = lan_address;
    for (const auto& each : sends) {
        EXPECT_EQ(each.port, lan);
        EXPECT_EQ(each.side, Side::network);
        EXPECT_EQ(each.destination_port, 67);
        EXPECT_EQ(test::to_hex(each.message), test::to_hex(message(relayed, discover + option_of_lan + "ff")));
    }
    EXPECT_EQ(sends[0].destination, server);
    EXPECT_EQ(sends[1].destination, second_server);
    EXPECT_EQ(count(lan, "dhcp_relay_requests"), 1u);
    EXPECT_EQ(count(ib0, "dhcp_relay_requests"), 0u);
}

TEST_F(Ipv4RelayTest, PadsAndPaddingStayWhereTheyAre) {
    const auto sends = from_link(ib0, message(ipoib_request(), discover + "0000 ff 000000"));
    ASSERT_EQ(sends.size(), 1u);
    auto relayed = ipoib_request();
    relayed.hops = 1, relayed.relay = ib_address;
    EXPECT_EQ(test::to_hex(sends[0].message),
              test::to_hex(message(relayed, discover + "0000" + option_of_ib + "ff 000000")));
}

TEST_F(Ipv4RelayTest, MissingEndIsAdded) {
    const auto sends = from_link(ib0, message(ipoib_request(), discover));
    ASSERT_EQ(sends.size(), 1u);
    auto relayed = ipoib_request();
    relayed.hops = 1, relayed.relay = ib_address;
    EXPECT_EQ(test::to_hex(sends[0].message), test::to_hex(message(relayed, discover + option_of_ib + "ff")));
}

TEST_F(Ipv4RelayTest, RequestOfAnotherRelayKeepsItsGiaddrAndOption82) {
    auto header = ipoib_request();
    header.hops = 1, header.relay = ipv4(10, 7, 0, 1);
    const std::string options = discover + "5203010178 ff";
    for (const auto side : {Side::link, Side::network}) {
        const auto sends = relay.received({ib0, side, ipv4(10, 7, 0, 1), message(header, options)});
        ASSERT_EQ(sends.size(), 1u);
        auto relayed = header;
        relayed.hops = 2;
        EXPECT_EQ(test::to_hex(sends[0].message), test::to_hex(message(relayed, options)));
    }
}

TEST_F(Ipv4RelayTest, RequestMayClaimNoAddressOfOurs) {
    auto header = ipoib_request();
    for (const auto own : {lan_address, ib_address, ipv4(10, 2, 0, 254), ipv4(10, 5, 0, 1)}) {
        header.relay = own;
        EXPECT_TRUE(from_link(lan, message(header, discover + "ff")).empty());
    }
    EXPECT_EQ(count(lan, "dhcp_relay_dropped_own_giaddr"), 4u);
}

TEST_F(Ipv4RelayTest, RequestsGoThroughSixteenRelaysAtMost) {
    auto header = ipoib_request();
    header.hops = 16;
    EXPECT_EQ(from_link(ib0, message(header, discover + "ff")).size(), 1u);
    header.hops = 17;
    EXPECT_TRUE(from_link(ib0, message(header, discover + "ff")).empty());
    header.hops = 255;
    EXPECT_TRUE(from_link(ib0, message(header, discover + "ff")).empty());
    EXPECT_EQ(count(ib0, "dhcp_relay_dropped_hops"), 2u);
}

TEST_F(Ipv4RelayTest, ClientMayNotSendOption82) {
    EXPECT_TRUE(from_link(ib0, message(ipoib_request(), discover + option_of_ib + "ff")).empty());
    EXPECT_EQ(count(ib0, "dhcp_relay_dropped_option82"), 1u);
}

TEST_F(Ipv4RelayTest, ClientIsOnTheLinkOfItsPort) {
    EXPECT_TRUE(from_network(ib0, message(ipoib_request(), discover + "ff")).empty());
    EXPECT_EQ(count(ib0, "dhcp_relay_dropped_off_link"), 1u);
}

TEST_F(Ipv4RelayTest, LongRequestGoesWithoutOption82) {
    const auto padded = [&](std::size_t size) {
        auto bytes = message(ipoib_request(), discover + "ff");
        bytes.resize(size);
        return bytes;
    };
    constexpr std::size_t added = 7;
    auto sends = from_link(ib0, padded(Ipv4Relay::largest_with_option - added));
    EXPECT_EQ(sends.at(0).message.size(), Ipv4Relay::largest_with_option);
    EXPECT_EQ(count(ib0, "dhcp_relay_requests_without_option82"), 0u);
    sends = from_link(ib0, padded(Ipv4Relay::largest_with_option - added + 1));
    EXPECT_EQ(sends.at(0).message.size(), Ipv4Relay::largest_with_option - added + 1);
    EXPECT_EQ(Dhcp::parse(sends.at(0).message)->relay, ib_address) << "but relayed";
    EXPECT_EQ(count(ib0, "dhcp_relay_requests_without_option82"), 1u);
    EXPECT_EQ(count(ib0, "dhcp_relay_requests"), 2u);
}

TEST_F(Ipv4RelayTest, PortWithoutAddressRelaysNothing) {
    relay.set_addresses(ib0, {});
    EXPECT_TRUE(from_link(ib0, message(ipoib_request(), discover + "ff")).empty());
    EXPECT_EQ(count(ib0, "dhcp_relay_dropped_no_address"), 1u);
}

TEST_F(Ipv4RelayTest, ReplyIsBroadcastOnItsPortWithoutOption82) {
    const auto reply = reply_to(ib_address);
    const std::string padding(2 * 60, '0');
    // It may come by the socket of any port: giaddr decides.
    const auto sends = from_network(lan, message(reply, offer + option_of_ib + "3304 00000e10 ff" + padding));
    ASSERT_EQ(sends.size(), 1u);
    EXPECT_EQ(sends[0].port, ib0);
    EXPECT_EQ(sends[0].side, Side::link);
    EXPECT_EQ(sends[0].destination, Ipv4Address{0xffff'ffff});
    EXPECT_EQ(sends[0].destination_port, 68);
    EXPECT_EQ(test::to_hex(sends[0].message), test::to_hex(message(reply, offer + "3304 00000e10 ff" + padding)));
    EXPECT_EQ(count(ib0, "dhcp_relay_replies"), 1u);
    EXPECT_EQ(count(lan, "dhcp_relay_replies"), 0u);
}

TEST_F(Ipv4RelayTest, ReplyIsAsLongAsReceiversExpect) {
    const auto sends = from_network(ib0, message(reply_to(ib_address), offer + option_of_ib + "ff"));
    EXPECT_EQ(sends.at(0).message.size(), Dhcp::smallest_message);
}

TEST_F(Ipv4RelayTest, ReplyNeedNotReturnOption82) {
    const auto bytes = message(reply_to(ib_address), offer + "ff");
    const auto sends = from_network(ib0, bytes);
    EXPECT_EQ(test::to_hex(sends.at(0).message), test::to_hex(bytes)) << "then nothing is changed";
}

TEST_F(Ipv4RelayTest, ReplyWithAnotherPortsOption82IsDropped) {
    for (const auto& option :
         {option_of_lan, std::string("5200 "), std::string("5202 0105 "), std::string("5204 01026962 ")})
        EXPECT_TRUE(from_network(ib0, message(reply_to(ib_address), offer + option + "ff")).empty()) << option;
    EXPECT_EQ(count(ib0, "dhcp_relay_dropped_option82"), 4u);
}

TEST_F(Ipv4RelayTest, RepliesComeFromServersOfTheirPort) {
    const auto reply = message(reply_to(ib_address), offer + option_of_ib + "ff");
    // Neither a host of some link, nor a server of another port, nor one of no port at all.
    for (const auto source : {ipv4(10, 2, 0, 9), second_server, lan_address, Ipv4Address{}}) {
        for (const auto arrival : {lan, ib0})
            EXPECT_TRUE(relay.received({arrival, Side::network, source, reply}).empty());
    }
    EXPECT_EQ(count(ib0, "dhcp_relay_dropped_unknown_server"), 8u);
    EXPECT_EQ(count(lan, "dhcp_relay_dropped_unknown_server"), 0u);
    const auto to_lan = message(reply_to(lan_address), offer + option_of_lan + "ff");
    EXPECT_EQ(relay.received({lan, Side::network, second_server, to_lan}).size(), 1u);
}

TEST_F(Ipv4RelayTest, ReplyToNobodyIsDropped) {
    for (const auto giaddr : {Ipv4Address{}, ipv4(10, 1, 0, 9), ipv4(10, 5, 0, 1)})
        EXPECT_TRUE(from_network(lan, message(reply_to(giaddr), offer + "ff")).empty());
    EXPECT_EQ(count(lan, "dhcp_relay_dropped_unknown_giaddr"), 3u);
    EXPECT_TRUE(from_link(ib0, message(reply_to(ib_address), offer + "ff")).empty());
    EXPECT_EQ(count(ib0, "dhcp_relay_dropped_stray_reply"), 1u);
}

TEST_F(Ipv4RelayTest, MalformedMessagesAreDropped) {
    const auto whole = message(ipoib_request(), discover + "ff");
    std::uint64_t dropped = 0;
    for (std::size_t size = 0; size < Dhcp::size; ++size, ++dropped)
        EXPECT_TRUE(from_link(ib0, {whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)}).empty());
    EXPECT_TRUE(from_link(ib0, message(ipoib_request(), "350101 3d09ff")).empty());
    auto other = ipoib_request();
    other.op = static_cast<DhcpOp>(3);
    EXPECT_TRUE(from_link(ib0, message(other, discover + "ff")).empty());
    EXPECT_EQ(count(ib0, "dhcp_relay_dropped_malformed"), dropped + 2);
}

TEST_F(Ipv4RelayTest, CountsWhatTheKernelRefuses) {
    for (const auto& each : from_link(lan, message(ipoib_request(), discover + "ff"))) relay.not_sent(each);
    for (const auto& each : from_network(lan, message(reply_to(lan_address), offer + "ff"))) relay.not_sent(each);
    EXPECT_EQ(count(lan, "dhcp_relay_dropped_no_server"), 2u);
    EXPECT_EQ(count(lan, "dhcp_relay_dropped_not_sent"), 1u);
}

}  // namespace
}  // namespace verbline::dhcp
