// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/link/mbuf.h"

#include <algorithm>
#include <cstdint>

#include <gtest/gtest.h>

#include "tests/support/packet.h"

namespace verbline::link {
namespace {

/// Of so many bytes, all different.
Header header(std::size_t size) {
    Header out;
    for (std::size_t i = 0; i < size; ++i) out.append(1)[0] = static_cast<std::byte>(i + 1);
    return out;
}

TEST(Mbuf, PrependsHeadersOfEverySize) {
    const test::ByteVector payload(4, std::byte{0xee});
    for (std::size_t size = 0; size <= Header::capacity; ++size) {
        const auto packet = test::make_packet(payload);
        *rte_pktmbuf_mtod_offset(packet.get(), std::byte*, -static_cast<std::ptrdiff_t>(size) - 1) = std::byte{0xdd};
        ASSERT_TRUE(prepend(*packet, header(size)));
        const auto bytes = test::bytes_of(packet);
        EXPECT_TRUE(std::ranges::equal(wire::Bytes(bytes).first(size), header(size).view())) << size;
        EXPECT_TRUE(std::ranges::equal(wire::Bytes(bytes).subspan(size), payload)) << size;
        EXPECT_EQ(*rte_pktmbuf_mtod_offset(packet.get(), std::byte*, -1), std::byte{0xdd}) << size << ", in front";
    }
}

TEST(Mbuf, LeavesAPacketWithoutHeadroomAsItIs) {
    const auto packet = test::make_packet(test::ByteVector(4));
    packet->data_off = Header::capacity - 1;
    EXPECT_FALSE(prepend(*packet, header(Header::capacity)));
    EXPECT_EQ(packet->data_len, 4);
    EXPECT_EQ(packet->data_off, Header::capacity - 1);
}

}  // namespace
}  // namespace verbline::link
