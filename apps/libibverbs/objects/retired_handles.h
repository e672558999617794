// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Address handles that the program has destroyed while requests that use them are still queued. Programs destroy a
/// handle right after posting, which HCAs allow, as they copy it into the request.

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "apps/libibverbs/objects/address_handle.h"
#include "datapath/rdma/queue_pair.h"

namespace verbline::verbs {

/// Keeps a handle until every UD queue pair has finished the requests that were posted when the handle was destroyed.
/// That may take long: a queue may be stopped (SQD), and so may the link. Any thread.
class RetiredHandles {
public:
    /// The instance of the process.
    static RetiredHandles& get();

    void add(const rdma::QueuePair& sender);
    /// Call before the queue pair is destroyed.
    void remove(const rdma::QueuePair& sender);

    void add(std::unique_ptr<AddressHandle> handle);
    std::size_t kept();

private:
    struct Kept {
        std::unique_ptr<AddressHandle> handle;
        std::map<const rdma::QueuePair*, std::uint32_t> marks;
    };
    void sweep();

    std::mutex mutex_;
    std::set<const rdma::QueuePair*> senders_;
    std::deque<Kept> kept_;  ///< in the order of their destruction
};

}  // namespace verbline::verbs
