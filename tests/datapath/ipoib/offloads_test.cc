// SPDX-License-Identifier: BSD-3-Clause
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "datapath/ipoib/interface.h"
#include "datapath/wire/ethernet.h"
#include "tests/datapath/link/offload_cases.h"
#include "tests/support/link_frame.h"

namespace verbline::ipoib {
namespace {

using pmd::Carries;

constexpr Identity ours{.port = {.carrier = link::Carrier::soft_ib, .lid = wire::Lid{3}},
                        .qpn = wire::Qpn{0x48},
                        .qkey = wire::QKey{0xb1b}};

/// The IP packet in a frame of the soft fabric; its CRCs are right, or it is none.
test::ByteVector inside(const test::ByteVector& frame) {
    transport::Packet packet;
    const auto mbuf = test::make_packet(frame);
    packet.mbuf = mbuf.get();
    const auto arrival = test::open_frame(packet.frame());
    if (!arrival) return {};
    packet.arrival = *arrival;
    if (transport::parse(packet)) return {};
    return {packet.payload.begin() + 4, packet.payload.end()};
}

/// What the device carries, its offloads, and the largest packet that it cuts.
class IpoibOffloads : public ::testing::TestWithParam<std::tuple<Carries, unsigned, std::uint32_t>> {};

TEST_P(IpoibOffloads, EachPacketLeavesCutAndChecksummed) {
    const auto [carries, combination, max_tso] = GetParam();
    for (const auto& sent : link::offload_cases()) {
        SCOPED_TRACE(sent.name);
        test::OffloadingDevice device(carries, link::offloads_of(combination), max_tso);
        IpoibInterface link(device, 0, *test::packet_pool());
        link.set_port(ours);
        link.transmit(sent.packet().release(),
                      destination(ours, {.dlid = wire::Lid{4}}, wire::Qpn{0x49}, wire::ether_type::ipv4));
        link.flush();
        EXPECT_THAT(device.not_offered, ::testing::IsEmpty());
        std::vector<test::ByteVector> packets;
        for (const auto& bytes : device.frames) {
            packets.push_back(carries == Carries::ethernet ? inside(bytes)
                                                           : test::ByteVector(bytes.begin() + 4, bytes.end()));
        }
        link::expect_work_done(sent, packets);
    }
}

INSTANTIATE_TEST_SUITE_P(EveryCombination, IpoibOffloads,
                         ::testing::Combine(::testing::Values(Carries::ethernet, Carries::datagram),
                                            ::testing::Range(0U, link::offload_combinations),
                                            ::testing::Values(3000U, 65535U)));

}  // namespace
}  // namespace verbline::ipoib
