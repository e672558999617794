// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/offload/tunnel.h"

#include <gtest/gtest.h>

#include "tests/datapath/offload/tcp_packet.h"
#include "tests/datapath/offload/tunnel_packet.h"

namespace verbline::offload {
namespace {

const auto inner = TcpPacket{.payload = test::pattern(50)}.bytes();

class TunnelOf : public testing::TestWithParam<TunnelPacket> {};

TEST_P(TunnelOf, FindsThePacketInside) {
    const auto whole = GetParam().around(inner);
    const auto tunnel = tunnel_of(whole);
    ASSERT_TRUE(tunnel);
    EXPECT_EQ(tunnel->kind, GetParam().kind);
    EXPECT_EQ(tunnel->outer_size, GetParam().ip_size());
    EXPECT_EQ(tunnel->inner_at, whole.size() - inner.size());
    EXPECT_FALSE(tunnel->numbered || tunnel->summed);
}

TEST_P(TunnelOf, ReadsNoFurtherThanThereIs) {
    const auto whole = GetParam().around(inner);
    for (std::size_t size = 0; size < whole.size(); ++size) {
        const test::ByteVector cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
        EXPECT_EQ(tunnel_of(cut).has_value(), size > whole.size() - inner.size()) << size;
    }
}

TEST_P(TunnelOf, HasNothingToSayOfFragments) {
    auto tunnel = GetParam();
    tunnel.ip.more_fragments = true;
    EXPECT_FALSE(tunnel_of(tunnel.around(inner)));
}

INSTANTIATE_TEST_SUITE_P(Kinds, TunnelOf, testing::ValuesIn(tunnels_over_either()),
                         [](const auto& tunnel) { return tunnel.param.name; });

TEST(TunnelOf, KnowsWhatIsNone) {
    EXPECT_FALSE(tunnel_of(inner)) << "TCP";
    auto vxlan = tunnels()[4].around(inner);
    vxlan[22] = std::byte{1};
    EXPECT_FALSE(tunnel_of(vxlan)) << "another port";
    auto arp = tunnels()[4].around(inner);
    arp[20 + 8 + 8 + 13] = std::byte{6};
    EXPECT_FALSE(tunnel_of(arp)) << "no IP inside";
    auto control = tunnels()[6].around(inner);
    control[20 + 8 + 1] = std::byte{0x80};
    EXPECT_FALSE(tunnel_of(control));
}

TEST(TunnelOf, TellsWhatGreAdds) {
    auto gre = emitted(wire::Gre{.has_checksum = true, .has_sequence = true, .protocol = wire::ether_type::ipv4});
    gre.resize(12);
    const auto tunnel = tunnel_of(TunnelPacket{.kind = TunnelKind::gre, .headers = gre}.around(inner));
    ASSERT_TRUE(tunnel);
    EXPECT_TRUE(tunnel->numbered && tunnel->summed);
    EXPECT_EQ(tunnel->inner_at, 32u);
}

}  // namespace
}  // namespace verbline::offload
