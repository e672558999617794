// SPDX-License-Identifier: BSD-3-Clause
// Every combination of a device's offloads, on every carrier, with every kind of request: what leaves is what leaves a
// device that does nothing, byte for byte.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "datapath/ipoib/interface.h"
#include "datapath/link/ethernet_interface.h"
#include "datapath/wire/ethernet.h"
#include "tests/datapath/link/frames.h"
#include "tests/datapath/link/offload_cases.h"
#include "tests/support/link_frame.h"

namespace verbline::ipoib {
namespace {

using link::OffloadCase, test::ByteVector;
using pmd::Carries;

/// A device of some offloads, and the frames that a packet has become.
using Send = std::vector<ByteVector> (*)(test::OffloadingDevice& device, const OffloadCase& sent, const test::Way& way);

std::vector<ByteVector> by_ethernet(test::OffloadingDevice& device, const OffloadCase& sent, const test::Way&) {
    link::EthernetInterface link(device, 0, *test::packet_pool());
    link.set_mac(test::our_mac);
    link.transmit(sent.packet().release(),
                  link::ethernet_destination(test::our_mac, test::their_mac, wire::ether_type::ipv4));
    link.flush();
    return device.frames;
}

std::vector<ByteVector> by_ipoib(test::OffloadingDevice& device, const OffloadCase& sent, const test::Way& way) {
    const Identity us{.port = way.from, .qpn = wire::Qpn{0x48}, .qkey = wire::QKey{0xb1b}};
    IpoibInterface link(device, 0, *test::packet_pool());
    link.set_port(us);
    link.transmit(sent.packet().release(),
                  destination(us, way.to, wire::Qpn{0x49}, wire::ether_type::ipv4, test::their_mac));
    link.flush();
    return device.frames;
}

struct CarrierCase {
    std::string name;
    Carries carries = Carries::ethernet;
    Send send = by_ipoib;
    test::Way way = {};
    bool offloads_reach_ip = false;  ///< of a device on this carrier

    friend std::ostream& operator<<(std::ostream& out, const CarrierCase& carrier) { return out << carrier.name; }
};

std::vector<CarrierCase> carriers() {
    const auto ways = test::ways();
    std::vector<CarrierCase> all{
        {.name = "Ethernet", .send = by_ethernet, .offloads_reach_ip = true},
        {.name = "Datagrams", .carries = Carries::datagram, .way = ways.back(), .offloads_reach_ip = true}};
    for (const auto& way : ways) {
        if (!way.from.vlan) all.push_back({.name = way.name, .way = way});
    }
    return all;
}

/// The IP packet in a frame; its CRCs are right, or it is none.
ByteVector inside(const CarrierCase& carrier, const ByteVector& frame) {
    if (carrier.send == by_ethernet) return {frame.begin() + wire::Ethernet::size, frame.end()};
    if (carrier.carries == Carries::datagram) return {frame.begin() + 4, frame.end()};
    const auto mbuf = test::make_packet(frame);
    transport::Packet packet{.mbuf = mbuf.get()};
    const auto arrival = test::open_frame(packet.frame());
    if (!arrival) return {};
    packet.arrival = *arrival;
    if (transport::parse(packet)) return {};
    return {packet.payload.begin() + 4, packet.payload.end()};
}

class Offloads : public testing::TestWithParam<CarrierCase> {
protected:
    std::vector<ByteVector> send(const OffloadCase& sent, std::uint64_t offloads, std::uint32_t max_tso) const {
        test::OffloadingDevice device(GetParam().carries, offloads, max_tso);
        auto frames = GetParam().send(device, sent, GetParam().way);
        EXPECT_THAT(device.not_offered, testing::IsEmpty());
        return frames;
    }

    /// Of a device that does nothing; seen to be right.
    std::vector<ByteVector> reference(const OffloadCase& sent) const {
        auto frames = send(sent, 0, 0);
        std::vector<ByteVector> packets;
        for (const auto& frame : frames) packets.push_back(inside(GetParam(), frame));
        link::expect_work_done(sent, packets);
        return frames;
    }

    void expect_the_same(const OffloadCase& sent, unsigned combinations) const {
        SCOPED_TRACE(sent.name);
        const auto want = reference(sent);
        for (unsigned combination = 0; combination < combinations; ++combination) {
            for (const std::uint32_t max_tso : {2500U, 65535U}) {
                const auto got = send(sent, link::offloads_of(combination), max_tso);
                ASSERT_TRUE(got == want) << "offloads " << combination << ", max_tso " << max_tso;
            }
        }
    }
};

TEST_P(Offloads, WhoeverDoesTheWorkTheFramesAreTheSame) {
    for (const auto& sent : link::offload_cases()) expect_the_same(sent, link::plain_combinations);
}

/// Where no offload reaches the packet, a few combinations do.
TEST_P(Offloads, TunnelFramesMatchSoftware) {
    for (const auto& sent : link::tunnel_cases()) {
        expect_the_same(sent, GetParam().offloads_reach_ip ? link::offload_combinations : link::plain_combinations);
    }
}

INSTANTIATE_TEST_SUITE_P(EveryCombination, Offloads, testing::ValuesIn(carriers()),
                         [](const auto& carrier) { return carrier.param.name; });

}  // namespace
}  // namespace verbline::ipoib
