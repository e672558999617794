// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Endless streams of RC WRITEs from host to host, and time that passes for them in rounds as a polling thread makes
/// them: what goodput is measured with.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "tests/sim/world.h"

namespace verbline::sim {

struct StreamSetup {
    std::uint32_t message = 1 << 20;  ///< bytes of one WRITE
    std::uint32_t under_way = 16;     ///< WRITEs posted at a time
    std::uint32_t mtu = 4096;
    bool selective_ack = true;  ///< both ends offered it
    rdma::ReadyToSend sender{.first = wire::Psn(1)};
};

class Stream {
public:
    /// The hosts' world and the hosts outlive the stream.
    Stream(World& world, Host& from, Host& to, const StreamSetup& setup);

    /// Posts anew for what is complete. Throws if something failed.
    void turn();
    /// Of complete messages.
    std::uint64_t bytes() const { return bytes_; }

private:
    struct End {
        explicit End(Host& host, const StreamSetup& setup);

        memory::PdId pd;
        std::vector<std::byte> data;
        rdma::MemoryRegion region;
        std::unique_ptr<transport::CompletionQueue> completions;
        std::unique_ptr<rdma::QueuePair> pair;
    };

    StreamSetup setup_;
    End from_, to_;
    std::uint32_t under_way_ = 0;
    std::uint64_t bytes_ = 0;
};

/// Hosts are polled at most once in this time: what a round of a polling thread takes.
constexpr Time poll_interval = 100;

/// Lets the world's time pass until `end`; `streams` are all that its hosts have to do.
void run(World& world, std::span<const std::unique_ptr<Stream>> streams, Time end);

}  // namespace verbline::sim
