// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/link/interface.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "datapath/link/ethernet_interface.h"
#include "datapath/wire/ethernet.h"
#include "tests/datapath/link/offload_cases.h"
#include "tests/support/counter.h"

namespace verbline::link {
namespace {

constexpr wire::MacAddress us{{std::byte{2}, {}, {}, {}, {}, std::byte{1}}},
    them{{std::byte{2}, {}, {}, {}, {}, std::byte{2}}};

/// What leaves a device that does everything within `limits`, of what the case asks.
void expect_within(const OffloadCase& sent, const pmd::Capabilities& limits, unsigned cut_in_software) {
    test::OffloadingDevice device(pmd::Carries::ethernet, offloads_of(offload_combinations - 1), 65535);
    device.capabilities().min_tso_segment = limits.min_tso_segment;
    device.capabilities().max_tso_segments = limits.max_tso_segments;
    device.capabilities().max_segments = limits.max_segments;
    EthernetInterface link(device, 0, *test::packet_pool());
    link.set_mac(us);
    link.transmit(sent.packet().release(), ethernet_destination(us, them, wire::ether_type::ipv4));
    link.flush();
    EXPECT_THAT(device.not_offered, ::testing::IsEmpty());
    EXPECT_EQ(test::counter(link, "tx_segmented"), cut_in_software);
    std::vector<test::ByteVector> packets;
    for (const auto& frame : device.frames) packets.emplace_back(frame.begin() + wire::Ethernet::size, frame.end());
    expect_work_done(sent, packets);
}

TEST(EthernetInterface, ADevicesLimitsAreKept) {
    constexpr auto cut = RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_TCP_CKSUM | RTE_MBUF_F_TX_IP_CKSUM;
    const OffloadCase small{.requests = cut, .payload = 2000, .segment = 100};
    expect_within(small, {.min_tso_segment = 101}, 1);
    expect_within(small, {.min_tso_segment = 100}, 0);
    const OffloadCase chain{.requests = cut, .payload = 5000, .segment = 1000, .buffer = 1000};
    expect_within(chain, {.max_tso_segments = 5}, 1);
    expect_within(chain, {.max_tso_segments = 6, .max_segments = 1}, 0);
    const OffloadCase pieces{.requests = RTE_MBUF_F_TX_TCP_CKSUM, .payload = 1200, .buffer = 500};
    expect_within(pieces, {.max_segments = 2}, 0);
}

TEST(EthernetInterface, LargePacketsAreCutBeforeADeviceThatHasFailedAtIt) {
    const OffloadCase large{.requests = RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_TCP_CKSUM | RTE_MBUF_F_TX_IP_CKSUM,
                            .payload = 2000,
                            .segment = 500};
    test::OffloadingDevice device(pmd::Carries::ethernet, offloads_of(offload_combinations - 1), 65535);
    EthernetInterface link(device, 0, *test::packet_pool());
    link.set_mac(us);
    for (const bool segments : {true, false}) {
        device.segments_large = segments;
        device.frames.clear();
        link.transmit(large.packet().release(), ethernet_destination(us, them, wire::ether_type::ipv4));
        link.flush();
        EXPECT_EQ(test::counter(link, "tx_segmented"), segments ? 0u : 1u);
        std::vector<test::ByteVector> packets;
        for (const auto& frame : device.frames) packets.emplace_back(frame.begin() + wire::Ethernet::size, frame.end());
        expect_work_done(large, packets);
    }
}

TEST(EthernetInterface, WorkThatNobodyHereDoesIsRefused) {
    for (const auto request : {RTE_MBUF_F_TX_UDP_SEG, RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_TUNNEL_GTP}) {
        test::OffloadingDevice device(pmd::Carries::ethernet, ~std::uint64_t{0}, 65535);
        EthernetInterface link(device, 0, *test::packet_pool());
        link.set_mac(us);
        auto packet = OffloadCase{.payload = 2000, .segment = 500}.packet();
        packet->ol_flags |= request;
        link.transmit(packet.release(), ethernet_destination(us, them, wire::ether_type::ipv4));
        link.flush();
        EXPECT_THAT(device.frames, ::testing::IsEmpty());
        EXPECT_EQ(test::counter(link, "tx_dropped_bad_request"), 1u);
    }
}

TEST(EthernetInterface, AChainThatNoBufferHoldsIsCountedForADeviceWithoutChains) {
    test::OffloadingDevice device(pmd::Carries::ethernet, 0, 0);
    EthernetInterface link(device, 0, *test::packet_pool());
    link.set_mac(us);
    link.transmit(test::make_packet(test::pattern(5000)).release(),
                  ethernet_destination(us, them, wire::ether_type::ipv4));
    link.flush();
    EXPECT_THAT(device.frames, ::testing::IsEmpty());
    EXPECT_EQ(test::counter(link, "tx_dropped_no_room"), 1u);
}

}  // namespace
}  // namespace verbline::link
