// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/transport/ud.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "datapath/link/mbuf.h"
#include "tests/datapath/link/frames.h"
#include "tests/support/link_frame.h"

namespace verbline::transport {
namespace {

using link::Carrier, test::bytes_of, test::make_packet, test::pattern;

constexpr wire::QKey qkey{0xb1b};
constexpr wire::PKey pkey{0x8001};

/// Two UD queue pairs on one carrier, and a group of the receiver's.
class Ud : public testing::TestWithParam<test::Way> {
protected:
    Carrier carrier() const { return GetParam().from.carrier; }
    UdQueuePair::Attributes us() const { return {GetParam().from, wire::Qpn{0x48}, pkey, qkey}; }
    UdQueuePair::Attributes peer() const {
        auto port = GetParam().from;
        port.mac = test::their_mac, port.gid = to().dgid, port.lid = to().dlid;
        return {port, wire::Qpn{0x49}, pkey, qkey};
    }
    wire::AddressHandle to() const { return GetParam().to; }
    wire::AddressHandle to_group(unsigned n = 1) const {
        auto to = GetParam().to;
        to.global = true;
        to.dlid = wire::Lid{static_cast<std::uint16_t>(0xc000 + n)};
        const auto last = static_cast<std::byte>(n);
        to.dgid = {{std::byte{0xff}, std::byte{0x12}, std::byte{0x40}, std::byte{0x1b}}};
        if (carrier() == Carrier::roce_v2_ipv4) to.dgid = link::gid_of(wire::ipv4(239, 0, 0, 0));
        to.dgid.bytes.back() = last;
        return to;
    }
    static pmd::MulticastAddress group_of(const wire::AddressHandle& to) { return {.mgid = to.dgid, .mlid = to.dlid}; }
    UdQueuePair queue_pair() const {
        UdQueuePair qp(peer());
        qp.attach(group_of(to_group()));
        return qp;
    }

    link::Destination at_peer() const { return ud_destination(us(), to(), test::their_mac, peer().qpn, qkey); }

