// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/neighbour/group_reports.h"

#include <algorithm>
#include <random>
#include <string_view>

#include <gtest/gtest.h>

#include "datapath/link/ip_gid.h"
#include "datapath/wire/checksum.h"
#include "datapath/wire/ipv4.h"
#include "datapath/wire/ipv6.h"
#include "datapath/wire/mld.h"
#include "datapath/wire/text.h"
#include "tests/support/hex.h"

namespace verbline::neighbour {
namespace {

using test::from_hex, test::to_hex;

wire::Gid gid4(unsigned a, unsigned b, unsigned c, unsigned d) {
    return link::gid_of(wire::ipv4(a, b, c, d));
}
wire::Gid gid6(std::string_view text) {
    return wire::from_string<wire::Gid>(text).value();
}

const auto group = gid4(239, 1, 2, 3);
const auto group6 = gid6("ff0e::102");

ReportSource source() {
    return {wire::ipv4(10, 77, 0, 2), wire::Ipv6Address{gid6("fe80::2").bytes}};
}

std::string destination(const GroupPacket& packet) {
    return wire::to_string(packet.destination);
}

// Queries as routers send them: with the alert option.
std::vector<std::byte> igmp_query(std::string_view message) {
    auto igmp = from_hex(message);
    wire::store16(igmp, 2, wire::InternetChecksum().add(igmp).value());
    auto packet = from_hex("46c0 0000 0000 4000 01 02 0000 0a4d0001 e0000001 94040000");
    packet.insert(packet.end(), igmp.begin(), igmp.end());
    wire::store16(packet, 2, static_cast<std::uint16_t>(packet.size()));
    return packet;
}
std::vector<std::byte> mld_query(std::string_view message) {
    auto mld = from_hex(message);
    const wire::Ipv6Address from{gid6("fe80::1").bytes}, to{gid6("ff02::1").bytes};
    wire::InternetChecksum sum;
    sum.add_pseudo_header(from, to, 58, mld.size());
    wire::store16(mld, 2, sum.add(mld).value());
    auto packet = from_hex(
        "60000000 0000 00 01 fe800000000000000000000000000001 ff020000000000000000000000000001"
        "3a00050200000100");
    packet.insert(packet.end(), mld.begin(), mld.end());
    wire::store16(packet, 4, static_cast<std::uint16_t>(packet.size() - 40));
    return packet;
}
const auto general_query_v2 = igmp_query("1164 0000 00000000");
const auto general_query_v3 = igmp_query("1164 0000 00000000 027d 0000");

/// As a router sees them.
std::vector<GroupRecord> records(const GroupPacket& packet) {
    std::vector<GroupRecord> result;
    const wire::Bytes bytes(packet.bytes);
    if (packet.type == wire::EtherType{0x0800}) {
        const auto message = bytes.subspan(24);
        EXPECT_TRUE(wire::Ipv4::checksum_ok(bytes.first(24)));
        EXPECT_EQ(wire::InternetChecksum().add(message).value(), 0);
        const auto report = wire::IgmpReport::parse(message);
        for (unsigned i = 0; report && i < report->records; ++i) {
            const auto record = wire::IgmpRecord::parse(message.subspan(8 + 8 * i)).value();
            result.push_back({record.type, link::gid_of(record.group)});
        }
    } else {
        const auto message = bytes.subspan(48);
        const auto ip = wire::Ipv6::parse(bytes).value();
        wire::InternetChecksum sum;
        EXPECT_EQ(sum.add_pseudo_header(ip.source, ip.destination, 58, message.size()).add(message).value(), 0);
        const auto report = wire::MldReport::parse(message);
        for (unsigned i = 0; report && i < report->records; ++i) {
            const auto record = wire::MldRecord::parse(message.subspan(8 + 20 * i)).value();
            result.push_back({record.type, link::gid_of(record.group)});
        }
    }
    return result;
}

struct GroupReportsTest : testing::Test {
    GroupReports engine{7};
    Time now = second;

