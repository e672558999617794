// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/transport/ud.h"

#include <gtest/gtest.h>

namespace verbline::transport {
namespace {

using Packet = link::soft_ib::Datagram;

constexpr wire::Lid group{0xc000};

UdQueuePair queue_pair() {
    UdQueuePair qp(
        {.lid = wire::Lid{3}, .qpn = wire::Qpn{0x48}, .pkey = wire::PKey{0x8001}, .qkey = wire::QKey{0xb1b}});
    qp.attach(group);
    return qp;
}

Packet unicast() {
    return {.slid = wire::Lid{4},
            .dlid = wire::Lid{3},
            .source = wire::Qpn{0x49},
            .destination = wire::Qpn{0x48},
            .pkey = wire::PKey{0x8001},
            .qkey = wire::QKey{0xb1b}};
}

Packet multicast() {
    auto packet = unicast();
    packet.dlid = group;
    packet.destination = wire::multicast_qpn;
    return packet;
}

void expect_discard(const Packet& packet, UdDiscard why) {
    const auto admitted = queue_pair().admit(packet);
    ASSERT_FALSE(admitted);
    EXPECT_EQ(admitted.error(), why);
}

TEST(UdQueuePair, AdmitsWhatIsAddressedToIt) {
    EXPECT_TRUE(queue_pair().admit(unicast()));
    EXPECT_TRUE(queue_pair().admit(multicast()));
}

TEST(UdQueuePair, AdmitsALimitedMembersPacketToAFullMember) {
    auto packet = unicast();
    packet.pkey = wire::PKey{0x0001};
    EXPECT_TRUE(queue_pair().admit(packet));
}

TEST(UdQueuePair, NamesEachReasonForADiscard) {
    auto packet = unicast();
    packet.dlid = wire::Lid{5};
    expect_discard(packet, UdDiscard::rx_dropped_not_ours);

    packet = unicast();
    packet.destination = wire::Qpn{0x50};
    expect_discard(packet, UdDiscard::rx_dropped_qpn);

    packet = unicast();
    packet.pkey = wire::PKey{0x8002};
    expect_discard(packet, UdDiscard::rx_dropped_pkey);

    packet = unicast();
    packet.qkey = wire::QKey{0xb1c};
    expect_discard(packet, UdDiscard::rx_dropped_qkey);

    packet = multicast();
    packet.dlid = wire::Lid{0xc001};
    expect_discard(packet, UdDiscard::rx_dropped_not_ours);

    packet = multicast();
    packet.destination = wire::Qpn{0x48};
    expect_discard(packet, UdDiscard::rx_dropped_qpn);

    packet = multicast();
    packet.slid = wire::Lid{3}, packet.source = wire::Qpn{0x48};
    expect_discard(packet, UdDiscard::rx_dropped_own_multicast);
}

TEST(UdQueuePair, TwoLimitedMembersDoNotMatch) {
    const UdQueuePair limited(
        {.lid = wire::Lid{3}, .qpn = wire::Qpn{0x48}, .pkey = wire::PKey{0x0001}, .qkey = wire::QKey{0xb1b}});
    auto packet = unicast();
    packet.pkey = wire::PKey{0x0001};
    EXPECT_FALSE(limited.admit(packet));
}

TEST(UdQueuePair, ADetachedGroupIsNobodys) {
    auto qp = queue_pair();
    qp.attach(group);
    qp.detach(group);
    EXPECT_FALSE(qp.admit(multicast())) << "attaching twice counts once";
}

TEST(UdQueuePair, NumbersItsPackets) {
    auto qp = queue_pair();
    const auto first = qp.next_psn();
    EXPECT_EQ(qp.next_psn() - first, 1);
}

}  // namespace
}  // namespace verbline::transport
