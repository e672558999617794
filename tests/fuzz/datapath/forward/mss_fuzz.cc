// SPDX-License-Identifier: BSD-3-Clause

/// @file
/// Any packet through the lowering of TCP's maximum segment size, whether or not it passed a check: its length and the
/// sum over it stay what they were, only once is there something to lower, and a larger link lowers nothing more.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "datapath/forward/mss.h"
#include "datapath/offload/packet.h"
#include "datapath/wire/checksum.h"
#include "tests/fuzz/datapath/packets.h"

namespace verbline {
namespace {

using fuzz::expect;

std::vector<std::byte> contents(const rte_mbuf& packet) {
    const auto bytes = offload::first_segment(packet);
    return {bytes.begin(), bytes.end()};
}

void run(fuzz::Input input) {
    const std::uint32_t mtu = input.word();
    const auto segment = input.byte();
    const bool unfinished = input.byte() % 2 == 1;
    auto* const packet = fuzz::make_packet(input.take(9000), 20u + segment);
    if (unfinished) packet->ol_flags |= RTE_MBUF_F_TX_TCP_CKSUM;
    const auto before = contents(*packet);
    const auto length = packet->pkt_len;

    const bool lowered = forward::clamp_mss(*packet, mtu);
    fuzz::expect_sound(packet);
    expect(packet->pkt_len == length);
    const auto after = contents(*packet);
    expect(lowered == (after != before));
    if (lowered && !unfinished) {
        const auto sum = [](const std::vector<std::byte>& bytes) {
            return wire::InternetChecksum().add(bytes).value();
        };
        expect(sum(after) == sum(before));
    }
    expect(!forward::clamp_mss(*packet, mtu));
    expect(!forward::clamp_mss(*packet, mtu + 1));
    rte_pktmbuf_free(packet);
}

}  // namespace
}  // namespace verbline

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return verbline::fuzz::run_with_packets(verbline::run, data, size);
}
