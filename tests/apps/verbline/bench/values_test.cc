// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/values.h"

#include <gtest/gtest.h>

namespace verbline::bench {
namespace {

using traffic::Rate;
using traffic::RateUnit;

TEST(ParseRate, KnowsPacketsBitsAndPartsOfALine) {
    EXPECT_EQ(parse_rate("1.5Mpps").value(), AskedRate(Rate{RateUnit::frames, 1.5e6}));
    EXPECT_EQ(parse_rate("200kpps").value(), AskedRate(Rate{RateUnit::frames, 2e5}));
    EXPECT_EQ(parse_rate("7pps").value(), AskedRate(Rate{RateUnit::frames, 7}));
    EXPECT_EQ(parse_rate("10Gbps").value(), AskedRate(Rate{RateUnit::frame_bits, 1e10}));
    EXPECT_EQ(parse_rate("64kbps").value(), AskedRate(Rate{RateUnit::frame_bits, 64e3}));
    EXPECT_EQ(parse_rate("12.5%").value(), AskedRate(LineShare{0.125}));
}

TEST(ParseRate, RefusesWhatIsNone) {
    for (const auto* text :
         {"", "pps", "1", "1 Mpps", "-1Mpps", "0pps", "0%", "101%", "1mpps", "nanpps", "infpps", "1e99bps"})
        EXPECT_FALSE(parse_rate(text)) << text;
    EXPECT_EQ(parse_rate("fast").error().what, "--rate: fast is no rate such as 1.5Mpps, 10Gbps or 50%");
}

TEST(ParseNumbers, TakesOneOrARange) {
    EXPECT_EQ(parse_numbers("--x", "7", 0, 9).value(), (traffic::Values<std::uint16_t>{7, 1}));
    EXPECT_EQ(parse_numbers("--x", "0-65535", 0, 65535).value(), (traffic::Values<std::uint16_t>{0, 65536}));
    for (const auto* text : {"", "-", "1-", "-1", "5-4", "10", "1-10", "1-2-3", "a"})
        EXPECT_FALSE(parse_numbers("--x", text, 0, 9)) << text;
    EXPECT_EQ(parse_numbers("--vlan", "0", 1, 4094).error().what, "--vlan: 0 is not N or FIRST-LAST, from 1 to 4094");
}

TEST(ParseQpns, TakesBothBasesAndNoManagementQueuePair) {
    EXPECT_EQ(parse_qpns("--x", "0x100-511").value(), (traffic::Values<wire::Qpn>{wire::Qpn{256}, 256}));
    EXPECT_EQ(parse_qpns("--x", "0xfffffe").value(), (traffic::Values<wire::Qpn>{wire::Qpn{0xff'fffe}, 1}));
    for (const auto* text : {"", "0x", "1", "0xffffff", "2-1", "100-", "0x1g"})
        EXPECT_FALSE(parse_qpns("--x", text)) << text;
    EXPECT_EQ(parse_qpns("--destination-qpn", "1").error().what,
              "--destination-qpn: 1 is not N or FIRST-LAST, from 2 to 0xfffffe");
}

TEST(ParseAddresses, CountToTheLastOne) {
    EXPECT_EQ(parse_ipv4("--source-ip", "10.0.0.1").value().count, 1u);
    EXPECT_EQ(parse_ipv4("--source-ip", "10.0.0.1-10.0.1.0").value().count, 256u);
    EXPECT_EQ(parse_ipv6("--source-ip", "fd00::1-fd00::1:0").value().count, 65536u);
    EXPECT_EQ(parse_macs("--source-mac", "02:00:00:00:00:01-02:00:00:00:00:03").value().count, 3u);
}

TEST(ParseAddresses, DifferInTheLastFourBytesOnly) {
    EXPECT_FALSE(parse_ipv6("--source-ip", "fd00::1-fd01::1"));
    EXPECT_FALSE(parse_macs("--source-mac", "02:00:00:00:00:01-03:00:00:00:00:01"));
    EXPECT_FALSE(parse_ipv4("--source-ip", "10.0.0.2-10.0.0.1"));
    EXPECT_FALSE(parse_ipv4("--source-ip", "fd00::1"));
    EXPECT_EQ(parse_ipv4("--source-ip", "here").error().what,
              "--source-ip: here is not like 198.18.0.1 or 198.18.0.1-198.18.3.232");
}

TEST(ParseList, TakesNumbersBetweenItsBounds) {
    EXPECT_EQ(parse_list("--size", "64,28,1500", 28, 1500).value(), (std::vector<std::uint32_t>{64, 28, 1500}));
    for (const auto* text : {"", ",", "64,", ",64", "27", "1501", "64 ", "0x40", "-64", "99999999999"})
        EXPECT_FALSE(parse_list("--size", text, 28, 1500)) << text;
    EXPECT_EQ(parse_list("--size", "64,27", 28, 1500).error().what, "--size: 27 is no number from 28 to 1500");
}

TEST(ParseLcores, TakesListsAndRanges) {
    EXPECT_EQ(parse_lcores("1,3-5").value(), (std::vector<unsigned>{1, 3, 4, 5}));
    for (const auto* text : {"", ",", "1,", "a", "3-1", "99999999"}) EXPECT_FALSE(parse_lcores(text)) << text;
}

}  // namespace
}  // namespace verbline::bench
