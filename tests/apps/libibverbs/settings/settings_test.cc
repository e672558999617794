// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/settings/settings.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "datapath/link/ip_gid.h"
#include "datapath/wire/text.h"

namespace verbline::verbs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Variables = std::map<std::string, std::string>;

Environment of(Variables variables) {
    return [variables = std::move(variables)](const char* name) -> std::optional<std::string> {
        const auto found = variables.find(name);
        return found == variables.end() ? std::nullopt : std::optional(found->second);
    };
}

std::string error_of(Variables variables) {
    const auto settings = settings_from_environment(of(std::move(variables)));
    return settings ? "accepted" : settings.error().what;
}

TEST(ParseLink, TakesEveryKind) {
    EXPECT_EQ(parse_link("hub:lab").value(), Link(HubLink{"lab"}));
    EXPECT_EQ(parse_link("memif:/run/a.sock").value(), Link(pmd::MemifSpec{"/run/a.sock", false}));
    EXPECT_EQ(parse_link("memif:/run/a.sock,server").value(), Link(pmd::MemifSpec{"/run/a.sock", true}));
    EXPECT_EQ(parse_link("eth:enp1s0").value(), Link(pmd::EthernetSpec{"enp1s0"}));
    EXPECT_EQ(parse_link("tap:t0,netns=lab,queues=2").value(), Link(pmd::TapSpec{"t0", "lab", 2}));
    EXPECT_EQ(parse_link("ib:H2@vl").value(), Link(InfinibandLink{"H2", "vl"}));
    EXPECT_EQ(parse_link("ib:a@b@vl").value(), Link(InfinibandLink{"a@b", "vl"}));
    EXPECT_EQ(parse_link("dpdk:net_pcap0,iface=a").value(), Link(pmd::DpdkSpec{"net_pcap0,iface=a"}));
}

TEST(ParseLink, TextRoundTrip) {
    for (const auto* written : {"hub:lab", "memif:/run/a.sock", "memif:/run/a.sock,server", "eth:enp1s0", "tap:t0",
                                "tap:t0,netns=lab,queues=2", "ib:H2@vl", "dpdk:0000:03:00.1"})
        EXPECT_EQ(text(parse_link(written).value()), written);
}

TEST(ParseLink, RefusesWhatItDoesNotUnderstand) {
    for (const auto* written : {"",
                                "hub",
                                "hub:",
                                "hub:../x",
                                "hub:a/b",
                                "hub:.a",
                                "hub:-a",
                                "eth:",
                                "eth:a/b",
                                "eth:a-name-of-16-char",
                                "ib:",
                                "ib:H2",
                                "ib:@vl",
                                "ib:H2@",
                                "ib:H2@a/b",
                                "memif:",
                                "memif:/a,client",
                                "tap:",
                                "dpdk:",
                                "umad:mlx5_0",
                                "lan0",
                                ":x",
                                "hub:a b",
                                "eth:a\n"})
        EXPECT_FALSE(parse_link(written)) << written;
    EXPECT_THAT(parse_link("serial:0").error().what, HasSubstr("`serial:0`: unknown kind; use hub:NAME"));
}

TEST(ParseAddress, TakesBothFamilies) {
    EXPECT_EQ(parse_address("10.9.0.1/24").value(), (InterfaceAddress{link::gid_of(wire::ipv4(10, 9, 0, 1)), 24}));
    EXPECT_EQ(parse_address("fd00::1/64").value(), (InterfaceAddress{*wire::from_string<wire::Gid>("fd00::1"), 64}));
    EXPECT_EQ(parse_address("10.9.0.1/24%0x8001").value(),
              (InterfaceAddress{link::gid_of(wire::ipv4(10, 9, 0, 1)), 24, wire::PKey{0x8001}}));
}

TEST(ParseAddress, RefusesWhatNoInterfaceHas) {
    for (const auto* written :
         {"10.9.0.1", "10.9.0.1/33", "10.9.0.0/24", "10.9.0.255/24", "127.0.0.1/8", "224.0.0.1/4", "0.0.0.0/0",
          "10.9.0.1/24%0", "fd00::1", "fd00::1/129", "fd00::1/0", "ff02::1/64", "::1/128", "::/64", "x"})
        EXPECT_FALSE(parse_address(written)) << written;
}

TEST(Settings, AreTheDefaultHubWhenNothingIsSet) {
    const auto settings = settings_from_environment(of({}));
    ASSERT_TRUE(settings) << settings.error().what;
    EXPECT_EQ(*settings, Settings{});
    EXPECT_THAT(settings->links, ElementsAre(Link(HubLink{"default"})));
    EXPECT_EQ(settings_from_environment(of({{"VERBLINE_LINK", "  "}, {"VERBLINE_MTU", ""}})).value(), Settings{});
}

