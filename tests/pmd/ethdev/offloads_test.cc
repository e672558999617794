// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/ethdev/offloads.h"

#include <rte_ethdev.h>

#include <gtest/gtest.h>

namespace verbline::pmd {
namespace {

constexpr Offloads some{
    .rx = RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_SCATTER,
    .tx = RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_TSO | RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE,
    .rss = RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_UDP};

Offloads resolved(std::string_view text, const Offloads& driver = some) {
    return resolve(parse_offloads(text).value(), driver).value();
}
std::string offload_refusal(std::string_view text, const Offloads& driver = some) {
    const auto choice = parse_offloads(text);
    if (!choice) return choice.error().what;
    const auto found = resolve(*choice, driver);
    EXPECT_EQ(found.error().code, EINVAL);
    return found.error().what;
}

TEST(Offloads, AllIsWhatTheDriverHasOfTheUsable) {
    const Offloads want{.rx = RTE_ETH_RX_OFFLOAD_IPV4_CKSUM,
                        .tx = RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_TSO,
                        .rss = some.rss};
    EXPECT_EQ(resolved("all"), want);
    EXPECT_EQ(resolve({}, some).value(), want);
    EXPECT_EQ(resolved("all", {}), Offloads());
}

TEST(Offloads, NoneLeavesRss) {
    EXPECT_EQ(resolved("none"), Offloads{.rss = some.rss});
}

TEST(Offloads, ANameIsOfBothDirections) {
    const auto both = resolved("ipv4-cksum");
    EXPECT_EQ(both.rx, RTE_ETH_RX_OFFLOAD_IPV4_CKSUM);
    EXPECT_EQ(both.tx, RTE_ETH_TX_OFFLOAD_IPV4_CKSUM);
    EXPECT_EQ(resolved("rx-ipv4-cksum").tx, 0u);
    EXPECT_EQ(resolved("tx-ipv4-cksum,tcp-tso").rx, 0u);
    EXPECT_EQ(resolved("tx-ipv4-cksum,tcp-tso").tx, RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_TSO);
    EXPECT_EQ(resolved("tcp-cksum", {.rx = RTE_ETH_RX_OFFLOAD_TCP_CKSUM}).rx, RTE_ETH_RX_OFFLOAD_TCP_CKSUM)
        << "one direction is enough";
}

TEST(Offloads, WhatADriverLacksIsNamedBesideWhatItHas) {
    EXPECT_EQ(offload_refusal("ipv4-cksum,multi-segs"),
              "has no offload multi-segs; it has rx: ipv4-cksum; tx: ipv4-cksum, tcp-tso");
    EXPECT_EQ(offload_refusal("tcp-tso", {}), "has no offload tcp-tso; it has rx: nothing; tx: nothing");
    EXPECT_EQ(offload_refusal("rx-tcp-cksum"),
              "has no offload rx-tcp-cksum; it has rx: ipv4-cksum; tx: ipv4-cksum, tcp-tso");
}

TEST(Offloads, UnknownNamesAreRefusedWithTheKnown) {
    for (const auto* text : {"tso", "", "ipv4-cksum,", "mbuf-fast-free", "rx-tcp-tso", "IPV4_CKSUM", "none,tcp-tso"}) {
        const auto line = offload_refusal(text);
        EXPECT_NE(line.find(" is no offload; there are all, none, ipv4-cksum, udp-cksum, tcp-cksum, tcp-tso, "),
                  line.npos)
            << text << ": " << line;
    }
}

TEST(Offloads, RssTypesTakeThePlaceOfTheUsual) {
    auto choice = OffloadChoice::none();
    ASSERT_TRUE(choose_rss_types("udp", choice));
    EXPECT_EQ(resolve(choice, some).value(), Offloads{.rss = RTE_ETH_RSS_NONFRAG_IPV4_UDP});
    choice = OffloadChoice();
    ASSERT_TRUE(choose_rss_types("ipv4,ipv4-udp", choice));
    EXPECT_EQ(resolve(choice, some).value().rss, some.rss);
    EXPECT_EQ(resolve(choice, some).value().rx, RTE_ETH_RX_OFFLOAD_IPV4_CKSUM) << "offloads stay";
    ASSERT_TRUE(choose_rss_types("tcp", choice));
    EXPECT_EQ(resolve(choice, some).error().what, "does not hash tcp; it hashes ipv4, ipv4-udp");
    const auto unknown = choose_rss_types("ip,tpc", choice);
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.error().what.find("tpc is no RSS type; there are all, ip, tcp, udp, sctp, tunnel, ipv4, "), 0u);
}

TEST(Offloads, NamesAreThoseThatCanBeTyped) {
    EXPECT_EQ(tx_offload_names(RTE_ETH_TX_OFFLOAD_TCP_TSO | RTE_ETH_TX_OFFLOAD_MULTI_SEGS),
              (std::vector<std::string>{"tcp-tso", "multi-segs"}));
    EXPECT_EQ(rx_offload_names(RTE_ETH_RX_OFFLOAD_SCATTER), std::vector<std::string>{"scatter"});
    EXPECT_EQ(rss_type_names(some.rss), (std::vector<std::string>{"ipv4", "ipv4-udp"}));
    for (const auto& name : tx_offload_names(usable_offloads.tx)) EXPECT_TRUE(parse_offloads(name)) << name;
    for (const auto& name : rx_offload_names(usable_offloads.rx)) EXPECT_TRUE(parse_offloads("rx-" + name)) << name;
}

}  // namespace
}  // namespace verbline::pmd
