// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Address handles that the program has destroyed while requests that name them wait to be sent: programs destroy a
/// handle as soon as they have posted, and HCAs, which copy it into the request, let them.

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "apps/libibverbs/objects/address_handle.h"
#include "datapath/rdma/queue_pair.h"

namespace verbline::verbs {

/// Keeps a handle until every queue pair for datagrams is through with what it had posted when the handle was
/// destroyed. That may take long: a queue may be stopped (SQD), and so may the link. Any thread.
class RetiredHandles {
public:
    /// Of the process.
    static RetiredHandles& get();

    void add(const rdma::QueuePair& sender);
    /// Before it is destroyed.
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
