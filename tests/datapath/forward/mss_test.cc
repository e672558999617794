// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/forward/mss.h"

#include <rte_mbuf.h>

#include <gtest/gtest.h>

#include "datapath/wire/ipv6.h"
#include "datapath/wire/tcp.h"
#include "tests/datapath/offload/tcp_packet.h"
#include "tests/support/checksum.h"
#include "tests/support/packet.h"

namespace verbline::forward {
namespace {

using offload::TcpPacket;
using test::bytes_from, test::bytes_of, test::ByteVector, test::make_packet;
namespace flag = wire::tcp_flag;

ByteVector mss(unsigned size) {
    return bytes_from(2, 4, size >> 8, size & 255);
}
ByteVector operator+(ByteVector a, const ByteVector& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

ByteVector over_ipv4(const ByteVector& options, std::uint8_t flags = flag::syn) {
    TcpPacket packet{.options = options, .payload = {}};
    packet.tcp.flags = flags;
    return packet.bytes();
}
/// The same segment over IPv6.
ByteVector over_ipv6(const ByteVector& options, std::uint8_t flags = flag::syn) {
    const auto ipv4 = over_ipv4(options, flags);
    const auto tcp = std::span(ipv4).subspan(wire::Ipv4::size);
    ByteVector packet(wire::Ipv6::size);
    wire::Ipv6{.payload_length = static_cast<std::uint16_t>(tcp.size()), .next_header = wire::IpProtocol::tcp}.emit(
        std::span(packet).first<wire::Ipv6::size>());
    packet.insert(packet.end(), tcp.begin(), tcp.end());
    wire::store16(packet, wire::Ipv6::size + 16, 0);
    wire::store16(packet, wire::Ipv6::size + 16, test::naive_l4_checksum(packet, wire::Ipv6::size));
    return packet;
}

/// What becomes of the packet; nothing, if it is left as it is.
std::optional<ByteVector> clamped(const ByteVector& bytes, std::uint32_t mtu = 1500, std::size_t segment = 2304) {
    const auto packet = make_packet(bytes, segment);
    const bool lowered = clamp_mss(*packet, mtu);
    EXPECT_EQ(lowered, bytes_of(packet) != bytes);
    return lowered ? std::optional(bytes_of(packet)) : std::nullopt;
}

TEST(ClampMss, LowersWhatIsTooLargeForTheLink) {
    EXPECT_EQ(clamped(over_ipv4(mss(8960))), over_ipv4(mss(1460)));
    EXPECT_EQ(clamped(over_ipv6(mss(8940))), over_ipv6(mss(1440)));
    EXPECT_EQ(clamped(over_ipv4(mss(1460), flag::syn | flag::ack), 1280), over_ipv4(mss(1240), flag::syn | flag::ack));
    const auto usual = [](unsigned size) { return mss(size) + offload::timestamps(7); };
    EXPECT_EQ(clamped(over_ipv4(usual(8960))), over_ipv4(usual(1460))) << "options are not subtracted (RFC 6691)";
}

TEST(ClampMss, NeverRaisesNorAdds) {
    for (const auto& packet : {over_ipv4(mss(1460)), over_ipv4(mss(536)), over_ipv4(mss(0)), over_ipv6(mss(1440)),
                               over_ipv4({}), over_ipv4(offload::timestamps(1))}) {
        EXPECT_FALSE(clamped(packet));
    }
}

TEST(ClampMss, LooksAtSynsOnly) {
    EXPECT_FALSE(clamped(over_ipv4(mss(8960), flag::ack)));
    EXPECT_FALSE(clamped(over_ipv6(mss(8940), flag::ack | flag::fin)));
}

/// At even and odd offsets, and with every value, the checksum is what the sender would have computed.
TEST(ClampMss, KeepsTheChecksumRight) {
    for (unsigned size = 1461; size < 0x10000; size += 61) {
        ASSERT_EQ(clamped(over_ipv4(mss(size))), over_ipv4(mss(1460))) << size;
        const auto odd = [](unsigned value) { return bytes_from(1) + mss(value) + bytes_from(1, 1, 0); };
        ASSERT_EQ(clamped(over_ipv4(odd(size))), over_ipv4(odd(1460))) << size;
        ASSERT_EQ(clamped(over_ipv6(odd(size))), over_ipv6(odd(1440))) << size;
    }
}

TEST(ClampMss, LowersEachOfSeveral) {
    EXPECT_EQ(clamped(over_ipv4(mss(536) + mss(9000) + mss(8000))), over_ipv4(mss(536) + mss(1460) + mss(1460)));
}

TEST(ClampMss, LeavesAChecksumThatIsStillToBeComputed) {
    for (const auto request : {RTE_MBUF_F_TX_TCP_CKSUM, RTE_MBUF_F_TX_TCP_SEG}) {
        const auto bytes = over_ipv4(mss(8960));
        const auto packet = make_packet(bytes);
        packet->ol_flags = request;
        EXPECT_TRUE(clamp_mss(*packet, 1500));
        const auto now = bytes_of(packet);
        EXPECT_EQ(wire::load16(now, 42), 1460);
        EXPECT_EQ(wire::load16(now, 36), wire::load16(bytes, 36)) << "the sum of the pseudo-header, as it was";
    }
}

TEST(ClampMss, LeavesWhatItDoesNotUnderstand) {
    EXPECT_FALSE(clamped(over_ipv4(bytes_from(0) + mss(8960) + bytes_from(0, 0, 0)))) << "behind the last option";
    for (const unsigned length : {0, 1, 3, 5, 200}) {
        EXPECT_FALSE(clamped(over_ipv4(bytes_from(2, length, 0x23, 0x28)))) << length;
        EXPECT_FALSE(clamped(over_ipv4(bytes_from(254, length < 4 ? 0 : length, 1, 1) + mss(8960)))) << length;
    }
    EXPECT_FALSE(clamped(over_ipv4(bytes_from(1, 1, 1, 2)))) << "cut short";
    auto other = over_ipv4(mss(8960));
    other[9] = std::byte{17};
    EXPECT_FALSE(clamped(other)) << "UDP";
    auto later = over_ipv4(mss(8960));
    later[7] = std::byte{1};
    EXPECT_FALSE(clamped(later)) << "not the first fragment";
    auto extended = over_ipv6(mss(8960));
    extended[6] = std::byte{0};
    EXPECT_FALSE(clamped(extended)) << "extension headers";
    EXPECT_FALSE(clamped(over_ipv4(mss(8960)), 1500, 42)) << "options in another segment";
    EXPECT_FALSE(clamped(over_ipv4(mss(8960)), 40)) << "a link with no room for data";
}

TEST(ClampMss, ReadsNoFurtherThanThePacket) {
    for (const auto& whole : {over_ipv4(mss(8960)), over_ipv6(mss(8940))}) {
        for (std::size_t size = 1; size < whole.size(); ++size) {
            EXPECT_FALSE(clamped({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)})) << size;
        }
    }
}

TEST(ClampMss, FindsTcpBehindIpv4Options) {
    const auto plain = [](unsigned size) {
        auto bytes = over_ipv4(mss(size));
        bytes[0] = std::byte{0x46};
        const auto no_operations = bytes_from(1, 1, 1, 0);
        bytes.insert(bytes.begin() + 20, no_operations.begin(), no_operations.end());
        return bytes;
    };
    EXPECT_EQ(clamped(plain(8960)), plain(1460));
}

}  // namespace
}  // namespace verbline::forward
