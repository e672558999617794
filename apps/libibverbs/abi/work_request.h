// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Converts work requests of the verbs to the engine's.
///
/// Used for every post: inline, no allocation. Segments are copied into `room`, which must outlive the request built on
/// them. Errors are errno values, as ibv_post_send returns them. The capacity of a queue, and what its state allows,
/// are checked by the engine.

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>

#include <infiniband/verbs.h>

#include "apps/libibverbs/abi/convert.h"
#include "datapath/transport/work.h"

namespace verbline::verbs {

using Segments = std::span<transport::Segment>;

/// EINVAL: more segments than `room` holds.
inline std::expected<std::span<const transport::Segment>, int> to_segments(const ibv_sge* list, int count,
                                                                           Segments room) {
    const auto size = static_cast<std::size_t>(count);  // a negative count does not fit, either
    if (size > room.size()) return std::unexpected(EINVAL);
    for (std::size_t i = 0; i < size; ++i) room[i] = {list[i].addr, list[i].length, wire::RKey{list[i].lkey}};
    return room.first(size);
}

inline std::expected<transport::ReceiveRequest, int> to_receive_request(const ibv_recv_wr& from, Segments room) {
    const auto segments = to_segments(from.sg_list, from.num_sge, room);
    if (!segments) return std::unexpected(segments.error());
    return transport::ReceiveRequest{.id = from.wr_id, .segments = *segments};
}

/// EINVAL: no window, flags that a window cannot have, or no region although there is something to bind.
inline std::expected<transport::WindowBinding, int> to_binding(const ibv_mw* window, std::uint32_t new_key,
                                                               const ibv_mw_bind_info& from) {
    // Local write access belongs to the region; programs set it nevertheless, and drivers accept it.
    constexpr unsigned possible = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                                  IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_ZERO_BASED;
    if (window == nullptr || (from.mw_access_flags & ~possible) != 0) return std::unexpected(EINVAL);
    if (from.mr == nullptr && from.length != 0) return std::unexpected(EINVAL);
    return transport::WindowBinding{.window = wire::RKey{window->rkey},
                                    .new_key = wire::RKey{new_key},
                                    .region = wire::RKey{from.mr != nullptr ? from.mr->lkey : 0},
                                    .address = from.addr,
                                    .length = from.length,
                                    .rights = to_access(from.mw_access_flags & ~unsigned{IBV_ACCESS_LOCAL_WRITE})};
}

/// Properties of a work request opcode.
struct WorkOpcode {
    enum Types : std::uint8_t {
        none = 0,
        ud = 1,
        uc = 2,
        rc = 4,
        xrc = 8,
        reliable = rc | xrc,
        connected = uc | reliable
    };
    enum Immediate : std::uint8_t { no_immediate, data, key };
    enum Remote : std::uint8_t { no_remote, rdma, atomic };

    transport::SendOperation operation{};
    std::uint8_t types = none;  ///< of queue pairs that support it (IBTA volume 1, 10.7.2.2 and 11.4.1.1)
    Immediate immediate = no_immediate;
    Remote remote = no_remote;

