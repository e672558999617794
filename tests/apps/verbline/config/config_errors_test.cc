// SPDX-License-Identifier: BSD-3-Clause
// Configurations that are rejected, and the line that says why.
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "apps/verbline/config/config.h"
#include "tests/apps/verbline/config/config_fixture.h"
#include "tests/apps/verbline/scratch.h"

namespace verbline::cli {
namespace {

using test_config::error_of, test_config::valid_text, test_config::with;

struct Case {
    std::string_view line, instead;
    std::string_view error;  ///< begins with it
};

class Refuses : public testing::TestWithParam<Case> {};

TEST_P(Refuses, InvalidTextInOneLineWithItsPosition) {
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
        Case{"via =", "dev =", "gw.toml:25: unknown key dev in [[route]]; known: to, via, port"},
        Case{"name = \"gw\"", "", "gw.toml:1: the file's top level needs name"},
        Case{"name = \"gw\"", "name = 7", "gw.toml:1: name must be a string"},
        Case{"name = \"gw\"", "name = \"../gw\"", "gw.toml:1: name ../gw cannot be an instance's"},
        Case{"name = \"gw\"", "name = \"routes\"", "gw.toml:1: name routes cannot be an instance's"},
        Case{"netns = \"vl-gw\"", "netns = \"a/b\"", "gw.toml:2: netns a/b cannot be"},
        Case{"netns = \"vl-gw\"", "netns = \"\"", "gw.toml:2: netns must not be empty"},
        Case{"netns = \"vl-gw\"", "netns = \"vl-gw", "gw.toml:2: "},
        Case{"netns = \"vl-gw\"", "dhcpv6_enterprise = 0", "gw.toml:2: dhcpv6_enterprise must be from 1 to 4294967295"},
        Case{"mtu = 9000", "mtu = 99999999999999999999", "gw.toml:10: "},
        Case{"name = \"lan\"", "name = \"a-name-that-is-too-long\"",
             "gw.toml:5: port name a-name-that-is-too-long cannot"},
        Case{"impair = \"loss=0.01,seed=7\"", "capture = \"/tmp/lan.pcapng\"",
             "gw.toml:21: capture of ib0 is that of lan: each needs a file of its own"},
        Case{"name = \"lan\"", "name = \"ib0\"", "gw.toml:14: two ports are called ib0; the other is on line 5"},
        Case{"type = \"ethernet\"", "type = \"infiniband\"",
             "gw.toml:7: type infiniband is neither ethernet nor ipoib"},
        Case{"type = \"ethernet\"", "", "gw.toml:5: [[port]] needs type"},
        Case{"type = \"ethernet\"", "type = \"ethernet\"\nsm = \"ibsim:vl,host=H2\"",
             "gw.toml:8: sm is for ports of type ipoib"},
        Case{"type = \"ethernet\"", "type = \"ethernet\"\npkey = 0x8001", "gw.toml:8: pkey is for ports of type ipoib"},
        Case{"type = \"ethernet\"", "type = \"ethernet\"\nlink = \"roce_v2\"",
             "gw.toml:8: link is for ports of type ipoib"},
        Case{"address = \"10.2.0.1/24\"", "address = \"10.2.0.1/24\"\nadvertise = 1", "gw.toml:21: advertise must be"},
        Case{"address = \"10.2.0.1/24\"", "address = \"10.2.0.1/24\"\nadvertise = true\nmtu = 1000",
             "gw.toml:21: advertise of ib0: IPv6 needs an mtu of 1280, and it is 1000"},
        Case{"type = \"ipoib\"", "type = \"ipoib\"\nlink = \"roce\"",
             "gw.toml:17: link roce is neither infiniband nor roce_v2"},
        Case{"type = \"ipoib\"", "type = \"ipoib\"\nlink = \"roce_v2\"",
             "gw.toml:18: ib0: a link over RoCE has one device"},
        Case{"type = \"ethernet\"", "type = \"ethernet\"\nmode = \"connected\"",
             "gw.toml:8: mode is for ports of type ipoib"},
        Case{"type = \"ipoib\"", "type = \"ipoib\"\nmode = \"fast\"",
             "gw.toml:17: mode fast is neither datagram nor connected"},
        Case{"type = \"ipoib\"", "type = \"ipoib\"\nmode = \"connected\"\nmtu = 1500",
             "gw.toml:18: mtu 1500 of ib0: connected mode carries 2044 to 65520"},
        Case{"device = \"tap:lan0,netns=lan\"", "", "gw.toml:5: lan needs device"},
        Case{"device = \"tap:lan0,netns=lan\"", "device = \"eth1\"", "gw.toml:8: device `eth1`: "},
        Case{"device = \"tap:lan0,netns=lan\"", "device = \"eth:eth1\"",
             "gw.toml:8: device eth:eth1 of lan: eth: carries RDMA alone; an Ethernet port has the whole interface by "
             "dpdk:net_af_packet0,iface=eth1"},
        Case{"device = \"tap:lan0,netns=lan\"", "device = \"hca:mlx5_0/1\"",
             "gw.toml:8: device hca:mlx5_0/1 of lan: hca: carries IPoIB alone; "},
        Case{"memif:/run/b.sock,server", "hca:mlx5_0/1",
             "gw.toml:17: device hca:mlx5_0/1 of ib0: an adapter's port is joined with no other device"},
        Case{"device = [\"memif:/run/a.sock,server\", \"memif:/run/b.sock,server\"]", "device = \"hca:mlx5_0/1\"",
             "gw.toml:18: sm ibsim:vl,host=H2 of ib0 is not that of its device: say umad:mlx5_0,port=1"},
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
        Case{"\"10.3.0.0/16\"", "\"default\"", "gw.toml:24: default is no network such as"},
        Case{"\"10.3.0.0/16\"", "\"10.1.0.0/24\"", "gw.toml:24: route to 10.1.0.0/24: that network is lan's own"},
        Case{"\"10.2.0.7\"", "\"10.9.0.7\"", "gw.toml:24: route to 10.3.0.0/16: 10.9.0.7 is on no network of any port"},
        Case{"\"10.2.0.7\"", "\"10.2.0.1\"", "gw.toml:24: route to 10.3.0.0/16: via is our own address"},
        Case{"\"10.2.0.7\"", "\"ib0\"", "gw.toml:25: ib0 is no IPv4 or IPv6 address"},
        Case{"\"10.2.0.7\"", "\"10.2.0.7\"\nport = \"lan\"",
             "gw.toml:24: route to 10.3.0.0/16: 10.2.0.7 is on no network of lan"},
        Case{"\"10.2.0.7\"", "\"10.2.0.7\"\nport = \"wan\"", "gw.toml:24: route to 10.3.0.0/16: there is no port wan"},
        Case{"\"10.2.0.7\"", "\"fe80::7\"",
             "gw.toml:24: route to 10.3.0.0/16: fe80::7 is on every link; add port = \"...\" to say on which"},
        Case{"\"10.2.0.7\"", "\"fd76:9::7\"",
             "gw.toml:24: route to 10.3.0.0/16: fd76:9::7 is on no network of any port"},
        Case{"\"10.3.0.0/16\"", "\"fd76:3::/48\"",
             "gw.toml:24: route to fd76:3::/48: an IPv6 network has no IPv4 gateway, as 10.2.0.7 is"},
        Case{"\"10.3.0.0/16\"", "\"fd76:3::1/48\"",
             "gw.toml:24: fd76:3::1/48 has bits behind the prefix; did you mean fd76:3::/48?"},
        Case{"[[route]]", "[route]", "gw.toml:23: route must be written as [[route]]"},
        Case{"[[route]]", "[[", "gw.toml:23: "}));

TEST(Config, RefusesASecondRouteToOnePlace) {
    EXPECT_EQ(error_of(std::string(valid_text) + "[[route]]\nto = \"10.3.0.0/16\"\nvia = \"10.2.0.8\"\n"),
              "gw.toml:27: a second route to 10.3.0.0/16; the other is on line 24");
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

TEST(Config, ReportsUnreadableFiles) {
    const Scratch scratch;
    EXPECT_EQ(load_config("/no/such.toml").error().what, "/no/such.toml: cannot be read: No such file or directory");
    EXPECT_EQ(load_config(scratch.path()).error().what, scratch.path().string() + ": cannot be read: Is a directory");
    const auto large = scratch.write("large.toml", std::string(2 << 20, '#'));
    EXPECT_EQ(load_config(large).error().what, large + ": larger than 1 MiB, no configuration");
    const auto file = scratch.write("gw.toml", valid_text);
    EXPECT_TRUE(load_config(file));
    EXPECT_EQ(load_config(file)->file, file);
}

TEST(ConfigError, OmitsTheFileIfThereIsNone) {
    EXPECT_EQ(config_error("", 0, "P_Key 0x8001 is not in the table").what, "P_Key 0x8001 is not in the table");
    EXPECT_EQ(config_error("f", 3, "x").what, "f:3: x");
}

}  // namespace
}  // namespace verbline::cli
