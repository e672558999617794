// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What a seed means: the network, its troubles, and who talks to whom over what.

#include <array>
#include <cstdint>
#include <vector>

#include "datapath/rdma/queue_pair.h"
#include "tests/sim/world.h"

namespace verbline::sim {

/// What may happen, and so what completions may say.
struct Trouble {
    bool duplicates = false, reorders = false, loses = false;
    bool kills = false;      ///< queue pairs come to an end
    bool mistakes = false;   ///< requests that must fail
    bool blackouts = false;  ///< the network is gone for longer than retries last
    bool harsh = false;      ///< so much is lost that eight tries may all fail

    bool may_die() const { return blackouts || harsh; }
};

/// Bytes in a switch's queue: drained at a gigabit well within any timeout, so that no request dies of waiting alone.
inline constexpr std::uint64_t calm_queue = 200'000;

struct PairPlan {
    transport::QueuePairType type{};  ///< of the first end; an initiator's peer is a target
    std::array<unsigned, 2> hosts{};
    std::array<bool, 2> shared{};  ///< receives from the host's shared queue
    unsigned gid_index = 3;
    std::uint32_t mtu = 1024;
    std::array<rdma::ReadyToSend, 2> send{};
    std::array<std::uint8_t, 2> rnr_timer{};
    std::uint8_t max_reads = 1;
    bool selective = true;
    std::array<bool, 2> credits{};
    std::uint32_t depth = 16;       ///< requests of each queue
    std::uint32_t largest = 4096;   ///< bytes of a message
    std::uint32_t messages = 20;    ///< of each end
    std::array<bool, 2> late{};     ///< receives are posted when senders wait already
    Time pause = 20 * microsecond;  ///< between posts, about
};

struct Plan {
    Trouble trouble;
    std::vector<HostSetup> hosts;
    std::vector<PairPlan> pairs;
    std::uint32_t shared_largest = 4096;  ///< bytes of a receive of shared queues
    Time trouble_ends = 0;                ///< then the network is whole
};

Plan make_plan(Seed seed);

}  // namespace verbline::sim
