// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What fuzz targets of packet code share: bytes to take apart, and a pool of packets.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>

#include <rte_eal.h>
#include <rte_mbuf.h>
#include <unistd.h>

#include "tests/fuzz/expect.h"

namespace verbline::fuzz {

/// DPDK without hugepages, devices or shared files; started at the first packet.
inline rte_mempool* packet_pool() {
    static rte_mempool* const pool = [] {
        std::array<std::string, 9> words{"fuzz",
                                         "--no-huge",
                                         "-m",
                                         "128",
                                         "--no-pci",
                                         "--no-shconf",
                                         "--no-telemetry",
                                         "--log-level=error",
                                         "--file-prefix=verbline-fuzz-" + std::to_string(getpid())};
        std::array<char*, words.size()> arguments;
        std::ranges::transform(words, arguments.begin(), [](auto& word) { return word.data(); });
        expect(rte_eal_init(static_cast<int>(arguments.size()), arguments.data()) >= 0);
        return rte_pktmbuf_pool_create("packets", 4095, 0, 0, RTE_PKTMBUF_HEADROOM + 2304, SOCKET_ID_ANY);
    }();
    expect(pool != nullptr);
    return pool;
}

/// The fuzzer's bytes, taken from the front.
class Input {
public:
    explicit Input(std::span<const std::byte> bytes) : bytes_(bytes) {}

    bool empty() const { return bytes_.empty(); }
    std::uint8_t byte() { return bytes_.empty() ? std::uint8_t{0} : std::to_integer<std::uint8_t>(take(1)[0]); }
    std::uint16_t word() {
        const auto high = byte();
        return static_cast<std::uint16_t>(high << 8 | byte());
    }
    std::span<const std::byte> take(std::size_t n) {
        const auto taken = bytes_.first(std::min(n, bytes_.size()));
        bytes_ = bytes_.subspan(taken.size());
        return taken;
    }

private:
    std::span<const std::byte> bytes_;
};

/// A packet of these bytes, `segment` to an mbuf.
inline rte_mbuf* make_packet(std::span<const std::byte> bytes, std::size_t segment) {
    rte_mbuf* head = nullptr;
    do {
        auto* const part = rte_pktmbuf_alloc(packet_pool());
        expect(part != nullptr);
        const auto size = std::min({bytes.size(), segment, std::size_t{2304}});
        if (size > 0) std::memcpy(rte_pktmbuf_append(part, static_cast<std::uint16_t>(size)), bytes.data(), size);
        bytes = bytes.subspan(size);
        if (head == nullptr) {
            head = part;
        } else {
            expect(rte_pktmbuf_chain(head, part) == 0);
        }
    } while (!bytes.empty());
    return head;
}

/// Runs a target that makes packets: each must be gone when it returns.
inline int run_with_packets(void (*run)(Input), const std::uint8_t* data, std::size_t size) {
    packet_pool();
    run(Input(std::as_bytes(std::span(data, size))));
    expect(rte_mempool_in_use_count(packet_pool()) == 0);
    return 0;
}

/// A packet that DPDK itself finds sound.
inline void expect_sound(const rte_mbuf* packet) {
    const char* reason = nullptr;
    expect(rte_mbuf_check(packet, 1, &reason) == 0);
}

}  // namespace verbline::fuzz
