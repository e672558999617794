// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <cerrno>
#include <ranges>

#include "tests/apps/libibverbs/objects/destruction_program.h"
#include "tests/support/verbs_device.h"

// What a program does with its objects between making and destroying them.

namespace verbline::destruction {
namespace {

constexpr std::uint32_t qkey = 0x1111;

}  // namespace

ibv_ah_attr Program::own_path() {
    ibv_ah_attr path{};
    path.is_global = 1;
    path.port_num = 1;
    path.grh.sgid_index = test::gid_index;
    path.grh.hop_limit = 64;
    ibv_query_gid(context_, 1, test::gid_index, &path.grh.dgid);
    return path;
}

std::shared_ptr<Object<ibv_qp>> Program::make_pair(ibv_qp_type type) {
    ibv_qp_init_attr_ex how{.cap = {.max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1},
                            .qp_type = type,
                            .sq_sig_all = random_.chance(0.5) ? 1 : 0};
    std::vector<std::shared_ptr<void>> parts;
    if (type == IBV_QPT_XRC_RECV) {
        auto xrcd = xrc_domain();
        how.comp_mask = IBV_QP_INIT_ATTR_XRCD, how.xrcd = xrcd->abi;
        parts = {xrcd};
    } else {
        auto pd = domain();
        auto sends = queue(), receives = queue();
        how.comp_mask = IBV_QP_INIT_ATTR_PD, how.pd = pd->abi;
        how.send_cq = sends->abi, how.recv_cq = receives->abi;
        parts = {pd, sends};
        if (type != IBV_QPT_XRC_SEND) parts.push_back(receives);
        auto srq = any(shared_);
        std::uint32_t number = 0;
        const bool basic = srq != nullptr && ibv_get_srq_num(srq->abi, &number) != 0;
        if (basic && type != IBV_QPT_XRC_SEND && random_.chance(0.5)) how.srq = srq->abi, parts.push_back(srq);
    }
    auto pair = keep(pairs_, ibv_create_qp_ex(context_, &how), std::move(parts));
    while (type == IBV_QPT_XRC_RECV && random_.chance(0.4)) {
        ibv_qp_open_attr open{.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE,
                              .qp_num = pair->abi->qp_num,
                              .xrcd = how.xrcd,
                              .qp_type = type};
        keep(pairs_, ibv_open_qp(context_, &open), pair->parts);
    }
    return pair;
}

void Program::connect(ibv_qp* qp, const ibv_qp* peer) {
    ibv_qp_attr a{};
    a.path_mtu = IBV_MTU_256;
    a.qkey = qkey;
    a.dest_qp_num = peer->qp_num;
    a.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
    a.ah_attr = own_path();
    a.max_rd_atomic = a.max_dest_rd_atomic = 4;
    a.min_rnr_timer = 1;
    a.port_num = 1;
    a.timeout = 12;
    a.retry_cnt = 2, a.rnr_retry = 7;
    const bool datagrams = qp->qp_type == IBV_QPT_UD;
    const bool asks = qp->qp_type == IBV_QPT_RC || qp->qp_type == IBV_QPT_XRC_SEND;
    const bool answers = qp->qp_type == IBV_QPT_RC || qp->qp_type == IBV_QPT_XRC_RECV;
    int rtr = IBV_QP_STATE, rts = IBV_QP_STATE | IBV_QP_SQ_PSN;
    if (!datagrams) rtr |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    if (answers) rtr |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    if (asks || answers) rts |= IBV_QP_TIMEOUT;
    if (asks) rts |= IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
    const auto move = [&](ibv_qp_state to, int mask) {
        a.qp_state = to;
        if (ibv_modify_qp(qp, &a, mask) != 0) wrong("a new queue pair does not become ready");
    };
    move(IBV_QPS_INIT,
         IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | (datagrams ? int{IBV_QP_QKEY} : int{IBV_QP_ACCESS_FLAGS}));
    move(IBV_QPS_RTR, rtr);
    move(IBV_QPS_RTS, rts);
}

void Program::make_connection() {
    constexpr std::array types{IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_XRC_SEND};
    const auto type = types[random_.below(types.size())];
    const auto a = make_pair(type), b = make_pair(type == IBV_QPT_XRC_SEND ? IBV_QPT_XRC_RECV : type);
    connect(a->abi, b->abi), connect(b->abi, a->abi);
}

ibv_sge Program::piece(std::uint32_t most) {
    const auto region = any(regions_);
    if (region == nullptr) return {};
    return {.addr = reinterpret_cast<std::uint64_t>(region->bytes.data()),
            .length = 8 + static_cast<std::uint32_t>(random_.below(most - 7)),
            .lkey = region->abi->lkey};
}

std::shared_ptr<Object<ibv_qp>> Program::ready_pair() {
    auto pair = any(pairs_);
    for (int tries = 0; tries < 8 && pair != nullptr && pair->abi->state != IBV_QPS_RTS; ++tries) pair = any(pairs_);
    return pair;
}

void Program::post() {
    constexpr std::array opcodes{IBV_WR_SEND,      IBV_WR_SEND_WITH_IMM,        IBV_WR_RDMA_WRITE,
                                 IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_RDMA_WRITE_WITH_IMM};
    const auto pair = ready_pair();
    if (pair == nullptr || pair->abi->qp_type == IBV_QPT_XRC_RECV) return;
    const bool datagrams = pair->abi->qp_type == IBV_QPT_UD;
    const auto address = any(addresses_);
    if (datagrams && address == nullptr) return;
    ibv_send_wr wr{}, *bad = nullptr;
    wr.opcode = opcodes[random_.below(datagrams ? 2 : opcodes.size())];
    auto from = piece(wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ? 8 : datagrams ? 256 : block);
    const auto to = any(regions_);
    if (to == nullptr) return;
    wr.sg_list = &from, wr.num_sge = 1;
    wr.send_flags = static_cast<unsigned>(random_.below(2)) * IBV_SEND_SIGNALED;
    wr.wr.rdma = {.remote_addr = reinterpret_cast<std::uint64_t>(to->bytes.data()), .rkey = to->abi->rkey};
    if (wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
        wr.wr.atomic = {.remote_addr = wr.wr.rdma.remote_addr, .compare_add = 1, .swap = 0, .rkey = to->abi->rkey};
    }
    for (const auto& srq : shared_) {
        if (ibv_get_srq_num(srq->abi, &wr.qp_type.xrc.remote_srqn) == 0 && random_.chance(0.5)) break;
    }
    if (datagrams) wr.wr.ud = {.ah = address->abi, .remote_qpn = any(pairs_)->abi->qp_num, .remote_qkey = qkey};
    const auto window = any(windows_);
    if (!datagrams && window != nullptr && random_.chance(0.1)) {
        ibv_mw_bind bind{.bind_info = {.mr = to->abi,
                                       .addr = wr.wr.rdma.remote_addr,
                                       .length = block,
                                       .mw_access_flags = IBV_ACCESS_REMOTE_WRITE}};
        std::ignore = ibv_bind_mw(pair->abi, window->abi, &bind);
    }
    std::ignore = ibv_post_send(pair->abi, &wr, &bad);
}

void Program::post_receives() {
    const auto srq = random_.chance(0.5) ? any(shared_) : nullptr;
    const auto pair = any(pairs_);
    for (auto count = 1 + random_.below(8); count > 0; --count) {
        auto to = piece(block);
        if (random_.chance(0.97)) to.length = block;  // or the message may be too long for it
        ibv_recv_wr wr{.next = nullptr, .sg_list = &to, .num_sge = 1}, *bad = nullptr;
        if (srq != nullptr) {
            std::ignore = ibv_post_srq_recv(srq->abi, &wr, &bad);
        } else if (pair != nullptr && pair->abi->qp_type != IBV_QPT_XRC_RECV) {
            std::ignore = ibv_post_recv(pair->abi, &wr, &bad);
        }
    }
}

void Program::poll() {
    const auto queue = any(queues_);
    if (queue == nullptr) return;
    std::array<ibv_wc, 16> completions{};
    const int n = ibv_poll_cq(queue->abi, static_cast<int>(random_.below(completions.size() + 1)), completions.data());
    completed_ += static_cast<std::uint64_t>(std::max(n, 0));
    if (random_.chance(0.5)) std::ignore = ibv_req_notify_cq(queue->abi, 0);
    if (random_.chance(0.1)) std::ignore = ibv_resize_cq(queue->abi, 256);
}

void Program::take_events() {
    const auto of = [](auto& all, const auto* abi) {
        return std::ranges::find_if(all, [abi](const auto& object) { return object->abi == abi; });
    };
    for (auto& channel : channels_) {
        ibv_cq* from = nullptr;
        void* known = nullptr;
        while (ibv_get_cq_event(channel->abi, &from, &known) == 0) {
            const auto queue = of(queues_, from);
            if (queue == queues_.end()) return wrong("a completion event is about a queue that has been destroyed");
            ++(*queue)->unacknowledged;
        }
    }
    ibv_async_event event{};
    while (context_ != nullptr && ibv_get_async_event(context_, &event) == 0) {
        const auto pair = of(pairs_, event.element.qp);
        const auto srq = of(shared_, event.element.srq);
        const auto queue = of(queues_, event.element.cq);
        if (pair != pairs_.end() && random_.chance(0.5)) {
            (*pair)->told.push_back(event);
        } else if (pair == pairs_.end() && srq == shared_.end() && queue == queues_.end() &&
                   event.event_type != IBV_EVENT_PORT_ACTIVE && event.event_type != IBV_EVENT_PORT_ERR) {
            return wrong("an asynchronous event is about an object that has been destroyed");
        } else {
            ibv_ack_async_event(&event);
        }
    }
}

void Program::change_state() {
    const auto pair = any(pairs_);
    if (pair == nullptr) return;
    constexpr std::array states{IBV_QPS_ERR, IBV_QPS_RESET, IBV_QPS_SQD, IBV_QPS_RTS};
    ibv_qp_attr to{};
    to.qp_state = states[random_.below(states.size())];
    std::ignore = ibv_modify_qp(pair->abi, &to, IBV_QP_STATE);
    ibv_gid group{};
    group.raw[0] = 0xff, group.raw[1] = 0x0e, group.raw[15] = 1;
    if (pair->abi->qp_type != IBV_QPT_UD || ibv_attach_mcast(pair->abi, &group, 0) != 0) return;
    if (ibv_destroy_qp(pair->abi) != EBUSY) wrong("a queue pair in a multicast group is destroyed");
    if (ibv_detach_mcast(pair->abi, &group, 0) != 0) wrong("a queue pair cannot leave its group");
}

void Program::act() {
    switch (random_.below(20)) {
        case 0: return make_connection();
        case 1:
        case 2: return make_one();
        case 3:
        case 4:
        case 5: return destroy_one();
        case 6: return change_state();
        case 7: return take_events();
        case 8:
        case 9:
        case 10:
            for (int rounds = 0; rounds < 4; ++rounds) poll();
            return;
        case 11:
        case 12:
        case 13: return post_receives();
        default: return post();
    }
}

}  // namespace verbline::destruction
