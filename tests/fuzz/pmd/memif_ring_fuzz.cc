// SPDX-License-Identifier: BSD-3-Clause
// A peer that writes what it likes into the ring, at any time, gets no byte of ours but what lies in the region.
#include <cstring>
#include <memory>

#include "pmd/memif/ring.h"
#include "tests/fuzz/datapath/packets.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    using namespace verbline;
    using namespace verbline::pmd::memif;
    constexpr unsigned log2_size = 3;
    constexpr std::size_t rings = ring_bytes(log2_size), slot = 64;
    struct alignas(64) Memory {
        std::byte bytes[rings + (slot << log2_size)];
    };
    const auto memory = std::make_unique<Memory>();
    const Regions regions{memory->bytes};
    fuzz::Input input(std::as_bytes(std::span(data, size)));
    const auto direction = input.byte() % 2 == 0 ? Direction::client_to_server : Direction::server_to_client;
    const RingMemory ring{memory->bytes, log2_size};
    Producer producer(ring, regions, direction, slot, -1);
    Consumer consumer(ring, regions, direction, slot, fuzz::packet_pool());
    Counter packets, bytes, oversize, no_mbuf, malformed;
    consumer.open();
    while (!input.empty()) {
        const auto at = input.word() % rings;
        const auto scribble = input.take(1 + input.byte() % 16);
        std::memcpy(memory->bytes + at, scribble.data(), std::min(scribble.size(), rings - at));
        auto* packet = fuzz::make_packet(input.take(input.byte()), 1 + input.byte());
        if (producer.send(std::span(&packet, 1), {packets, bytes, oversize}) == 0) rte_pktmbuf_free(packet);
        std::array<rte_mbuf*, 4> burst;
        const auto n = consumer.receive(burst, {packets, bytes, no_mbuf, malformed});
        for (auto* received : std::span(burst).first(n)) {
            fuzz::expect(rte_mbuf_check(received, 1, nullptr) == 0 && received->pkt_len > 0);
            rte_pktmbuf_free(received);
        }
    }
    fuzz::expect(rte_mempool_in_use_count(fuzz::packet_pool()) == 0);
    return 0;
}