    GroupReportsTest() { engine.set_source(source(), 0); }
    GroupReports::Packets pass(Time time) {
        GroupReports::Packets all;
        const Time end = now + time;
        while (engine.deadline() && *engine.deadline() <= end) {
            now = std::max(now, *engine.deadline());
            std::ranges::move(engine.tick(now), std::back_inserter(all));
        }
        now = end;
        return all;
    }
};

TEST_F(GroupReportsTest, AJoinIsReportedNowAndAgain) {
    const auto first = engine.join(group, now);
    ASSERT_EQ(first.size(), 1u);
    EXPECT_EQ(destination(first[0]), "01:00:5e:00:00:16");
    EXPECT_EQ(to_hex(first[0].bytes), to_hex(from_hex("46c0 0028 0000 4000 01 02 f9aa 0a4d0002 e0000016 94040000"
                                                      "22 00 e8f9 0000 0001 04 00 0000 ef010203")));
    EXPECT_TRUE(engine.join(group, now).empty()) << "once in";
    const auto again = pass(second);
    ASSERT_EQ(again.size(), 1u);
    EXPECT_EQ(again[0].bytes, first[0].bytes);
    EXPECT_FALSE(engine.deadline());
}

TEST_F(GroupReportsTest, ALeaveLikewise) {
    (void)engine.join(group, now);
    (void)pass(second);
    const auto first = engine.leave(group, now);
    ASSERT_EQ(first.size(), 1u);
    EXPECT_EQ(records(first[0]), (std::vector<GroupRecord>{{wire::GroupRecordType::change_to_include, group}}));
    EXPECT_EQ(pass(second).size(), 1u);
    EXPECT_EQ(engine.size(), 0u);
    EXPECT_TRUE(engine.leave(group, now).empty());
}

TEST_F(GroupReportsTest, MldGoesToItsRouters) {
    const auto first = engine.join(group6, now);
    ASSERT_EQ(first.size(), 1u);
    EXPECT_EQ(destination(first[0]), "33:33:00:00:00:16");
    EXPECT_EQ(first[0].type, wire::EtherType{0x86dd});
    EXPECT_EQ(to_hex(first[0].bytes).substr(80, 16), "3a00050200000100") << "router alert";
    EXPECT_EQ(records(first[0]), (std::vector<GroupRecord>{{wire::GroupRecordType::change_to_exclude, group6}}));
}

TEST_F(GroupReportsTest, AQueryIsAnsweredWithinItsTimeByOneReport) {
    (void)engine.join(group, now);
    (void)engine.join(gid4(239, 1, 2, 4), now);
    (void)engine.join(group6, now);
    (void)pass(10 * second);
    engine.received(general_query_v3, now);
    ASSERT_TRUE(engine.deadline());
    EXPECT_LE(*engine.deadline(), now + 10 * second);
    const auto answer = pass(10 * second);
    ASSERT_EQ(answer.size(), 1u) << "the IPv6 group was not asked for";
    EXPECT_EQ(records(answer[0]),
              (std::vector<GroupRecord>{{wire::GroupRecordType::mode_is_exclude, group},
                                        {wire::GroupRecordType::mode_is_exclude, gid4(239, 1, 2, 4)}}));
    engine.received(mld_query("8200 0000 03e8 0000 00000000000000000000000000000000 027d 0000"), now);
    EXPECT_LE(*engine.deadline(), now + second);
    EXPECT_EQ(pass(second).size(), 1u);
}

TEST_F(GroupReportsTest, AQueryForOneGroupIsAnsweredForThatOne) {
    (void)engine.join(group, now);
    (void)engine.join(gid4(239, 1, 2, 4), now);
    (void)pass(10 * second);
    engine.received(igmp_query("110a 0000 ef010203 027d 0000"), now);
    const auto answer = pass(second);
    ASSERT_EQ(answer.size(), 1u);
    EXPECT_EQ(records(answer[0]), (std::vector<GroupRecord>{{wire::GroupRecordType::mode_is_exclude, group}}));
}

TEST_F(GroupReportsTest, AnOlderQuerierIsSpokenToInItsVersion) {
    (void)engine.join(group, now);
    (void)pass(10 * second);
    engine.received(general_query_v2, now);
    const auto answer = pass(10 * second);
    ASSERT_EQ(answer.size(), 1u);
    EXPECT_EQ(destination(answer[0]), "01:00:5e:01:02:03") << "to the group itself";
    EXPECT_EQ(to_hex(wire::Bytes(answer[0].bytes).subspan(24)), "1600f8faef010203");
    const auto leave = engine.leave(group, now);
    ASSERT_EQ(leave.size(), 1u);
    EXPECT_EQ(destination(leave[0]), "01:00:5e:00:00:02");
    EXPECT_EQ(to_hex(wire::Bytes(leave[0].bytes).subspan(24)), "1700f7faef010203");
    EXPECT_FALSE(engine.deadline());
    (void)pass(300 * second);
    EXPECT_EQ(records(engine.join(group, now).at(0)).size(), 1u) << "the older querier is forgotten";
}

TEST_F(GroupReportsTest, AnothersReportSpares) {
    (void)engine.join(group, now);
    (void)pass(10 * second);
    engine.received(general_query_v2, now);
    engine.received(igmp_query("1600 0000 ef010203"), now);
    EXPECT_TRUE(pass(20 * second).empty());
    EXPECT_TRUE(engine.leave(group, now).empty()) << "who reported last says when nobody is left";
    EXPECT_EQ(engine.size(), 0u);
}

TEST_F(GroupReportsTest, Mld1) {
    (void)engine.join(group6, now);
    (void)pass(10 * second);
    engine.received(mld_query("8200 0000 03e8 0000 00000000000000000000000000000000"), now);
    const auto answer = pass(second);
    ASSERT_EQ(answer.size(), 1u);
    EXPECT_EQ(to_hex(answer[0].bytes).substr(96, 4), "8300");
    EXPECT_EQ(destination(answer[0]), "33:33:00:00:01:02");
    const auto done = engine.leave(group6, now);
    ASSERT_EQ(done.size(), 1u);
    EXPECT_EQ(to_hex(done[0].bytes).substr(96, 4), "8400");
    EXPECT_EQ(destination(done[0]), "33:33:00:00:00:02");
}

TEST_F(GroupReportsTest, SomeGroupsAreNeverReported) {
    for (const auto& silent :
         {gid4(224, 0, 0, 1), gid4(10, 0, 0, 1), gid6("ff02::1"), gid6("ff01::5"), gid6("fe80::1")})
        EXPECT_TRUE(engine.join(silent, now).empty());
    EXPECT_EQ(engine.size(), 0u);
}

TEST_F(GroupReportsTest, ANewAddressRepeatsAllReports) {
    (void)engine.join(group, now);
    (void)pass(10 * second);
    auto other = source();
    other.ipv4 = wire::ipv4(10, 77, 0, 9);
    engine.set_source(other, now);
    const auto again = pass(second);
    ASSERT_EQ(again.size(), 2u);
    EXPECT_EQ(wire::Ipv4::parse(again[0].bytes)->source, other.ipv4);
}

TEST_F(GroupReportsTest, ManyGroupsTakeSeveralReports) {
    for (unsigned i = 0; i < 200; ++i) (void)engine.join(gid4(239, 1, 3, i), now);
    (void)pass(10 * second);
    engine.received(general_query_v3, now);
    std::size_t total = 0;
    for (const auto& packet : pass(10 * second)) {
        EXPECT_LE(packet.bytes.size(), 1500u);
        total += records(packet).size();
    }
    EXPECT_EQ(total, 200u);
}

TEST_F(GroupReportsTest, LongTimesAreCoded) {
    EXPECT_EQ(parse_group_message(igmp_query("11ff 0000 00000000 027d 0000"))->response_time,
              31'744 * 100 * millisecond);
    EXPECT_EQ(parse_group_message(igmp_query("1100 0000 00000000"))->response_time, 10 * second) << "version 1";
    EXPECT_EQ(parse_group_message(igmp_query("117f 0000 00000000 027d 0000"))->response_time, 12'700 * millisecond);
}

TEST_F(GroupReportsTest, WhatIsMalformedIsIgnored) {
    (void)engine.join(group, now);
    (void)pass(10 * second);
    std::mt19937 random(3);
    for (const auto& good :
         {general_query_v3, general_query_v2, mld_query("8200 0000 03e8 0000 00000000000000000000000000000000")}) {
        for (std::size_t size = 0; size < good.size(); ++size) engine.received(wire::Bytes(good).first(size), now);
        EXPECT_FALSE(engine.deadline()) << "no truncation is a query";
        for (int i = 0; i < 10'000; ++i) {
            auto bad = good;
            for (int j = 0; j < 3; ++j) bad[random() % bad.size()] = static_cast<std::byte>(random());
            engine.received(bad, now);
            (void)pass(second);
        }
    }
    auto wrong = general_query_v3;
    wrong[26] ^= std::byte{1};
    EXPECT_FALSE(parse_group_message(wrong)) << "checksum";
    wrong = general_query_v3;
    wrong[8] = std::byte{2};
    EXPECT_FALSE(parse_group_message(wrong)) << "not from this link";
}

}  // namespace
}  // namespace verbline::neighbour
