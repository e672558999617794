// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/neighbour/membership_message.h"

#include <string_view>

#include <gtest/gtest.h>

#include "datapath/link/ip_gid.h"
#include "datapath/neighbour/group_message.h"
#include "datapath/wire/checksum.h"
#include "datapath/wire/text.h"
#include "tests/support/hex.h"

namespace verbline::neighbour::over_membership_messages {
namespace {

using test::from_hex;
using enum wire::GroupRecordType;
using Bytes = std::vector<std::byte>;

wire::Gid gid4(unsigned a, unsigned b, unsigned c, unsigned d) {
    return link::gid_of(wire::ipv4(a, b, c, d));
}
wire::Gid gid6(std::string_view text) {
    return wire::from_string<wire::Gid>(text).value();
}

const auto host = gid4(10, 77, 0, 2), group = gid4(239, 1, 2, 3);
const auto host6 = gid6("fe80::2"), group6 = gid6("ff0e::102");

Bytes igmp(std::string_view message) {
    return igmp_packet(from_hex(message), all_igmp_routers, *link::ipv4_of(host)).bytes;
}
Bytes mld(std::string_view message, const wire::Gid& from = host6) {
    return mld_packet(from_hex(message), all_mld_routers, link::ipv6_of(from)).bytes;
}
MembershipReport report(const Bytes& packet) {
    const auto message = read_membership(packet);
    if (!message || !std::holds_alternative<MembershipReport>(*message)) return {};
    return std::get<MembershipReport>(*message);
}
MembershipQuery query(const Bytes& packet) {
    const auto message = read_membership(packet);
    if (!message || !std::holds_alternative<MembershipQuery>(*message)) return {.response_time = -1};
    return std::get<MembershipQuery>(*message);
}

TEST(MembershipMessage, ReadsReportsOfEveryIgmp) {
    EXPECT_EQ(report(igmp("12 00 0000 ef010203")),
              (MembershipReport{host, MembershipVersion::v1, {{mode_is_exclude, group, 0}}}));
    EXPECT_EQ(report(igmp("16 00 0000 ef010203")),
              (MembershipReport{host, MembershipVersion::v2, {{mode_is_exclude, group, 0}}}));
    EXPECT_EQ(report(igmp("17 00 0000 ef010203")),
              (MembershipReport{host, MembershipVersion::v2, {{change_to_include, group, 0}}}));
    EXPECT_EQ(
        report(igmp("22 00 0000 0000 0002"
                    "05 01 0002 ef010203 0a000001 0a000002 deadbeef"
                    "03 00 0000 ef010204")),
        (MembershipReport{
            host, MembershipVersion::v3, {{allow_new_sources, group, 2}, {change_to_include, gid4(239, 1, 2, 4), 0}}}));
}

TEST(MembershipMessage, ReadsReportsOfEveryMld) {
    constexpr auto in_group = "ff0e0000000000000000000000000102";
    EXPECT_EQ(report(mld(std::string("83 00 0000 0000 0000") + in_group)),
              (MembershipReport{host6, MembershipVersion::v2, {{mode_is_exclude, group6, 0}}}));
    EXPECT_EQ(report(mld(std::string("84 00 0000 0000 0000") + in_group)),
              (MembershipReport{host6, MembershipVersion::v2, {{change_to_include, group6, 0}}}));
    EXPECT_EQ(
        report(mld(std::string("8f 00 0000 0000 0001 06 00 0001") + in_group + "fd000000000000000000000000000001")),
        (MembershipReport{host6, MembershipVersion::v3, {{block_old_sources, group6, 1}}}));
}

TEST(MembershipMessage, ReadsWhatHostsOfOursWrite) {
    const ReportSource source{*link::ipv4_of(host), link::ipv6_of(host6)};
    for (const auto& gid : {group, group6}) {
        const GroupRecord joins{change_to_exclude, gid};
        const auto read = report(report_packet({&joins, 1}, source).bytes);
        EXPECT_EQ(read.version, MembershipVersion::v3);
        ASSERT_EQ(read.records.size(), 1u);
        EXPECT_EQ(read.records[0], (MembershipRecord{change_to_exclude, gid, 0}));
        EXPECT_EQ(report(older_packet(gid, true, source).bytes).records.at(0).type, change_to_include);
    }
}

TEST(MembershipMessage, ReadsQueriesOfEveryVersion) {
    EXPECT_EQ(query(igmp("11 00 0000 00000000")),
              (MembershipQuery{.from = host, .version = MembershipVersion::v1, .response_time = 10 * second}));
    EXPECT_EQ(query(igmp("11 64 0000 ef010203")),
              (MembershipQuery{
                  .from = host, .group = group, .version = MembershipVersion::v2, .response_time = 10 * second}));
    EXPECT_EQ(query(igmp("11 8a 0000 00000000 0a 7d 0001 0a000001")),
              (MembershipQuery{.from = host,
                               .response_time = 208 * 100 * millisecond,
                               .suppress = true,
                               .robustness = 2,
                               .interval = 125 * second,
                               .sources = 1}));
    const std::string none(32, '0');
    EXPECT_EQ(query(mld("82 00 0000 2710 0000" + none)),
              (MembershipQuery{.from = host6, .version = MembershipVersion::v2, .response_time = 10 * second}));
    EXPECT_EQ(query(mld("82 00 0000 2710 0000" + none + "02 7d 0000")).interval, 125 * second);
}

TEST(MembershipMessage, OwnQueriesAreReadAsTheyWereWritten) {
    for (const auto& [from, to] :
         {std::pair{host, wire::Gid{}}, {host, group}, {host6, wire::Gid{}}, {host6, group6}}) {
        for (const Time seconds : {1, 10, 12, 128}) {
            const MembershipQuery sent{.from = from,
                                       .group = to,
                                       .response_time = seconds * second,
                                       .suppress = seconds == 1,
                                       .robustness = 2,
                                       .interval = (seconds + 24) * second};
            const auto packet = query_packet(sent);
            EXPECT_EQ(query(packet.bytes), sent);
            const auto hosts = parse_group_message(packet.bytes);
            ASSERT_TRUE(hosts) << "hosts read it as well";
            EXPECT_EQ(hosts->group, to);
            EXPECT_EQ(hosts->response_time, sent.response_time);
        }
    }
    EXPECT_EQ(wire::to_string(query_packet({.from = host}).destination), "01:00:5e:00:00:01");
    EXPECT_EQ(wire::to_string(query_packet({.from = host6, .group = group6}).destination), "33:33:00:00:01:02");
}

TEST(MembershipMessage, TruncatedReportsAreNone) {
    const auto whole = from_hex("22 00 0000 0000 0002 05 00 0001 ef010203 0a000001 03 00 0000 ef010204");
    for (std::size_t size = 8; size < whole.size(); ++size) {
        const Bytes part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
        EXPECT_FALSE(read_membership(igmp_packet(part, all_igmp_routers, {}).bytes)) << size;
    }
}

TEST(MembershipMessage, IgnoresWhatIsNotOfThisLinkOrNoGroup) {
    auto far = igmp("16 00 0000 ef010203");
    far[8] = std::byte{64};
    EXPECT_FALSE(read_membership(far)) << "TTL";
    EXPECT_FALSE(read_membership(igmp("16 00 0000 0a010203"))) << "no group";
    EXPECT_FALSE(read_membership(igmp("11 64 0000 00000000 02 7d"))) << "neither version's size";
    EXPECT_FALSE(read_membership(mld("83 00 0000 0000 0000 ff0e0000000000000000000000000102", gid6("fd00::1"))));
    EXPECT_FALSE(read_membership(mld("83 00 0000 0000 0000 ff0e0000000000000000000000000102", wire::Gid{})));
    EXPECT_TRUE(read_membership(mld("8f 00 0000 0000 0000", wire::Gid{}))) << "of a host without an address";
    auto broken = igmp("16 00 0000 ef010203");
    broken.back() = std::byte{4};
    EXPECT_FALSE(read_membership(broken)) << "checksum";
    EXPECT_TRUE(report(igmp("22 00 0000 0000 0001 07 00 0000 ef010203")).records.empty()) << "a type to come";
}

}  // namespace
}  // namespace verbline::neighbour::over_membership_messages