    /// What the peer says to a datagram; the payload, if it accepts it.
    struct Answer {
        test::Packet mbuf;
        Packet packet;
        std::optional<UdDiscard> discard;
    };
    Answer send(const link::Destination& at, std::size_t payload, const UdQueuePair& at_end) const {
        Answer out{.mbuf = make_packet(pattern(payload)), .packet = {}, .discard = {}};
        EXPECT_TRUE(link::prepend(*out.mbuf, at.header));
        EXPECT_TRUE(finish_datagram(*out.mbuf, at, wire::Psn(0x123456)));
        out.packet.mbuf = out.mbuf.get();
        EXPECT_FALSE(link::open_headers(out.packet.frame(), carrier(), out.packet.arrival));
        EXPECT_FALSE(link::verify(out.packet.frame(), out.packet.arrival));
        EXPECT_FALSE(parse(out.packet));
        out.discard = at_end.discard(out.packet);
        return out;
    }
    Answer send(const link::Destination& at, std::size_t payload = 100) const {
        return send(at, payload, queue_pair());
    }
};

std::vector<test::Way> untagged() {
    auto all = test::ways();
    std::erase_if(all, [](const test::Way& way) { return way.from.vlan.has_value(); });
    return all;
}
INSTANTIATE_TEST_SUITE_P(Carriers, Ud, testing::ValuesIn(untagged()), [](const auto& way) { return way.param.name; });

TEST_P(Ud, ArrivesAsItWasSent) {
    for (const std::size_t size : {1, 2, 3, 4, 5, 32, 63, 1500, 2047, 2048}) {
        const auto got = send(at_peer(), size);
        ASSERT_FALSE(got.discard) << size;
        EXPECT_TRUE(std::ranges::equal(got.packet.payload, pattern(size))) << size;
        EXPECT_EQ(got.packet.psn, wire::Psn(0x123456));
        EXPECT_EQ(deth_of(got.packet).get<&wire::Deth::source>(), us().qpn);
    }
}

TEST_P(Ud, IsReadByTheGeneralWay) {
    const auto got = send(at_peer());
    const auto arrival = test::open_frame(got.packet.frame());
    ASSERT_TRUE(arrival);
    EXPECT_EQ(arrival->bth_at, got.packet.arrival.bth_at);
    EXPECT_EQ(arrival->end, got.packet.arrival.end);
}

TEST_P(Ud, GroupsGoToTheMulticastQueuePair) {
    const auto at = ud_destination(us(), to_group(), test::their_mac, wire::Qpn{7}, qkey);
    const auto got = send(at);
    EXPECT_FALSE(got.discard);
    EXPECT_EQ(got.packet.destination, wire::multicast_qpn);
    EXPECT_NE(at.header.bytes[0] & std::byte{1}, std::byte{0}) << "and to a group's Ethernet address";
}

TEST_P(Ud, NamesEachReasonForADiscard) {
    const auto to_another = [&](wire::Qpn qpn, wire::PKey of, wire::QKey key) {
        auto from = us();
        from.pkey = of;
        return *send(ud_destination(from, to(), {}, qpn, key)).discard;
    };
    EXPECT_EQ(to_another(wire::Qpn{0x50}, pkey, qkey), UdDiscard::rx_dropped_qpn);
    EXPECT_EQ(to_another(peer().qpn, wire::PKey{0x8002}, wire::QKey{1}), UdDiscard::rx_dropped_pkey) << "comes first";
    EXPECT_EQ(to_another(peer().qpn, pkey, wire::QKey{0xb1c}), UdDiscard::rx_dropped_qkey);

    auto elsewhere = to();
    elsewhere.dlid = wire::Lid{5}, elsewhere.dgid.bytes.back() ^= std::byte{8};
    EXPECT_EQ(send(ud_destination(us(), elsewhere, {}, peer().qpn, qkey)).discard, UdDiscard::rx_dropped_address);
    const auto others = ud_destination(us(), to_group(2), {}, {}, qkey);
    EXPECT_EQ(send(others).discard, UdDiscard::rx_dropped_multicast);

    auto as_peer = peer();
    as_peer.port.mac = test::our_mac;
    EXPECT_EQ(send(ud_destination(as_peer, to_group(), {}, {}, qkey)).discard, UdDiscard::rx_dropped_own_multicast);
}

TEST_P(Ud, AGroupsPacketForOneQueuePairIsNobodys) {
    auto at = ud_destination(us(), to_group(), {}, {}, qkey);
    BthWords{.opcode = 0x64, .pkey = pkey, .destination = peer().qpn}.emit(
        wire::MutableBytes(at.header.bytes).subspan(at.bth_at));
    EXPECT_EQ(send(at).discard, UdDiscard::rx_dropped_qpn);
}

TEST_P(Ud, OnlySendsAreAccepted) {
    auto at = at_peer();
    at.header.bytes[at.bth_at] = std::byte{0x65};  // with immediate
    EXPECT_EQ(send(at).discard, UdDiscard::rx_dropped_opcode);
    at.header.bytes[at.bth_at] = std::byte{0x04};  // of RC
    EXPECT_EQ(send(at).discard, UdDiscard::rx_dropped_opcode);
}

TEST_P(Ud, LimitedMembersReachFullOnesOnly) {
    auto limited = us();
    limited.pkey = wire::PKey{0x0001};
    const auto at = ud_destination(limited, to(), {}, peer().qpn, qkey);
    EXPECT_FALSE(send(at).discard);
    auto limited_peer = peer();
    limited_peer.pkey = limited.pkey;
    EXPECT_EQ(send(at, 100, UdQueuePair(limited_peer)).discard, UdDiscard::rx_dropped_pkey);
}

TEST_P(Ud, ADetachedGroupIsNobodys) {
    auto qp = queue_pair();
    qp.attach(group_of(to_group()));
    qp.detach(group_of(to_group()));
    EXPECT_EQ(send(ud_destination(us(), to_group(), {}, {}, qkey), 100, qp).discard, UdDiscard::rx_dropped_multicast)
        << "attaching twice counts once";
}

TEST_P(Ud, RefusesAPacketWithoutRoomForItsTrailer) {
    auto packet = make_packet(pattern(16));
    ASSERT_TRUE(link::prepend(*packet, at_peer().header));
    ASSERT_NE(rte_pktmbuf_append(packet.get(), rte_pktmbuf_tailroom(packet.get())), nullptr);
    const auto before = packet->pkt_len;
    EXPECT_FALSE(finish_datagram(*packet, at_peer(), wire::Psn(1)));
    EXPECT_EQ(packet->pkt_len, before);
}

TEST(UdQueuePair, NumbersItsPackets) {
    UdQueuePair qp({});
    const auto first = qp.next_psn();
    EXPECT_EQ(qp.next_psn() - first, 1);
}

}  // namespace
}  // namespace verbline::transport
