// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Below the RDMA device: packet buffers, a network device, and a capture of its frames.

#include <cstdint>
#include <memory>
#include <tuple>

#include "apps/rdma_ping/options.h"
#include "datapath/link/flow_hash.h"
#include "pmd/base/error.h"
#include "pmd/base/time.h"
#include "pmd/capture/capture_file.h"
#include "pmd/netdev.h"

struct rte_mempool;

namespace verbline::rdma_ping {

class PingPort {
public:
    /// `queues` of the device, one for each shard: of one that has fewer they are made in software.
    static Result<PingPort> open(const Options& options, std::uint16_t queues = 1);

    pmd::NetDevice& device() { return *device_; }
    rte_mempool* pool() { return pool_.get(); }

    /// Work besides polling shards: brings links up and keeps them up, writes captured frames. Call often.
    void upkeep(Time now);
    /// For the thread that polls the only shard: sends what an impaired link holds back and is due.
    void send_due() { std::ignore = device_->tx_burst(0, {}); }
    /// Waits until the link is up, 20 s at most. ENOLINK: no peer.
    Result<void> await_link();

private:
    struct FreePool {
        void operator()(rte_mempool* pool) const;
    };

    std::unique_ptr<rte_mempool, FreePool> pool_;
    std::unique_ptr<link::FrameFlowHash> flows_;
    std::unique_ptr<pmd::CaptureFile> capture_;
    std::unique_ptr<pmd::NetDevice> device_;
    Time next_ = 0;
};

}  // namespace verbline::rdma_ping
