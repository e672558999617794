// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Between ibv_wr_start and ibv_wr_complete: requests are put together call by call, and staged in the send queue,
/// where the shard does not see them yet. The first mistake spoils the whole batch.

#include <array>
#include <cstddef>
#include <vector>

#include <infiniband/verbs.h>

#include "apps/libibverbs/abi/work_request.h"
#include "apps/libibverbs/objects/limits.h"
#include "datapath/rdma/queue_pair.h"

namespace verbline::verbs {

class WorkBuilder {
public:
    WorkBuilder(rdma::QueuePair& pair, ibv_qp_type type, const ibv_qp_cap& cap);

    void start() noexcept;
    /// The next request, under this id and with these flags (ibv_qp_ex::wr_id, wr_flags).
    transport::SendRequest& next(ibv_wr_opcode opcode, std::uint64_t id, unsigned flags) noexcept;
    /// Of the request in hand.
    transport::SendRequest& current() noexcept { return request_; }
    void segments(std::span<const ibv_sge> list) noexcept;
    /// Copied at once. The pieces of one request follow each other.
    void inline_data(const void* from, std::size_t length) noexcept;
    void fail(int error) noexcept {
        if (error_ == 0) error_ = error;
    }

    /// 0, or what went wrong first; then nothing is left staged.
    int complete() noexcept;
    void abort() noexcept;

private:
    void stage() noexcept;

    rdma::QueuePair& pair_;
    const ibv_qp_type type_;
    const std::uint32_t max_segments_;
    std::vector<std::byte> inlined_;  ///< of the request in hand; has room for the most there may be
    std::size_t inlined_size_ = 0;
    std::array<transport::Segment, limits::segments> room_{};
    transport::SendRequest request_{};
    bool in_hand_ = false;
    int error_ = 0;
};

}  // namespace verbline::verbs
