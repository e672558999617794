// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/tun/read_chain.h"

#include <array>
#include <cstring>

#include <gtest/gtest.h>

#include "tests/support/packet.h"

namespace verbline::pmd {
namespace {

using test::packet_pool;

/// As readv would.
void fill(const ReadChain& chain, std::span<const std::byte> bytes) {
    for (const auto& vector : chain.vectors().subspan(1)) {
        const auto part = std::min(bytes.size(), vector.iov_len);
        std::memcpy(vector.iov_base, bytes.data(), part);
        bytes = bytes.subspan(part);
    }
}

struct ReadChainTest : ::testing::Test {
    std::array<std::byte, 10> header{};
    ReadChain chain{packet_pool(), 65600, header};
};

TEST_F(ReadChainTest, TakesWhatWasReadWhateverItsSize) {
    for (const std::size_t size : {1u, 100u, 2303u, 2304u, 2305u, 65536u, 3u}) {
        ASSERT_TRUE(chain.refill());
        const auto bytes = test::pattern(size, 3);
        fill(chain, bytes);
        const test::Packet packet(chain.take(size));
        EXPECT_EQ(packet->pkt_len, size);
        EXPECT_EQ(packet->nb_segs, (size + 2303) / 2304);
        EXPECT_EQ(rte_mbuf_check(packet.get(), 1, nullptr), 0);
        EXPECT_EQ(test::bytes_of(packet), bytes);
    }
}

TEST_F(ReadChainTest, KeepsWhatWasNotUsed) {
    ASSERT_TRUE(chain.refill());
    const auto in_use = rte_mempool_in_use_count(packet_pool());
    { const test::Packet packet(chain.take(100)); }
    ASSERT_TRUE(chain.refill());
    EXPECT_EQ(rte_mempool_in_use_count(packet_pool()), in_use);
    EXPECT_TRUE(chain.refill()) << "nothing to do";
}

TEST_F(ReadChainTest, AnEmptyPoolRefusesTheReadAndRecovers) {
    std::vector<rte_mbuf*> all;
    while (auto* packet = rte_pktmbuf_alloc(packet_pool())) all.push_back(packet);
    EXPECT_FALSE(chain.refill());
    for (auto* packet : all) rte_pktmbuf_free(packet);
    EXPECT_TRUE(chain.refill());
}

}  // namespace
}  // namespace verbline::pmd