    bool allowed(ibv_qp_type type) const {
        switch (type) {
            case IBV_QPT_UD: return (types & ud) != 0;
            case IBV_QPT_UC: return (types & uc) != 0;
            case IBV_QPT_RC: return (types & rc) != 0;
            case IBV_QPT_XRC_SEND: return (types & xrc) != 0;
            default: return false;
        }
    }
    /// The response returns data, which is written to the segments.
    bool fetches() const {
        using enum transport::SendOperation;
        return operation == read || operation == compare_swap || operation == fetch_add;
    }
    bool local() const {
        return operation == transport::SendOperation::bind_window ||
               operation == transport::SendOperation::local_invalidate;
    }
};

constexpr auto work_opcodes = [] {
    using enum transport::SendOperation;
    using W = WorkOpcode;
    std::array<WorkOpcode, IBV_WR_ATOMIC_WRITE + 1> table{};
    table[IBV_WR_SEND] = {send, W::ud | W::connected};
    table[IBV_WR_SEND_WITH_IMM] = {send_with_immediate, W::ud | W::connected, W::data};
    table[IBV_WR_SEND_WITH_INV] = {send_with_invalidate, W::reliable, W::key};
    table[IBV_WR_RDMA_WRITE] = {write, W::connected, W::no_immediate, W::rdma};
    table[IBV_WR_RDMA_WRITE_WITH_IMM] = {write_with_immediate, W::connected, W::data, W::rdma};
    table[IBV_WR_RDMA_READ] = {read, W::reliable, W::no_immediate, W::rdma};
    table[IBV_WR_ATOMIC_CMP_AND_SWP] = {compare_swap, W::reliable, W::no_immediate, W::atomic};
    table[IBV_WR_ATOMIC_FETCH_AND_ADD] = {fetch_add, W::reliable, W::no_immediate, W::atomic};
    table[IBV_WR_ATOMIC_WRITE] = {atomic_write, W::reliable, W::no_immediate, W::rdma};
    table[IBV_WR_LOCAL_INV] = {local_invalidate, W::connected, W::key};
    table[IBV_WR_BIND_MW] = {bind_window, W::connected};
    return table;
}();

inline void set_remote(const WorkOpcode& work, const ibv_send_wr& from, transport::SendRequest& to) {
    to.compare = to.swap_or_add = 0;
    if (work.remote == WorkOpcode::rdma) {
        to.remote_address = from.wr.rdma.remote_addr;
        to.rkey = wire::RKey{from.wr.rdma.rkey};
    } else if (work.remote == WorkOpcode::atomic) {
        const bool swaps = work.operation == transport::SendOperation::compare_swap;
        to.remote_address = from.wr.atomic.remote_addr;
        to.rkey = wire::RKey{from.wr.atomic.rkey};
        to.compare = swaps ? from.wr.atomic.compare_add : 0;
        to.swap_or_add = swaps ? from.wr.atomic.swap : from.wr.atomic.compare_add;
    } else {
        to.remote_address = 0;
        to.rkey = {};
    }
}

/// `to` may be reused without clearing: every field that counts for the operation is set, except a datagram's envelope,
/// which comes from the address handle (`ud.envelope`, null after this). EINVAL: an operation that queue pairs of this
/// type do not support, unknown flags, or more segments than `room` holds; `to` is then unspecified.
inline std::expected<void, int> to_send_request(const ibv_send_wr& from, ibv_qp_type type, Segments room,
                                                transport::SendRequest& to) {
    static_assert(same(transport::send_fence, IBV_SEND_FENCE) && same(transport::send_signalled, IBV_SEND_SIGNALED));
    static_assert(same(transport::send_solicited, IBV_SEND_SOLICITED) && same(transport::send_inline, IBV_SEND_INLINE));
    constexpr unsigned known = IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_INLINE;
    const auto opcode = number(from.opcode);
    if (opcode >= work_opcodes.size() || (from.send_flags & ~known) != 0) return std::unexpected(EINVAL);
    const auto& work = work_opcodes[opcode];
    if (!work.allowed(type)) return std::unexpected(EINVAL);
    if ((from.send_flags & IBV_SEND_INLINE) != 0 && work.fetches()) return std::unexpected(EINVAL);

    to.id = from.wr_id;
    to.operation = work.operation;
    to.flags = static_cast<std::uint8_t>(from.send_flags);
    to.immediate = work.immediate == WorkOpcode::data  ? to_host(from.imm_data)
                   : work.immediate == WorkOpcode::key ? from.invalidate_rkey
                                                       : 0;
    to.xrc_srq = type == IBV_QPT_XRC_SEND ? from.qp_type.xrc.remote_srqn : 0;
    to.ud = {};
    if (type == IBV_QPT_UD) {
        to.ud.qpn = wire::Qpn{from.wr.ud.remote_qpn & 0xffffff};
        to.ud.qkey = wire::QKey{from.wr.ud.remote_qkey};
    }
    set_remote(work, from, to);
    if (work.operation == transport::SendOperation::bind_window) {
        const auto binding = to_binding(from.bind_mw.mw, from.bind_mw.rkey, from.bind_mw.bind_info);
        if (!binding) return std::unexpected(binding.error());
        to.bind = *binding;
    }
    // Local operations have no segments: the list is ignored and may be invalid.
    const auto segments = to_segments(from.sg_list, work.local() ? 0 : from.num_sge, room);
    if (!segments) return std::unexpected(segments.error());
    to.segments = *segments;
    return {};
}

}  // namespace verbline::verbs
