// SPDX-License-Identifier: BSD-3-Clause
// ibv_modify_qp and ibv_query_qp.
#include <algorithm>
#include <utility>

#include "apps/libibverbs/abi/convert.h"
#include "apps/libibverbs/abi/qp_transitions.h"
#include "apps/libibverbs/abi/qp_values.h"
#include "apps/libibverbs/objects/address_handle.h"
#include "apps/libibverbs/objects/queue_pair.h"

namespace verbline::verbs {
namespace {

constexpr std::uint32_t psn_mask = 0xff'ffff;

hub::XrcTargetState to_target_state(ibv_qp_state state) {
    switch (state) {
        case IBV_QPS_RESET: return hub::XrcTargetState::reset;
        case IBV_QPS_INIT: return hub::XrcTargetState::init;
        case IBV_QPS_RTR: return hub::XrcTargetState::rtr;
        case IBV_QPS_ERR: return hub::XrcTargetState::error;
        default: return hub::XrcTargetState::rts;
    }
}

}  // namespace

Result<void> VerbsQueuePair::modify(const ibv_qp_attr& attributes, int mask) {
    if (!context().alive()) return failure(EIO, "the context is that of a parent process");
    const std::scoped_lock lock(modify_mutex_);
    if (const auto checked = check_values(attributes, mask); !checked) return failure(checked.error(), "attributes");
    const auto from = (mask & IBV_QP_CUR_STATE) != 0 ? attributes.cur_qp_state : state();
    const auto to = (mask & IBV_QP_STATE) != 0 ? attributes.qp_state : from;
    if (const auto checked = check_transition(handle_.abi.qp_base.qp_type, from, to, mask); !checked) {
        return failure(checked.error(), "transition or attributes");
    }
    const auto pkeys = context().port().fabric().pkeys.size();
    if (((mask & IBV_QP_PKEY_INDEX) != 0 && attributes.pkey_index >= pkeys) ||
        ((mask & IBV_QP_MAX_QP_RD_ATOMIC) != 0 && attributes.max_rd_atomic > limits::reads) ||
        ((mask & IBV_QP_MAX_DEST_RD_ATOMIC) != 0 && attributes.max_dest_rd_atomic > limits::reads)) {
        return failure(EINVAL, "more than the device has");
    }
    const auto before = attributes_;
    remember(attributes, mask);
    if (auto moved = move(from, to, mask); !moved) {
        attributes_ = before;
        return moved;
    }
    handle_.abi.qp_base.state = to;
    return {};
}

void VerbsQueuePair::remember(const ibv_qp_attr& from, int mask) {
    auto& to = attributes_;
    const auto take = [mask](int bit, auto& place, const auto& value) {
        if ((mask & bit) != 0) place = value;
    };
    take(IBV_QP_EN_SQD_ASYNC_NOTIFY, to.en_sqd_async_notify, from.en_sqd_async_notify);
    take(IBV_QP_ACCESS_FLAGS, to.qp_access_flags, from.qp_access_flags);
    take(IBV_QP_PKEY_INDEX, to.pkey_index, from.pkey_index);
    take(IBV_QP_PORT, to.port_num, from.port_num);
    take(IBV_QP_QKEY, to.qkey, from.qkey);
    take(IBV_QP_AV, to.ah_attr, from.ah_attr);
    take(IBV_QP_PATH_MTU, to.path_mtu, from.path_mtu);
    take(IBV_QP_TIMEOUT, to.timeout, from.timeout);
    take(IBV_QP_RETRY_CNT, to.retry_cnt, from.retry_cnt);
    take(IBV_QP_RNR_RETRY, to.rnr_retry, from.rnr_retry);
    take(IBV_QP_RQ_PSN, to.rq_psn, from.rq_psn & psn_mask);
    take(IBV_QP_MAX_QP_RD_ATOMIC, to.max_rd_atomic, from.max_rd_atomic);
    take(IBV_QP_ALT_PATH, to.alt_ah_attr, from.alt_ah_attr);
    take(IBV_QP_ALT_PATH, to.alt_pkey_index, from.alt_pkey_index);
    take(IBV_QP_ALT_PATH, to.alt_port_num, from.alt_port_num);
    take(IBV_QP_ALT_PATH, to.alt_timeout, from.alt_timeout);
    take(IBV_QP_MIN_RNR_TIMER, to.min_rnr_timer, from.min_rnr_timer);
    take(IBV_QP_SQ_PSN, to.sq_psn, from.sq_psn & psn_mask);
    take(IBV_QP_MAX_DEST_RD_ATOMIC, to.max_dest_rd_atomic, from.max_dest_rd_atomic);
    take(IBV_QP_PATH_MIG_STATE, to.path_mig_state, from.path_mig_state);
    take(IBV_QP_DEST_QPN, to.dest_qp_num, from.dest_qp_num & psn_mask);
    take(IBV_QP_RATE_LIMIT, to.rate_limit, from.rate_limit);
}

Result<void> VerbsQueuePair::move(ibv_qp_state from, ibv_qp_state to, int mask) {
    if (parts_.shared_domain() != nullptr) return move_shared(to);
    switch (to) {
        case IBV_QPS_RESET:
            native_->reset();
            if (parts_.send_queue != nullptr) parts_.send_queue->purge(native_->qpn());
            if (parts_.receive_queue != nullptr) parts_.receive_queue->purge(native_->qpn());
            return {};
        case IBV_QPS_INIT: return to_init();
        case IBV_QPS_RTR: return from == IBV_QPS_RTR ? change(mask) : to_rtr();
        case IBV_QPS_RTS: return to_rts(from, mask);
        case IBV_QPS_SQD: return from == IBV_QPS_SQD ? change(mask) : native_->drain();
        case IBV_QPS_SQE: return change(mask);
        case IBV_QPS_ERR: native_->error(); return {};
        default: return failure(EINVAL, "state");
    }
}

/// Of an XRC target that other programs may share, and change.
Result<void> VerbsQueuePair::move_shared(ibv_qp_state to) {
    auto& sharing = context().port().xrc();
    auto target = sharing.find(native_->qpn());
    if (!target) return failure(EIO, "the XRC target ended with the node, which has been restarted");
    target->state = to_target_state(to);
    target->access = std::to_underlying(to_access(attributes_.qp_access_flags));
    target->pkey_index = attributes_.pkey_index;
    target->rnr_timer = attributes_.min_rnr_timer;
    if (to == IBV_QPS_RTR) {
        const auto path = to_path(context(), attributes_.ah_attr);
        if (!path) return std::unexpected(path.error());
        const auto source = context().device().gids().at(path->gid_index);
        if (!source) return failure(EINVAL, "GID index");
        target->peer = wire::Qpn{attributes_.dest_qp_num};
        target->first = wire::Psn{attributes_.rq_psn};
        target->mtu = static_cast<std::uint16_t>(to_bytes(attributes_.path_mtu));
        target->max_reads = attributes_.max_dest_rd_atomic;
        target->source = source->gid;
        target->roce_v1 = source->type == link::GidType::roce_v1;
        target->to = path->address;
        target->mac = path->mac;
    }
    return sharing.change(*parts_.shared_domain(), *target);
}

Result<void> VerbsQueuePair::to_init() {
    return native_->init({.access = to_access(attributes_.qp_access_flags),
                          .pkey_index = attributes_.pkey_index,
                          .qkey = wire::QKey{attributes_.qkey}});
}

Result<void> VerbsQueuePair::to_rtr() {
    rdma::ReadyToReceive ready{.remote = wire::Qpn{attributes_.dest_qp_num},
                               .first = wire::Psn{attributes_.rq_psn},
                               .max_reads = attributes_.max_dest_rd_atomic,
                               .rnr_timer = attributes_.min_rnr_timer};
    if (handle_.abi.qp_base.qp_type != IBV_QPT_UD) {
        const auto path = to_path(context(), attributes_.ah_attr);
        if (!path) return std::unexpected(path.error());
        ready.path = *path;
        ready.mtu = to_bytes(attributes_.path_mtu);
    } else {
        ready.mtu = context().device().max_mtu();
    }
    native_->set_access(to_access(attributes_.qp_access_flags));
    return native_->ready_to_receive(ready);
}

rdma::ReadyToSend VerbsQueuePair::ready_to_send() const {
    return {.first = wire::Psn{attributes_.sq_psn},
            .timeout = attributes_.timeout,
            .retries = attributes_.retry_cnt,
            .rnr_retries = attributes_.rnr_retry,
            .max_reads = attributes_.max_rd_atomic};
}

Result<void> VerbsQueuePair::to_rts(ibv_qp_state from, int mask) {
    if (auto changed = change(mask); !changed || from == IBV_QPS_RTS) return changed;
    return from == IBV_QPS_RTR ? native_->ready_to_send(ready_to_send()) : native_->resume();
}

/// Applies the attributes that may change without a new connection.
Result<void> VerbsQueuePair::change(int mask) {
    if ((mask & IBV_QP_ACCESS_FLAGS) != 0) native_->set_access(to_access(attributes_.qp_access_flags));
    if ((mask & IBV_QP_QKEY) != 0) native_->set_qkey(wire::QKey{attributes_.qkey});
    if ((mask & IBV_QP_MIN_RNR_TIMER) != 0) native_->set_rnr_timer(attributes_.min_rnr_timer);
    if ((mask & (IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY)) != 0) native_->set_retries(ready_to_send());
    return {};
}

void VerbsQueuePair::query(ibv_qp_attr& attributes, ibv_qp_init_attr& made_with) {
    const std::scoped_lock lock(modify_mutex_);
    attributes = attributes_;
    attributes.qp_state = attributes.cur_qp_state = handle_.abi.qp_base.state = state();
    attributes.sq_draining = state() == IBV_QPS_SQD && !native_->drained() ? 1 : 0;
    made_with = made_with_;
}

}  // namespace verbline::verbs
