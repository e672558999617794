// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/config/config.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "datapath/wire/text.h"
#include "tests/apps/verbline/config/config_fixture.h"

namespace verbline::cli {
namespace {

using test_config::error_of, test_config::valid_text, test_config::with;

TEST(Config, ReadsPortsAndRoutes) {
    const auto config = parse_config(valid_text, "gw.toml");
    ASSERT_TRUE(config) << config.error().what;
    EXPECT_EQ(config->name, "gw");
    EXPECT_EQ(config->netns, "vl-gw");
    ASSERT_EQ(config->ports.size(), 2u);

    const auto& lan = config->ports[0];
    EXPECT_EQ(lan.name, "lan");
    EXPECT_EQ(lan.type, PortType::ethernet);
    EXPECT_EQ(lan.devices, std::vector<std::string>{"tap:lan0,netns=lan"});
    EXPECT_EQ(lan.mtu, 9000u);
    EXPECT_FALSE(lan.clamp_mss) << "the default";
    EXPECT_EQ(lan.reverse_path, forward::ReversePathFilter::off) << "the default";
    EXPECT_EQ(lan.capture, "/tmp/lan.pcapng");
    ASSERT_EQ(lan.addresses.size(), 3u);
    EXPECT_EQ(lan.addresses[1], link::parse_interface_address("192.168.7.1/30"));
    EXPECT_EQ(lan.addresses[2], link::parse_interface_address("fd76:1::1/64"));
    EXPECT_EQ(lan.lines.port, 5u);
    EXPECT_EQ(lan.lines.mtu, 10u);

    const auto& ib = config->ports[1];
    EXPECT_EQ(ib.type, PortType::ipoib);
    EXPECT_EQ(ib.devices.size(), 2u);
    EXPECT_EQ(ib.sm, "ibsim:vl,host=H2");
    EXPECT_EQ(ib.pkey, wire::PKey{0x8001});
    EXPECT_EQ(ib.mtu, 2044u) << "the default";
    EXPECT_EQ(ib.impair, "loss=0.01,seed=7");
    EXPECT_EQ(ib.lines.port, 14u);
    EXPECT_EQ(ib.lines.pkey, 19u);

    ASSERT_EQ(config->routes.size(), 1u);
    EXPECT_EQ(config->routes[0].to, link::parse_interface_address("10.3.0.0/16"));
    EXPECT_EQ(link::address_text(config->routes[0].via), "10.2.0.7");
    EXPECT_EQ(config->routes[0].port, "") << "the kernel finds it";
}

TEST(Config, ReadsPrograms) {
    const auto config =
        parse_config(with("# another", "program = \"/etc/drop.o\"\nprogram_section = \"drop\""), "gw.toml");
    ASSERT_TRUE(config) << config.error().what;
    EXPECT_EQ(config->ports[0].program, "/etc/drop.o");
    EXPECT_EQ(config->ports[0].program_section, "drop");
    EXPECT_EQ(config->ports[0].lines.program, 11u);
    EXPECT_EQ(config->ports[1].program, "") << "the default";
    EXPECT_EQ(error_of(with("# another", "program_section = \"drop\"")),
              "gw.toml:11: program_section of lan needs program = \"...\"");
}

TEST(Config, ReadsIpv6Routes) {
    const auto config =
        parse_config(std::string(valid_text) + "[[route]]\nto = \"::/0\"\nvia = \"fe80::7\"\nport = \"ib0\"\n" +
                         "[[route]]\nto = \"fd76:3::/48\"\nvia = \"fd76:1::7\"\n" +
                         "[[route]]\nto = \"10.4.0.0/16\"\nvia = \"fd76:1::7\"\n",
                     "gw.toml");
    ASSERT_TRUE(config) << config.error().what;
    ASSERT_EQ(config->routes.size(), 4u);
    EXPECT_EQ(to_string(config->routes[1].to), "::/0");
    EXPECT_EQ(config->routes[1].port, "ib0") << "a link-local gateway is on one port's link";
    EXPECT_EQ(link::address_text(config->routes[2].via), "fd76:1::7");
    EXPECT_EQ(to_string(config->routes[3].to), "10.4.0.0/16") << "by way of an IPv6 gateway (RFC 8950)";
}

TEST(Config, AcceptsIpv6InterfaceAddresses) {
    for (const auto* address : {"fe80::1/64", "fd76:1::1/127", "fd76:1::/127", "fd76:1::/128"}) {
        EXPECT_TRUE(parse_config(with("fd76:1::1/64", address), "")) << address;
    }
    auto both = with("fd76:1::1/64", "fe80::1/64");
    both.replace(both.find("\"10.2.0.1/24\""), 13, "[\"10.2.0.1/24\", \"fe80::1/64\"]");
    EXPECT_TRUE(parse_config(both, "")) << "each link has one of its own";
}

TEST(Config, ProxiesMayHaveOneSubnet) {
    const auto network = [](std::string text, std::string_view address) {
        const std::string list = "[\"10.2.0.1/24\", \"" + std::string(address) + "\"]";
        return text.replace(text.find("\"10.2.0.1/24\""), 13, list);
    };
    auto text = with("# another", "proxy = true");
    EXPECT_EQ(error_of(network(text, "10.1.0.2/24")), "gw.toml:20: 10.1.0.2/24 of ib0 overlaps 10.1.0.1/24 of lan")
        << "both must be";
    text.insert(text.find("impair"), "proxy = true\n");
    const auto config = parse_config(network(text, "10.1.0.2/24"), "");
    ASSERT_TRUE(config) << config.error().what;
    EXPECT_TRUE(config->ports[0].proxy && config->ports[1].proxy);
    EXPECT_EQ(error_of(network(text, "10.1.0.2/25")), "gw.toml:20: 10.1.0.2/25 of ib0 overlaps 10.1.0.1/24 of lan")
        << "it is not the same one";
}

TEST(Config, SharesAddressesWithAnotherGateway) {
    const auto config = parse_config(with("# another", "virtual_address = [\"10.1.0.254\", \"fd76:1::fe\"]"), "");
    ASSERT_TRUE(config) << config.error().what;
    ASSERT_EQ(config->ports[0].virtual_addresses.size(), 2u);
    EXPECT_EQ(link::address_text(config->ports[0].virtual_addresses[1]), "fd76:1::fe");
    EXPECT_TRUE(config->ports[1].virtual_addresses.empty());
    EXPECT_EQ(error_of(with("# another", "virtual_address = \"10.1.0.254/24\"")),
              "gw.toml:11: 10.1.0.254/24 is no IPv4 or IPv6 address");
    EXPECT_EQ(error_of(with("# another", "virtual_address = \"10.1.0.1\"")),
              "gw.toml:11: 10.1.0.1/24 of lan is an address of this gateway alone: a virtual one is set by keepalived");
}

TEST(Config, RelaysDhcpToServers) {
    const auto config = parse_config(
        with("# another", "dhcp_relay = [\"10.9.0.2\", \"10.9.0.3\"]\ndhcpv6_relay = \"2001:db8::5\""), "");
    ASSERT_TRUE(config) << config.error().what;
    EXPECT_EQ(config->ports[0].dhcp_relay, (std::vector{wire::ipv4(10, 9, 0, 2), wire::ipv4(10, 9, 0, 3)}));
    EXPECT_EQ(config->ports[0].dhcpv6_relay, std::vector{*wire::from_string<wire::Ipv6Address>("2001:db8::5")});
    EXPECT_TRUE(config->ports[1].dhcp_relay.empty() && config->ports[1].dhcpv6_relay.empty());
    EXPECT_EQ(config->dhcpv6_enterprise, 0u) << "no Remote-Id is sent";
    const auto numbered = parse_config(with("netns = \"vl-gw\"", "dhcpv6_enterprise = 32473"), "");
    ASSERT_TRUE(numbered) << numbered.error().what;
    EXPECT_EQ(numbered->dhcpv6_enterprise, 32'473u);
}

TEST(Config, DhcpServersAreHostsThatRoutesLeadTo) {
    const auto error = [](const std::string& key, const std::string& servers) {
        return error_of(with("# another", key + " = [" + servers + "]"));
    };
    EXPECT_EQ(error("dhcp_relay", "\"2001:db8::5\""), "gw.toml:11: dhcp_relay 2001:db8::5 is no IPv4 address");
    EXPECT_EQ(error("dhcpv6_relay", "\"10.9.0.2\""), "gw.toml:11: dhcpv6_relay 10.9.0.2 is no IPv6 address");
    EXPECT_EQ(error("dhcp_relay", "\"dhcp\""), "gw.toml:11: dhcp_relay dhcp is no IPv4 address");
    EXPECT_EQ(error("dhcp_relay", "\"255.255.255.255\""),
              "gw.toml:11: dhcp_relay of lan: 255.255.255.255 is no address of a server that routes lead to");
    for (const std::string address : {"ff05::1:3", "fe80::5"})
        EXPECT_EQ(error("dhcpv6_relay", '"' + address + '"'),
                  "gw.toml:11: dhcpv6_relay of lan: " + address + " is no address of a server that routes lead to");
    EXPECT_EQ(error("dhcp_relay", "\"10.9.0.2\", \"10.9.0.3\", \"10.9.0.2\""),
              "gw.toml:11: dhcp_relay of lan has 10.9.0.2 twice");
    EXPECT_EQ(error("dhcp_relay", "\"10.2.0.1\""),
              "gw.toml:11: dhcp_relay of lan: 10.2.0.1 is an address of ib0, not another host's");
    EXPECT_EQ(error("dhcpv6_relay", "\"fd76:1::1\""),
              "gw.toml:11: dhcpv6_relay of lan: fd76:1::1 is an address of lan, not another host's");
    std::string many = "\"10.9.0.1\"";
    for (int last = 2; last < 10; ++last) many += ", \"10.9.0." + std::to_string(last) + '"';
    EXPECT_EQ(error("dhcp_relay", many), "gw.toml:11: dhcp_relay of lan has more than 8 servers");
    auto small = with("impair = \"loss=0.01,seed=7\"", "dhcpv6_relay = \"2001:db8::5\"\nmtu = 1000");
    EXPECT_EQ(error_of(small), "gw.toml:21: dhcpv6_relay of ib0: IPv6 needs an mtu of 1280, and it is 1000");
}

TEST(Config, ClampsTheSegmentsOfAPort) {
    const auto config = parse_config(with("# another", "clamp_mss = true"), "");
    ASSERT_TRUE(config) << config.error().what;
    EXPECT_TRUE(config->ports[0].clamp_mss);
    EXPECT_FALSE(config->ports[1].clamp_mss);
    EXPECT_FALSE(parse_config(with("# another", "clamp_mss = false"), "")->ports[0].clamp_mss);
}

TEST(Config, HasPortsInEitherModeOfIpoib) {
    const auto connected = parse_config(with("type = \"ipoib\"", "type = \"ipoib\"\nmode = \"connected\""), "");
    ASSERT_TRUE(connected) << connected.error().what;
    EXPECT_TRUE(connected->ports[1].connected);
    EXPECT_EQ(connected->ports[1].mtu, 65'520U) << "unless it says otherwise";
    EXPECT_EQ(gateway::datagram_mtu(connected->ports[1]), 2044U);
    EXPECT_FALSE(connected->ports[0].connected);
    const auto datagram = parse_config(with("type = \"ipoib\"", "type = \"ipoib\"\nmode = \"datagram\""), "");
    ASSERT_TRUE(datagram) << datagram.error().what;
    EXPECT_FALSE(datagram->ports[1].connected);
    EXPECT_EQ(datagram->ports[1].mtu, 2044U);
}

TEST(Config, ChecksTheReversePathsOfAPort) {
    using enum forward::ReversePathFilter;
    for (const auto& [text, check] : {std::pair{"off", off}, {"strict", strict}, {"loose", loose}}) {
        const auto config = parse_config(with("# another", "reverse_path = \"" + std::string(text) + "\""), "");
        ASSERT_TRUE(config) << config.error().what;
        EXPECT_EQ(config->ports[0].reverse_path, check) << text;
        EXPECT_EQ(config->ports[1].reverse_path, off);
    }
}

TEST(Config, AcceptsADefaultRoute) {
    EXPECT_TRUE(parse_config(with("10.3.0.0/16", "0.0.0.0/0"), ""));
}

TEST(Config, SampleFilesAreValid) {
    for (const auto* file : {"gateway.toml", "hardware.toml", "roce.toml"}) {
        const auto config = load_config(std::string(VERBLINE_SOURCE) + "/config/" + file);
        EXPECT_TRUE(config) << config.error().what;
    }
}

}  // namespace
}  // namespace verbline::cli
