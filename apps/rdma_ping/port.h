// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Below the RDMA device: packet buffers, a network device, and a capture of its frames.

#include <memory>

#include "apps/rdma_ping/options.h"
#include "pmd/base/error.h"
#include "pmd/base/time.h"
#include "pmd/capture/capture_file.h"
#include "pmd/netdev.h"

struct rte_mempool;

namespace verbline::rdma_ping {

class PingPort {
public:
    static Result<PingPort> open(const Options& options);

    pmd::NetDevice& device() { return *device_; }
    rte_mempool* pool() { return pool_.get(); }

    /// Work besides polling shards: brings links up and keeps them up, writes captured frames. Call often.
    void upkeep(Time now);
    /// Waits until the link is up, 20 s at most. ENOLINK: no peer.
    Result<void> await_link();

private:
    struct FreePool {
        void operator()(rte_mempool* pool) const;
    };

    std::unique_ptr<rte_mempool, FreePool> pool_;
    std::unique_ptr<pmd::CaptureFile> capture_;
    std::unique_ptr<pmd::NetDevice> device_;
    Time next_ = 0;
};

}  // namespace verbline::rdma_ping
