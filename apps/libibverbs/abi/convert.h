// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Converts values between <infiniband/verbs.h> and the engine.
///
/// Used for every completion: inline, no allocation, pure functions of the arguments. Verbs keep immediate data in
/// network byte order, the engine in host byte order. Work requests are work_request.h.

#include <bit>
#include <cstdint>
#include <utility>

#include <infiniband/verbs.h>

#include "datapath/memory/access.h"
#include "datapath/transport/async_event.h"
#include "datapath/transport/work.h"

namespace verbline::verbs {

/// The raw value of an enumerator that a program passed. It may lie outside the enumeration: check it before using it
/// as one of its values.
constexpr std::uint32_t number(const auto& enumerator) {
    return std::bit_cast<std::uint32_t>(enumerator);
}

/// True if our value and that of the verbs are equal.
consteval bool same(auto ours, auto theirs) {
    return static_cast<std::uint32_t>(ours) == static_cast<std::uint32_t>(theirs);
}

/// Bits map one to one. memory::KeyTable checks which may be combined, qp_values.h which a queue pair may have.
constexpr memory::Access to_access(unsigned flags) {
    using enum memory::Access;
    static_assert(same(local_write, IBV_ACCESS_LOCAL_WRITE));
    static_assert(same(remote_write, IBV_ACCESS_REMOTE_WRITE));
    static_assert(same(remote_read, IBV_ACCESS_REMOTE_READ));
    static_assert(same(remote_atomic, IBV_ACCESS_REMOTE_ATOMIC));
    static_assert(same(mw_bind, IBV_ACCESS_MW_BIND));
    static_assert(same(zero_based, IBV_ACCESS_ZERO_BASED));
    static_assert(same(on_demand, IBV_ACCESS_ON_DEMAND));
    static_assert(same(huge, IBV_ACCESS_HUGETLB));
    static_assert(same(relaxed_ordering, IBV_ACCESS_RELAXED_ORDERING));
    static_assert(same(memory::optional_flags, IBV_ACCESS_OPTIONAL_RANGE));
    return memory::Access{flags};
}

constexpr std::uint32_t to_bytes(ibv_mtu mtu) {
    return std::uint32_t{128} << std::to_underlying(mtu);
}
/// The largest that fits into `bytes`, of which there are at least 256.
constexpr ibv_mtu to_mtu(std::uint32_t bytes) {
    if (bytes >= 4096) return IBV_MTU_4096;
    return static_cast<ibv_mtu>(std::bit_width(bytes) - std::bit_width(128u));
}

constexpr std::uint32_t to_host(__be32 value) {
    return std::endian::native == std::endian::little ? std::byteswap(value) : value;
}
constexpr __be32 to_network(std::uint32_t value) {
    return to_host(value);
}

constexpr ibv_event_type to_event_type(transport::AsyncEventKind kind) {
    using enum transport::AsyncEventKind;
    static_assert(same(cq_error, IBV_EVENT_CQ_ERR));
    static_assert(same(communication_established, IBV_EVENT_COMM_EST));
    static_assert(same(port_error, IBV_EVENT_PORT_ERR));
    static_assert(same(lid_change, IBV_EVENT_LID_CHANGE));
    static_assert(same(pkey_change, IBV_EVENT_PKEY_CHANGE));
    static_assert(same(sm_change, IBV_EVENT_SM_CHANGE));
    static_assert(same(last_wqe_reached, IBV_EVENT_QP_LAST_WQE_REACHED));
    static_assert(same(client_reregister, IBV_EVENT_CLIENT_REREGISTER));
    static_assert(same(gid_change, IBV_EVENT_GID_CHANGE));
    return static_cast<ibv_event_type>(kind);
}

/// IBV_WC_FLUSH, which only newer headers have.
constexpr auto wc_flush = static_cast<ibv_wc_opcode>(8);

constexpr ibv_wc_opcode to_wc_opcode(transport::CompletionKind kind) {
    using enum transport::CompletionKind;
    switch (kind) {
        case send: return IBV_WC_SEND;
        case write: return IBV_WC_RDMA_WRITE;
        case read: return IBV_WC_RDMA_READ;
        case compare_swap: return IBV_WC_COMP_SWAP;
        case fetch_add: return IBV_WC_FETCH_ADD;
        case bind_window: return IBV_WC_BIND_MW;
        case local_invalidate: return IBV_WC_LOCAL_INV;
        case flush: return wc_flush;
        case atomic_write: return IBV_WC_ATOMIC_WRITE;
        case receive: return IBV_WC_RECV;
        case receive_write_with_immediate: return IBV_WC_RECV_RDMA_WITH_IMM;
    }
    std::unreachable();
}

inline ibv_wc to_wc(const transport::Completion& from) {
    using transport::Completion;
    static_assert(same(Completion::has_grh, IBV_WC_GRH) && same(Completion::has_immediate, IBV_WC_WITH_IMM) &&
                  same(Completion::has_invalidated, IBV_WC_WITH_INV));
    static_assert(same(transport::Status::general, IBV_WC_GENERAL_ERR));
    const bool immediate = (from.flags & Completion::has_immediate) != 0;
    return {.wr_id = from.id,
            .status = static_cast<ibv_wc_status>(from.status),
            .opcode = to_wc_opcode(from.kind),
            .vendor_err = 0,
            .byte_len = from.length,
            .imm_data = immediate ? to_network(from.immediate) : from.immediate,
            .qp_num = static_cast<std::uint32_t>(from.qpn),
            .src_qp = static_cast<std::uint32_t>(from.source),
            .wc_flags = from.flags,
            .pkey_index = from.pkey_index,
            .slid = static_cast<std::uint16_t>(from.slid),
            .sl = from.service_level,
            .dlid_path_bits = 0};
}

}  // namespace verbline::verbs
