// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The shared receive queue of an interface's connections: each request is a chain of large buffers, which has room for
/// the largest message. A message takes of its chain the buffers that it needs; the rest are posted again.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "datapath/rdma/device.h"
#include "pmd/base/counter.h"
#include "pmd/base/error.h"
#include "pmd/netdev.h"

struct rte_mempool;

namespace verbline::ipoib {

#define VERBLINE_LARGE_RECEIVES_COUNTERS(X)                    \
    X(rx_connected_packets, "packets received by connections") \
    X(rx_connected_bytes, "bytes of these packets")            \
    X(rx_dropped_connected_no_mbuf, "packets of connections dropped because no large buffer could take their place")

struct LargeReceivesCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_LARGE_RECEIVES_COUNTERS)
};

/// Owned by the shard that polls the device.
class LargeReceives {
public:
    static constexpr std::uint16_t buffer = 16'384;       ///< bytes of data in each
    static constexpr std::size_t buffers_of_message = 4;  ///< 64 KB
    static constexpr std::uint32_t requests = 128;
    /// Buffers: those that are posted, and as many again that are on their way through the router.
    static constexpr unsigned buffers = 2 * requests * buffers_of_message;

    struct FreePool {
        void operator()(rte_mempool* pool) const;
    };
    using Pool = std::unique_ptr<rte_mempool, FreePool>;
    /// `name`: unique in the process.
    static Result<Pool> make_pool(const char* name, int socket);

    /// `pool` is of `make_pool`, and registered under `key`, by virtual address.
    static Result<std::unique_ptr<LargeReceives>> create(rdma::Device& device, memory::PdId pd, rte_mempool& pool,
                                                         wire::RKey key);
    LargeReceives(const LargeReceives&) = delete;
    LargeReceives& operator=(const LargeReceives&) = delete;
    ~LargeReceives();

    rdma::SharedReceiveQueue& queue() { return *queue_; }
    transport::CompletionQueue& completions() { return *completions_; }

    /// Messages that have come; each begins with its IPoIB header. The caller owns them. Sets `any` if something was
    /// found, if only to be dropped.
    std::size_t take(pmd::Burst out, bool& any) noexcept;

    const LargeReceivesCounters& counters() const { return counters_; }

private:
    using Chain = std::array<rte_mbuf*, buffers_of_message>;

    LargeReceives(rte_mempool& pool, wire::RKey key) : pool_(pool), key_(key), chains_(requests) {}
    bool post(std::size_t at) noexcept;
    rte_mbuf* detach(Chain& chain, std::uint32_t length) noexcept;

    rte_mempool& pool_;
    wire::RKey key_;
    std::vector<Chain> chains_;  ///< by the request's id
    LargeReceivesCounters counters_;
    std::unique_ptr<transport::CompletionQueue> completions_;
    std::unique_ptr<rdma::SharedReceiveQueue> queue_;
};

}  // namespace verbline::ipoib
