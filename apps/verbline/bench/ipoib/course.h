// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// One case over one link, for a short time: bursts are handed to the sender, and taken from the receiver.
///
///     make packets  │ transmit, flush │  receive, checksums        │ free
///        not timed  │      send       │  receive, if frames came   │ not timed

#include <atomic>
#include <cstdint>

#include "apps/verbline/bench/ipoib/ends.h"
#include "apps/verbline/bench/ipoib/packets.h"
#include "pmd/base/error.h"

namespace verbline::ipoib_bench {

/// IP packets as they cross a link, each in a frame of its own.
struct Counts {
    std::uint64_t sent = 0, received = 0;
    std::uint64_t damaged = 0;  ///< of those received and looked at: checksums that do not verify

    Counts& operator+=(const Counts& other) {
        sent += other.sent, received += other.received, damaged += other.damaged;
        return *this;
    }
};

/// Who does what packets ask for.
enum class Worker : std::uint8_t { nobody, software, device };

struct Slice {
    double send_cycles = 0,
           receive_cycles = 0;  ///< of the time stamp counter, for a packet; mean of the middle half of bursts
    Worker send{}, receive{};
    Counts counts;
};

class Course {
public:
    /// All outlive the course. `burst`: packets of the case at a time, of which large ones go one by one.
    Course(Ends& ends, const Packets& packets, const Case& one, std::size_t burst, rte_mempool& pool)
        : ends_(ends), packets_(packets), case_(one), burst_(packets.frames() > 1 ? 1 : burst), pool_(pool) {}

    /// Once, on a thread of DPDK's. ECANCELED: `stop` is set. ENOMEM: no buffers. ENODATA: of the first burst nothing
    /// has arrived.
    Result<Slice> run(Time duration, const std::atomic<bool>& stop);

private:
    struct Cycles {
        std::uint64_t send = 0, receive = 0;
    };

    Result<Cycles> burst(bool first);
    std::uint64_t send(pmd::Burst packets, bool last);
    void receive(bool first, Cycles& cycles);
    void look_at(pmd::Burst packets, std::uint64_t& damaged);

    Ends& ends_;
    const Packets& packets_;
    const Case& case_;
    std::size_t burst_;
    rte_mempool& pool_;
    Slice slice_;
};

}  // namespace verbline::ipoib_bench
