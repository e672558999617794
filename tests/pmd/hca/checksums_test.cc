// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/hca/checksums.h"

#include <type_traits>
#include <vector>

#include <netinet/in.h>
#include <rte_ip.h>
#include <rte_mbuf.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#include <gtest/gtest.h>

#include "datapath/offload/checksum.h"
#include "tests/support/packet.h"

namespace verbline::pmd::hca {
namespace {

constexpr std::size_t ipoib = 4, ipv6 = sizeof(rte_ipv6_hdr), ipv4 = sizeof(rte_ipv4_hdr), data = 33;

/// A datagram of IPoIB whose checksums are asked for.
class HcaChecksums : public testing::Test {
protected:
    template <class Header>
    rte_mbuf& datagram(std::size_t ip, std::uint64_t flags) {
        std::vector<std::byte> bytes(ipoib + ip + sizeof(Header) + data);
        for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 37);
        const auto behind_ip = static_cast<std::uint16_t>(sizeof(Header) + data);
        const bool tcp = std::is_same_v<Header, rte_tcp_hdr>;
        if (ip == ipv6) {
            auto& header = *reinterpret_cast<rte_ipv6_hdr*>(bytes.data() + ipoib);
            header.vtc_flow = rte_cpu_to_be_32(0x6000'0000);
            header.payload_len = rte_cpu_to_be_16(behind_ip);
            header.proto = tcp ? IPPROTO_TCP : IPPROTO_UDP;
        } else {
            auto& header = *reinterpret_cast<rte_ipv4_hdr*>(bytes.data() + ipoib);
            header.version_ihl = 0x45;
            header.total_length = rte_cpu_to_be_16(static_cast<std::uint16_t>(ip + behind_ip));
            header.fragment_offset = 0;
            header.next_proto_id = tcp ? IPPROTO_TCP : IPPROTO_UDP;
        }
        if (!tcp) {
            auto& udp = *reinterpret_cast<rte_udp_hdr*>(bytes.data() + ipoib + ip);
            udp.dgram_len = rte_cpu_to_be_16(behind_ip);
        }
        packet_ = test::make_packet(bytes);
        packet_->l2_len = ipoib;
        packet_->l3_len = ip & 0x1ff;
        packet_->l4_len = sizeof(Header);
        packet_->ol_flags = flags;
        return *packet_;
    }
    static const std::byte* at(const rte_mbuf& packet, std::size_t offset) {
        return rte_pktmbuf_mtod_offset(&packet, const std::byte*, offset);
    }

private:
    test::Packet packet_;
};

TEST_F(HcaChecksums, OfIpv6AreMadeHere) {
    auto& udp = datagram<rte_udp_hdr>(ipv6, RTE_MBUF_F_TX_IPV6 | RTE_MBUF_F_TX_UDP_CKSUM);
    ASSERT_TRUE(seed_checksums(udp));
    EXPECT_EQ(offload::verify_l4(udp, ipoib), offload::L4Verdict::good);
    EXPECT_EQ(udp.ol_flags & RTE_MBUF_F_TX_L4_MASK, 0u) << "the adapter has nothing left to do";
    auto& tcp = datagram<rte_tcp_hdr>(ipv6, RTE_MBUF_F_TX_IPV6 | RTE_MBUF_F_TX_TCP_CKSUM);
    ASSERT_TRUE(seed_checksums(tcp));
    EXPECT_EQ(offload::verify_l4(tcp, ipoib), offload::L4Verdict::good);
}

TEST_F(HcaChecksums, OfIpv4AreSeededWithThePseudoHeader) {
    auto& tcp = datagram<rte_tcp_hdr>(ipv4, RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_TCP_CKSUM);
    ASSERT_TRUE(seed_checksums(tcp));
    const auto& ip = *reinterpret_cast<const rte_ipv4_hdr*>(at(tcp, ipoib));
    EXPECT_EQ(ip.hdr_checksum, 0u);
    EXPECT_EQ(reinterpret_cast<const rte_tcp_hdr*>(at(tcp, ipoib + ipv4))->cksum, rte_ipv4_phdr_cksum(&ip, 0));
    EXPECT_EQ(tcp.ol_flags & RTE_MBUF_F_TX_L4_MASK, RTE_MBUF_F_TX_TCP_CKSUM) << "the rest is the adapter's";
}

TEST_F(HcaChecksums, NoneWithoutTheHeaders) {
    for (const auto ip : {ipv4, ipv6}) {
        const auto family = ip == ipv6 ? RTE_MBUF_F_TX_IPV6 : RTE_MBUF_F_TX_IPV4;
        auto& tcp = datagram<rte_tcp_hdr>(ip, family | RTE_MBUF_F_TX_TCP_CKSUM);
        rte_pktmbuf_trim(&tcp, data + 1);
        EXPECT_FALSE(seed_checksums(tcp));
    }
}

TEST_F(HcaChecksums, AreTheAdaptersWhereThatIsKnown) {
    EXPECT_TRUE(ud_does_checksums("mlx4_core", false));
    EXPECT_FALSE(ud_does_checksums("mlx4_core", true)) << "RoCE";
    EXPECT_FALSE(ud_does_checksums("mlx5_core", false)) << "takes the request, and ignores it";
}

}  // namespace
}  // namespace verbline::pmd::hca
