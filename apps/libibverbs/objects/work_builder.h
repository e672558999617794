// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Builds requests between ibv_wr_start and ibv_wr_complete: call by call, staged in the send queue, invisible to the
/// shard until completed. The first error fails the whole batch.

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
    /// Begins the next request, with this id and these flags (ibv_qp_ex::wr_id, wr_flags).
    transport::SendRequest& next(ibv_wr_opcode opcode, std::uint64_t id, unsigned flags) noexcept;
    /// The request being built.
    transport::SendRequest& current() noexcept { return request_; }
    void segments(std::span<const ibv_sge> list) noexcept;
    /// Copies the data at once. Several pieces of one request are concatenated.
    void inline_data(const void* from, std::size_t length) noexcept;
    void fail(int error) noexcept {
        if (error_ == 0) error_ = error;
    }

    /// Returns 0, or the first error, and then nothing stays staged.
    int complete() noexcept;
    void abort() noexcept;

private:
    void stage() noexcept;

    rdma::QueuePair& pair_;
    const ibv_qp_type type_;
    const std::uint32_t max_segments_;
    std::vector<std::byte> inlined_;  ///< of the request being built; has room for the maximum
    std::size_t inlined_size_ = 0;
    std::array<transport::Segment, limits::segments> room_{};
    transport::SendRequest request_{};
    bool building_ = false;
    int error_ = 0;
};

}  // namespace verbline::verbs
