// SPDX-License-Identifier: BSD-3-Clause
// The functions of ibv_qp_ex: ibv_wr_start, ibv_wr_send, ..., ibv_wr_complete.
#include "apps/libibverbs/abi/convert.h"
#include "apps/libibverbs/objects/address_handle.h"
#include "apps/libibverbs/objects/queue_pair.h"

namespace verbline::verbs {
namespace {

WorkBuilder& builder(ibv_qp_ex* qp) {
    return VerbsQueuePair::of(qp).builder();
}

transport::SendRequest& next(ibv_qp_ex* qp, ibv_wr_opcode opcode) {
    return builder(qp).next(opcode, qp->wr_id, qp->wr_flags);
}

transport::SendRequest& next(ibv_qp_ex* qp, ibv_wr_opcode opcode, std::uint32_t rkey, std::uint64_t remote) {
    auto& request = next(qp, opcode);
    request.rkey = wire::RKey{rkey};
    request.remote_address = remote;
    return request;
}

void compare_swap(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t remote, std::uint64_t compare, std::uint64_t swap) {
    auto& request = next(qp, IBV_WR_ATOMIC_CMP_AND_SWP, rkey, remote);
    request.compare = compare;
    request.swap_or_add = swap;
}

void fetch_add(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t remote, std::uint64_t add) {
    next(qp, IBV_WR_ATOMIC_FETCH_AND_ADD, rkey, remote).swap_or_add = add;
}

void atomic_write(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t remote, const void* value) {
    next(qp, IBV_WR_ATOMIC_WRITE, rkey, remote);
    builder(qp).inline_data(value, sizeof(std::uint64_t));
}

void bind_window(ibv_qp_ex* qp, ibv_mw* window, std::uint32_t rkey, const ibv_mw_bind_info* bind) {
    auto& request = next(qp, IBV_WR_BIND_MW);
    const auto binding = to_binding(window, rkey, *bind);
    if (!binding) return builder(qp).fail(binding.error());
    request.bind = *binding;
}

void set_ud_address(ibv_qp_ex* qp, ibv_ah* ah, std::uint32_t qpn, std::uint32_t qkey) {
    if (ah == nullptr) return builder(qp).fail(EINVAL);
    builder(qp).current().ud = {
        .envelope = &AddressHandle::of(ah).envelope(), .qpn = wire::Qpn{qpn & 0xff'ffff}, .qkey = wire::QKey{qkey}};
}

void set_inline_list(ibv_qp_ex* qp, std::size_t count, const ibv_data_buf* list) {
    for (const auto& piece : std::span(list, count)) builder(qp).inline_data(piece.addr, piece.length);
}

void set_segment(ibv_qp_ex* qp, std::uint32_t lkey, std::uint64_t address, std::uint32_t length) {
    const ibv_sge segment{.addr = address, .length = length, .lkey = lkey};
    builder(qp).segments({&segment, 1});
}

}  // namespace

void set_work_operations(ibv_qp_ex& qp) {
    qp.wr_atomic_cmp_swp = compare_swap;
    qp.wr_atomic_fetch_add = fetch_add;
    qp.wr_atomic_write = atomic_write;
    qp.wr_bind_mw = bind_window;
    qp.wr_local_inv = [](ibv_qp_ex* of, std::uint32_t rkey) { next(of, IBV_WR_LOCAL_INV).immediate = rkey; };
    qp.wr_rdma_read = [](ibv_qp_ex* of, std::uint32_t rkey, std::uint64_t remote) {
        next(of, IBV_WR_RDMA_READ, rkey, remote);
    };
    qp.wr_rdma_write = [](ibv_qp_ex* of, std::uint32_t rkey, std::uint64_t remote) {
        next(of, IBV_WR_RDMA_WRITE, rkey, remote);
    };
    qp.wr_rdma_write_imm = [](ibv_qp_ex* of, std::uint32_t rkey, std::uint64_t remote, __be32 immediate) {
        next(of, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, remote).immediate = to_host(immediate);
    };
    qp.wr_send = [](ibv_qp_ex* of) { next(of, IBV_WR_SEND); };
    qp.wr_send_imm = [](ibv_qp_ex* of, __be32 immediate) {
        next(of, IBV_WR_SEND_WITH_IMM).immediate = to_host(immediate);
    };
    qp.wr_send_inv = [](ibv_qp_ex* of, std::uint32_t rkey) { next(of, IBV_WR_SEND_WITH_INV).immediate = rkey; };
    qp.wr_set_ud_addr = set_ud_address;
    qp.wr_set_xrc_srqn = [](ibv_qp_ex* of, std::uint32_t number) { builder(of).current().xrc_srq = number; };
    qp.wr_set_inline_data = [](ibv_qp_ex* of, void* from, std::size_t length) {
        builder(of).inline_data(from, length);
    };
    qp.wr_set_inline_data_list = set_inline_list;
    qp.wr_set_sge = set_segment;
    qp.wr_set_sge_list = [](ibv_qp_ex* of, std::size_t count, const ibv_sge* list) {
        builder(of).segments({list, count});
    };
    qp.wr_start = [](ibv_qp_ex* of) { VerbsQueuePair::of(of).start_work(); };
    qp.wr_complete = [](ibv_qp_ex* of) { return VerbsQueuePair::of(of).complete_work(); };
    qp.wr_abort = [](ibv_qp_ex* of) { VerbsQueuePair::of(of).abort_work(); };
}

}  // namespace verbline::verbs
