// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What the two ends of `verbline bench rdma` measure, as the client asks for it.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "datapath/transport/work.h"
#include "pmd/base/time.h"

namespace verbline::rdma_bench {

enum class Operation : std::uint8_t { send, write, read, fetch_add, compare_swap };
enum class Transport : std::uint8_t { rc, uc, ud, xrc };
enum class Measure : std::uint8_t { bandwidth, latency };

constexpr std::uint32_t largest_message = 1 << 23;  ///< bytes; the last size of perftest's sweep
constexpr std::uint32_t most_pairs = 1024, deepest_queue = 1 << 15, most_inline = 1024, most_reads = 128;
constexpr std::uint32_t most_requests = 1 << 20;  ///< of all queues of a kind together
constexpr std::uint32_t most_rounds = 64;
constexpr std::uint64_t most_memory = std::uint64_t{1} << 30;  ///< bytes that each end registers
constexpr std::uint32_t route_room = 40;                       ///< in front of a datagram's payload (IBTA 11.4.1.2)

struct TestSpec {
    Operation operation{};
    Transport transport{};
    Measure measure{};
    bool bidirectional = false;  ///< bandwidth: both ends send
    std::uint32_t pairs = 1;     ///< queue pairs of each end; of XRC, pairs of an initiator and a target
    std::uint32_t tx_depth = 128, rx_depth = 512, post_list = 1;
    std::uint32_t inline_bytes = 0;  ///< requests up to this size carry their data
    std::uint32_t reads = 16;        ///< READs and atomics outstanding
    std::uint32_t mtu = 4096;        ///< of the path, at most
    std::uint32_t largest = 0;       ///< bytes of the largest message of any round

    bool atomic() const { return operation == Operation::fetch_add || operation == Operation::compare_swap; }
    /// The peer's memory is read or changed, and the peer's program has no part in it.
    bool one_sided() const { return operation != Operation::send; }
    bool awaits_response() const { return atomic() || operation == Operation::read; }
    /// Each of them arrives, and a completion says so.
    bool reliable() const { return transport == Transport::rc || transport == Transport::xrc; }

    /// Bytes of one message's buffer: each pair has one to send from, and one that is received into.
    std::size_t stride() const { return (std::size_t{largest} + route_room + 63) / 64 * 64; }
    std::size_t memory() const { return 2 * pairs * stride(); }

    /// Slots of all send queues, or of all receive queues if that is more.
    std::uint64_t requests() const { return std::uint64_t{pairs} * std::max(tx_depth, rx_depth); }

    bool operator==(const TestSpec&) const = default;
};

/// One size of a test.
struct Round {
    std::uint32_t index = 0;
    std::uint32_t size = 0;           ///< bytes of a message
    std::uint64_t iterations = 0;     ///< of each queue pair; 0: by time
    Time duration = 0;                ///< then
    std::uint32_t cq_moderation = 1;  ///< every so many messages one says when it is complete; leaves room for a list

    bool operator==(const Round&) const = default;
};

}  // namespace verbline::rdma_bench