TEST(Settings, ComeBackFromTheEnvironmentAsTheyWere) {
    const Settings settings{.links = {HubLink{"lab"}, pmd::EthernetSpec{"eth1"}, InfinibandLink{"H2", "vl"}},
                            .addresses = {parse_address("10.9.0.1/24").value(), parse_address("fd00::1/64").value()},
                            .mtu = 4200,
                            .impair = "loss=0.01,seed=7",
                            .capture = "/tmp/a file.pcapng",
                            .sysfs = "/sys/class",
                            .direct = false};
    Variables variables;
    for (const auto& [name, value] : environment_of(settings)) variables[name] = value;
    EXPECT_EQ(variables["VERBLINE_LINK"], "hub:lab eth:eth1 ib:H2@vl");
    EXPECT_EQ(variables["VERBLINE_IP"], "10.9.0.1/24 fd00::1/64");
    EXPECT_EQ(settings_from_environment(of(variables)).value(), settings);
}

TEST(Settings, NameTheVariableThatIsWrong) {
    EXPECT_THAT(error_of({{"VERBLINE_LINK", "hub:a serial:0"}}), HasSubstr("VERBLINE_LINK: link `serial:0`"));
    EXPECT_THAT(error_of({{"VERBLINE_IP", "10.9.0.1/24 10.9.0.0/24"}}), HasSubstr("VERBLINE_IP: 10.9.0.0/24"));
    for (const auto* mtu : {"575", "65536", "-1", "1500x", "0x1000"})
        EXPECT_THAT(error_of({{"VERBLINE_MTU", mtu}}), HasSubstr("VERBLINE_MTU: ")) << mtu;
    EXPECT_EQ(error_of({{"VERBLINE_DIRECT", "0"}}), "VERBLINE_DIRECT: `0` is neither yes nor no");
}

TEST(Settings, RefuseContradictions) {
    EXPECT_THAT(error_of({{"VERBLINE_LINK", "eth:a eth:a"}}), HasSubstr("`eth:a` is given twice"));
    EXPECT_EQ(error_of({{"VERBLINE_LINK", "hub:a hub:a"}}), "accepted");  // two lanes
    EXPECT_THAT(error_of({{"VERBLINE_IP", "10.9.0.1/24 10.9.0.1/16"}}), HasSubstr("10.9.0.1/16 is given twice"));
    EXPECT_EQ(error_of({{"VERBLINE_LINK", "ib:H2@vl"}, {"VERBLINE_IP", "10.9.0.1/24"}}), "accepted");  // of IPoIB
    EXPECT_EQ(error_of({{"VERBLINE_LINK", "ib:H2@vl hub:a"}, {"VERBLINE_IP", "10.9.0.1/24"}}), "accepted");
    const auto* const in_blue = "10.9.0.1/24%0x8001";
    EXPECT_EQ(error_of({{"VERBLINE_LINK", "ib:H2@vl ib:H3@vl"}, {"VERBLINE_IP", in_blue}}), "accepted");
    EXPECT_THAT(error_of({{"VERBLINE_IP", in_blue}}), HasSubstr("partitions are those of ib:HOST@FABRIC"));
    EXPECT_THAT(error_of({{"VERBLINE_LINK", "ib:H2@vl hub:a"}, {"VERBLINE_IP", in_blue}}), HasSubstr("on Ethernet"));
}

TEST(Settings, AreBounded) {
    std::string links, addresses;
    for (std::size_t i = 0; i <= max_links; ++i) links += "hub:h" + std::to_string(i) + " ";
    for (std::size_t i = 0; i <= max_addresses; ++i) addresses += "10.9.0." + std::to_string(i + 1) + "/24 ";
    EXPECT_THAT(error_of({{"VERBLINE_LINK", links}}), HasSubstr("more than 8 links"));
    EXPECT_THAT(error_of({{"VERBLINE_IP", addresses}}), HasSubstr("more than 8 addresses"));
}

TEST(DeviceNames, CountEachLinkLayerByItself) {
    const std::vector<Link> links{HubLink{"a"}, InfinibandLink{"H2", "vl"}, pmd::EthernetSpec{"b"},
                                  InfinibandLink{"H3", "vl"}};
    EXPECT_THAT(device_names(links), ElementsAre("verbline0", "verbline_ib0", "verbline1", "verbline_ib1"));
}

}  // namespace
}  // namespace verbline::verbs
