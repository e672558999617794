// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Two programs' devices on a link, each with a pool of the size that programs have, and the hub's switch between them:
/// all as in earnest but for the time, and for the processors.
///
/// Time is counted in polls. There is one processor: whoever has it polls until there is nothing to do or its slice is
/// over, which is drawn from the seed; meanwhile the others' rings fill up. So equal calls give equal runs.

#include <array>
#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "datapath/rdma/queue_pair.h"
#include "pmd/bridge/switch.h"
#include "pmd/memif/memif.h"

namespace verbline::verbs::test {

enum class LinkKind : std::uint8_t { memif, hub, eth, fabric };

struct FreePool {
    void operator()(rte_mempool* pool) const;
};
using Pool = std::unique_ptr<rte_mempool, FreePool>;

/// Buffers that a program and a hub have, made once for many runs.
struct Pools {
    Pools();
    std::array<Pool, 2> programs;
    Pool hub;
    bool full() const;
};

class JoinedPrograms {
public:
    struct Setup {
        LinkKind link{};
        double loss = 0;  ///< at each arrival
        std::uint64_t seed = 1;
    };

    JoinedPrograms(Pools& pools, const Setup& setup);
    ~JoinedPrograms();

    rdma::Device& device(unsigned program) { return *devices_[program]; }
    rdma::Path path_to(unsigned program) const;
    /// One slice of the processor's time for each, in turn; an idle system's time goes on to its next deadline.
    void round();
    Time now() const { return now_; }
    std::uint64_t dropped_by_hub() const;

private:
    std::unique_ptr<pmd::NetDevice> open_link(unsigned program, rte_mempool* pool);
    std::unique_ptr<pmd::NetDevice> open_memif(const std::string& socket, unsigned program, rte_mempool* pool);
    void make_device(unsigned program, rte_mempool* pool);
    template <class Poll>
    bool slice(Poll poll);

    Pools& pools_;
    Setup setup_;
    std::mt19937_64 random_;
    Time now_ = 0;
    std::filesystem::path directory_;
    std::unique_ptr<pmd::Switch> switch_;
    std::vector<pmd::Switch::PortId> ports_;
    std::array<std::deque<rte_mbuf*>, 2> cable_;  ///< towards each program
    std::array<std::unique_ptr<pmd::NetDevice>, 2> links_;
    std::array<std::unique_ptr<rdma::Device>, 2> devices_;
};

}  // namespace verbline::verbs::test
