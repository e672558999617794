// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/config/config.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/apps/verbline/scratch.h"

namespace verbline::cli {
namespace {

constexpr std::string_view good = R"(name = "gw"
netns = "vl-gw"
# a comment

[[port]]
name = "lan"
type = "ethernet"
device = "tap:lan0,netns=lan"
address = ["10.1.0.1/24", "192.168.7.1/30", "fd76:1::1/64"]
mtu = 9000
# another
capture = "/tmp/lan.pcapng"

[[port]]
name = "ib0"
type = "ipoib"
device = ["memif:/run/a.sock,server", "memif:/run/b.sock,server"]
sm = "ibsim:vl,host=H2"
pkey = 0x8001
address = "10.2.0.1/24"
impair = "loss=0.01,seed=7"

[[route]]
to = "10.3.0.0/16"
via = "10.2.0.7"
)";

TEST(Config, ReadsEverything) {
    const auto config = parse_config(good, "gw.toml");
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
    EXPECT_EQ(lan.reverse_path, forward::ReversePath::off) << "the default";
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
    EXPECT_EQ(config->routes[0].to, (wire::Ipv4Prefix{wire::ipv4(10, 3, 0, 0), 16}));
    EXPECT_EQ(config->routes[0].via, wire::ipv4(10, 2, 0, 7));
}

/// The good configuration with one line in place of another.
std::string with(std::string_view line, std::string_view instead) {
    std::string text(good);
    const auto at = text.find(line);
    EXPECT_NE(at, std::string::npos) << line;
    return text.replace(at, line.size(), instead);
}

std::string error_of(const std::string& text) {
    const auto config = parse_config(text, "gw.toml");
    EXPECT_FALSE(config);
    return config ? "" : config.error().what;
}

struct Case {
    std::string_view line, instead;
    std::string_view error;  ///< begins with it
};

class Refuses : public testing::TestWithParam<Case> {};

TEST_P(Refuses, InOneLineThatSaysWhere) {
    const auto [line, instead, expected] = GetParam();
    const auto error = error_of(with(line, instead));
    EXPECT_TRUE(error.starts_with(expected)) << error;
    EXPECT_EQ(error.find('\n'), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    Config, Refuses,
    testing::Values(
        Case{"mtu = 9000", "mut = 9000", "gw.toml:10: unknown key mut in [[port]]; known: name, type,"},
        Case{"# a comment", "threads = 2", "gw.toml:3: unknown key threads in the file's top level; known: name,"},
        Case{"via =", "dev =", "gw.toml:25: unknown key dev in [[route]]; known: to, via"},
        Case{"name = \"gw\"", "", "gw.toml:1: the file's top level needs name"},
        Case{"name = \"gw\"", "name = 7", "gw.toml:1: name must be a string"},
        Case{"name = \"gw\"", "name = \"../gw\"", "gw.toml:1: name ../gw cannot be an instance's"},
        Case{"name = \"gw\"", "name = \"routes\"", "gw.toml:1: name routes cannot be an instance's"},
        Case{"netns = \"vl-gw\"", "netns = \"a/b\"", "gw.toml:2: netns a/b cannot be"},
        Case{"netns = \"vl-gw\"", "netns = \"\"", "gw.toml:2: netns must not be empty"},
        Case{"netns = \"vl-gw\"", "netns = \"vl-gw", "gw.toml:2: "},
        Case{"mtu = 9000", "mtu = 99999999999999999999", "gw.toml:10: "},
        Case{"name = \"lan\"", "name = \"a-name-that-is-too-long\"",
             "gw.toml:5: port name a-name-that-is-too-long cannot"},
        Case{"name = \"lan\"", "name = \"ib0\"", "gw.toml:14: two ports are called ib0; the other is on line 5"},
        Case{"type = \"ethernet\"", "type = \"infiniband\"",
             "gw.toml:7: type infiniband is neither ethernet nor ipoib"},
        Case{"type = \"ethernet\"", "", "gw.toml:5: [[port]] needs type"},
        Case{"type = \"ethernet\"", "type = \"ethernet\"\nsm = \"ibsim:vl,host=H2\"",
             "gw.toml:8: sm is for ports of type ipoib"},
        Case{"type = \"ethernet\"", "type = \"ethernet\"\npkey = 0x8001", "gw.toml:8: pkey is for ports of type ipoib"},
        Case{"type = \"ethernet\"", "type = \"ethernet\"\nlink = \"roce_v2\"",
             "gw.toml:8: link is for ports of type ipoib"},
        Case{"type = \"ipoib\"", "type = \"ipoib\"\nlink = \"roce\"",
             "gw.toml:17: link roce is neither infiniband nor roce_v2"},
        Case{"type = \"ipoib\"", "type = \"ipoib\"\nlink = \"roce_v2\"",
             "gw.toml:18: ib0: a link over RoCE has one device"},
        Case{"device = \"tap:lan0,netns=lan\"", "", "gw.toml:5: lan needs device"},
        Case{"device = \"tap:lan0,netns=lan\"", "device = \"eth1\"", "gw.toml:8: device `eth1`: "},
        Case{"device = \"tap:lan0,netns=lan\"", "device = \"eth:eth1\"",
             "gw.toml:8: device eth:eth1 of lan: eth: carries RDMA alone; an Ethernet port has the whole interface by "
             "dpdk:net_af_packet0,iface=eth1"},
        Case{"device = \"tap:lan0,netns=lan\"", "device = []", "gw.toml:5: lan needs device"},
        Case{"device = \"tap:lan0,netns=lan\"", "device = 4",
             "gw.toml:8: device must be a string or an array of strings"},
        Case{"device = \"tap:lan0,netns=lan\"", "device = [\"tap:a\", 4]", "gw.toml:8: device must be a string"},
        Case{"device = \"tap:lan0,netns=lan\"", "device = [\"tap:a\", \"tap:b\"]",
             "gw.toml:8: lan: an Ethernet port has one"},
        Case{"memif:/run/b.sock,server", "memif:/run/a.sock,server",
             "gw.toml:17: device memif:/run/a.sock,server is used twice"},
        Case{"mtu = 9000", "vlan = 0", "gw.toml:10: vlan must be from 1 to 4094"},
        Case{"mtu = 9000", "vlan = 4095", "gw.toml:10: vlan must be from 1 to 4094"},
        Case{"type = \"ipoib\"", "type = \"ipoib\"\nvlan = 7",
             "gw.toml:17: ib0: an InfiniBand link has no VLANs but partitions"},
        Case{"mtu = 9000", "mtu = 9217", "gw.toml:10: mtu 9217 of lan: Ethernet ports take 68 to 9216"},
        Case{"mtu = 9000", "mtu = 67", "gw.toml:10: mtu 67 of lan"},
        Case{"mtu = 9000", "mtu = \"big\"", "gw.toml:10: mtu must be an integer"},
        Case{"pkey = 0x8001", "mtu = 4093", "gw.toml:19: mtu 4093 of ib0: IPoIB carries at most 2044, or 4092"},
        Case{"pkey = 0x8001", "pkey = 0", "gw.toml:19: pkey must be from 1 to 65535"},
        Case{"pkey = 0x8001", "pkey = 0x8000", "gw.toml:19: pkey 0x8000 of ib0 names no partition"},
        Case{"pkey = 0x8001", "pkey = 0x10000", "gw.toml:19: pkey must be from 1 to 65535"},
        Case{"pkey = 0x8001", "pkey = \"0x8001\"", "gw.toml:19: pkey must be an integer"},
        Case{"sm = \"ibsim:vl,host=H2\"", "", "gw.toml:14: ib0 needs sm"},
        Case{"sm = \"ibsim:vl,host=H2\"", "sm = \"opensm\"", "gw.toml:18: "},
        Case{"\"10.1.0.1/24\"", "\"10.1.0.1\"", "gw.toml:9: 10.1.0.1 is no address with prefix length"},
        Case{"\"10.1.0.1/24\"", "\"10.1.0.256/24\"", "gw.toml:9: 10.1.0.256/24 is no address with prefix length"},
        Case{"\"10.1.0.1/24\"", "\"10.1.0.1/33\"", "gw.toml:9: 10.1.0.1/33 is no address with prefix length"},
        Case{"\"10.1.0.1/24\"", "\"10.1.0.0/24\"", "gw.toml:9: 10.1.0.0/24 is the network itself"},
        Case{"\"10.1.0.1/24\"", "\"10.1.0.255/24\"", "gw.toml:9: 10.1.0.255/24 is the network itself or its broadcast"},
        Case{"\"10.1.0.1/24\"", "\"224.0.0.5/24\"", "gw.toml:9: 224.0.0.5/24 is no unicast address"},
        Case{"\"10.1.0.1/24\"", "\"127.0.0.1/8\"", "gw.toml:9: 127.0.0.1/8 is no unicast address"},
        Case{"\"fd76:1::1/64\"", "\"fd76:1::1\"", "gw.toml:9: fd76:1::1 is no address with prefix length"},
        Case{"\"fd76:1::1/64\"", "\"fd76:1::1/129\"", "gw.toml:9: fd76:1::1/129 is no address with prefix length"},
        Case{"\"fd76:1::1/64\"", "\"ff02::1/64\"", "gw.toml:9: ff02::1/64 is no unicast address"},
        Case{"\"fd76:1::1/64\"", "\"::1/128\"", "gw.toml:9: ::1/128 is no unicast address"},
        Case{"\"fd76:1::1/64\"", "\"fd76:1::/64\"", "gw.toml:9: fd76:1::/64 is the anycast address of the network's"},
        Case{"# another", "clamp_mss = 1", "gw.toml:11: clamp_mss must be true or false"},
        Case{"# another", "reverse_path = \"feasible\"",
             "gw.toml:11: reverse_path feasible is none of off, strict and"},
        Case{"# another", "reverse_path = true", "gw.toml:11: reverse_path must be a string"},
        Case{"mtu = 9000", "mtu = 1279", "gw.toml:10: mtu 1279 of lan: its IPv6 addresses need 1280"},
        Case{"\"10.2.0.1/24\"", "\"fd76:1::9/48\"", "gw.toml:20: fd76:1::9/48 of ib0 overlaps fd76:1::1/64 of lan"},
        Case{"\"10.2.0.1/24\"", "\"10.1.0.9/16\"", "gw.toml:20: 10.1.0.9/16 of ib0 overlaps 10.1.0.1/24 of lan"},
        Case{"\"10.1.0.1/24\"", "\"10.2.9.9/16\"", "gw.toml:20: 10.2.0.1/24 of ib0 overlaps 10.2.9.9/16 of lan"},
        Case{"\"10.3.0.0/16\"", "\"10.3.0.1/16\"",
             "gw.toml:24: 10.3.0.1/16 has bits behind the prefix; did you mean 10.3.0.0/16?"},
        Case{"\"10.3.0.0/16\"", "\"default\"", "gw.toml:24: default is no IPv4 prefix"},
        Case{"\"10.3.0.0/16\"", "\"10.1.0.0/24\"", "gw.toml:24: route to 10.1.0.0/24: that network is lan's own"},
        Case{"\"10.2.0.7\"", "\"10.9.0.7\"", "gw.toml:24: route to 10.3.0.0/16: 10.9.0.7 is on no port's network"},
        Case{"\"10.2.0.7\"", "\"10.2.0.1\"", "gw.toml:24: route to 10.3.0.0/16: via is our own address"},
        Case{"\"10.2.0.7\"", "\"ib0\"", "gw.toml:25: ib0 is no IPv4 address"},
        Case{"[[route]]", "[route]", "gw.toml:23: route must be written as [[route]]"},
        Case{"[[route]]", "[[", "gw.toml:23: "}));

TEST(Config, RefusesASecondRouteToOnePlace) {
    EXPECT_EQ(error_of(std::string(good) + "[[route]]\nto = \"10.3.0.0/16\"\nvia = \"10.2.0.8\"\n"),
              "gw.toml:27: a second route to 10.3.0.0/16; the other is on line 24");
}

constexpr std::string_view over_roce = R"(name = "gw"
[[port]]
name = "ib0"
type = "ipoib"
link = "roce_v2"
device = "eth:eth1"
)";

TEST(Config, IpoibOverRoceNeedsNoSubnetManager) {
    const auto config = parse_config(over_roce, "gw.toml");
    ASSERT_TRUE(config) << config.error().what;
    const auto& port = config->ports[0];
    EXPECT_EQ(port.link, IpoibLink::roce_v2);
    EXPECT_FALSE(port.has_subnet());
    EXPECT_EQ(port.pkey, wire::PKey{0xffff});
    EXPECT_EQ(port.mtu, 1020u) << "the default fits an Ethernet link's 1500";
    EXPECT_EQ(error_of(std::string(over_roce) + "sm = \"ibsim:vl,host=H2\"\n"),
              "gw.toml:7: ib0: a link over RoCE has no subnet manager");
}

/// Ports p0, p1, ... of one device; `vlans`: the line of each.
std::string trunk(const std::vector<std::string>& vlans) {
    std::string text = "name = \"gw\"\n";
    for (std::size_t i = 0; i < vlans.size(); ++i)
        text += "[[port]]\nname = \"p" + std::to_string(i) +
                "\"\ntype = \"ethernet\"\ndevice = \"dpdk:net_af_packet0,iface=eth1\"\n" + vlans[i] + "\n";
    return text;
}

TEST(Config, SharesADeviceByItsVlans) {
    const auto config = parse_config(trunk({"", "vlan = 100", "vlan = 4094"}), "gw.toml");
    ASSERT_TRUE(config) << config.error().what;
    EXPECT_EQ(config->ports[0].vlan, std::nullopt);
    EXPECT_EQ(config->ports[1].vlan, 100);
    EXPECT_EQ(config->ports[2].vlan, 4094);
    EXPECT_EQ(error_of(trunk({"", ""})), "gw.toml:10: device dpdk:net_af_packet0,iface=eth1 is used twice");
    EXPECT_EQ(error_of(trunk({"", "vlan = 7", "vlan = 7"})),
              "gw.toml:16: VLAN 7 of device dpdk:net_af_packet0,iface=eth1 is p1's already");
}

TEST(Config, TakesTheAddressesThatIpv6LinksHave) {
    for (const auto* address : {"fe80::1/64", "fd76:1::1/127", "fd76:1::/127", "fd76:1::/128"}) {
        EXPECT_TRUE(parse_config(with("fd76:1::1/64", address), "")) << address;
    }
    auto both = with("fd76:1::1/64", "fe80::1/64");
    both.replace(both.find("\"10.2.0.1/24\""), 13, "[\"10.2.0.1/24\", \"fe80::1/64\"]");
    EXPECT_TRUE(parse_config(both, "")) << "each link has one of its own";
}

TEST(Config, SaysOfTheDefaultMtuThatItIsTooSmallForIpv6) {
    EXPECT_EQ(error_of(std::string(over_roce) + "address = \"fd76:1::1/64\"\n"),
              "gw.toml:7: mtu 1020 of ib0: its IPv6 addresses need 1280");
}

TEST(Config, ClampsTheSegmentsOfAPort) {
    const auto config = parse_config(with("# another", "clamp_mss = true"), "");
    ASSERT_TRUE(config) << config.error().what;
    EXPECT_TRUE(config->ports[0].clamp_mss);
    EXPECT_FALSE(config->ports[1].clamp_mss);
    EXPECT_FALSE(parse_config(with("# another", "clamp_mss = false"), "")->ports[0].clamp_mss);
}

TEST(Config, ChecksTheReversePathsOfAPort) {
    using enum forward::ReversePath;
    for (const auto& [text, check] : {std::pair{"off", off}, {"strict", strict}, {"loose", loose}}) {
        const auto config = parse_config(with("# another", "reverse_path = \"" + std::string(text) + "\""), "");
        ASSERT_TRUE(config) << config.error().what;
        EXPECT_EQ(config->ports[0].reverse_path, check) << text;
        EXPECT_EQ(config->ports[1].reverse_path, off);
    }
}

TEST(Config, ADefaultRouteIsARoute) {
    EXPECT_TRUE(parse_config(with("10.3.0.0/16", "0.0.0.0/0"), ""));
}

TEST(Config, NeedsAPort) {
    EXPECT_EQ(error_of("name = \"gw\"\n"), "gw.toml:1: there is no [[port]]");
    EXPECT_EQ(error_of("name = \"gw\"\nport = 3\n"), "gw.toml:2: port must be written as [[port]]");
    EXPECT_EQ(error_of("name = \"gw\"\nport = [3]\n"), "gw.toml:2: port must be written as [[port]]");
}

TEST(Config, QuotesNoControlCharacters) {
    const auto error = error_of("\"a\\u001b[2Jb\\n\" = 1\n");
    EXPECT_TRUE(error.starts_with("gw.toml:1: unknown key a?[2Jb? in")) << error;
}

TEST(Config, HasLimits) {
    std::string many = "name = \"gw\"\n";
    for (int i = 0; i < 65; ++i) {
        const auto n = std::to_string(i);
        many.append("[[port]]\nname = \"p").append(n).append("\"\ntype = \"ethernet\"\ndevice = \"tap:t").append(n);
        many.append("\"\n");
    }
    EXPECT_TRUE(error_of(many).starts_with("gw.toml:1: more than 64 ports")) << error_of(many);
}

TEST(Config, SaysWhatIsWrongWithTheFileItself) {
    const Scratch scratch;
    EXPECT_EQ(load_config("/no/such.toml").error().what, "/no/such.toml: cannot be read: No such file or directory");
    EXPECT_EQ(load_config(scratch.path()).error().what, scratch.path().string() + ": cannot be read: Is a directory");
    const auto large = scratch.write("large.toml", std::string(2 << 20, '#'));
    EXPECT_EQ(load_config(large).error().what, large + ": larger than 1 MiB, no configuration");
    const auto file = scratch.write("gw.toml", good);
    EXPECT_TRUE(load_config(file));
    EXPECT_EQ(load_config(file)->file, file);
}

TEST(ConfigError, WithoutAFileIsTheBareReason) {
    EXPECT_EQ(config_error("", 0, "P_Key 0x8001 is not in the table").what, "P_Key 0x8001 is not in the table");
    EXPECT_EQ(config_error("f", 3, "x").what, "f:3: x");
}

TEST(Config, TheSamplesAreGood) {
    for (const auto* file : {"gateway.toml", "hardware.toml", "roce.toml"}) {
        const auto config = load_config(std::string(VERBLINE_SOURCE) + "/config/" + file);
        EXPECT_TRUE(config) << config.error().what;
    }
}

}  // namespace
}  // namespace verbline::cli
