// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/link/interface.h"

#include <tuple>

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

/// Combination of offloads, and the largest packet that the device cuts.
class EthernetOffloads : public ::testing::TestWithParam<std::tuple<unsigned, std::uint32_t>> {};

TEST_P(EthernetOffloads, WhatTheDeviceLacksIsDoneInSoftware) {
    const auto [combination, max_tso] = GetParam();
    for (const auto& sent : offload_cases()) {
        SCOPED_TRACE(sent.name);
        test::OffloadingDevice device(pmd::Carries::ethernet, offloads_of(combination), max_tso);
        EthernetInterface link(device, 0, *test::packet_pool());
        link.set_mac(us);
        link.transmit(sent.packet().release(), ethernet_destination(us, them, wire::ether_type::ipv4));
        link.flush();
        EXPECT_THAT(device.not_offered, ::testing::IsEmpty());
        std::vector<test::ByteVector> packets;
        for (const auto& frame : device.frames) packets.emplace_back(frame.begin() + wire::Ethernet::size, frame.end());
        expect_work_done(sent, packets);
    }
}

INSTANTIATE_TEST_SUITE_P(EveryCombination, EthernetOffloads,
                         ::testing::Combine(::testing::Range(0U, offload_combinations),
                                            ::testing::Values(3000U, 65535U)));

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
