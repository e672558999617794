// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Calls of libibverbs that a device may lack: they are in a table behind its context, whose entries the device's
/// provider fills, and not among the library's symbols.
///
/// Each answers EOPNOTSUPP where the device has none. As everywhere in this folder, why a call returned null is in the
/// library's errno (`Verbs::error`).

#include <cerrno>

#include "pmd/hca/verbs.h"

namespace verbline::pmd::hca {

/// Whether the device has all calls that spread receives over several queues.
inline bool has_work_queues(ibv_context& context) {
    return verbs_get_ctx_op(&context, create_wq) != nullptr && verbs_get_ctx_op(&context, modify_wq) != nullptr &&
           verbs_get_ctx_op(&context, destroy_wq) != nullptr &&
           verbs_get_ctx_op(&context, create_rwq_ind_table) != nullptr &&
           verbs_get_ctx_op(&context, destroy_rwq_ind_table) != nullptr &&
           verbs_get_ctx_op(&context, create_qp_ex) != nullptr;
}

inline int query_device_ex(ibv_context& context, ibv_device_attr_ex& out) {
    auto* const calls = verbs_get_ctx_op(&context, query_device_ex);
    return calls == nullptr ? EOPNOTSUPP : calls->query_device_ex(&context, nullptr, &out, sizeof out);
}

inline ibv_qp* create_qp_ex(const Verbs& verbs, ibv_context& context, ibv_qp_init_attr_ex& wanted) {
    auto* const calls = verbs_get_ctx_op(&context, create_qp_ex);
    if (calls != nullptr) return calls->create_qp_ex(&context, &wanted);
    *verbs.errno_location() = EOPNOTSUPP;
    return nullptr;
}

/// By the call that every device has if that will do.
inline ibv_qp* create_any_qp(const Verbs& verbs, ibv_context& context, ibv_qp_init_attr_ex& wanted) {
    if (wanted.comp_mask != IBV_QP_INIT_ATTR_PD) return create_qp_ex(verbs, context, wanted);
    // The library's header relies on the same: the one structure begins with the other.
    return verbs.create_qp(wanted.pd, reinterpret_cast<ibv_qp_init_attr*>(&wanted));
}

inline ibv_flow* create_flow(const Verbs& verbs, ibv_qp& queue_pair, ibv_flow_attr& wanted) {
    auto* const calls = verbs_get_ctx_op(queue_pair.context, ibv_create_flow);
    if (calls != nullptr) return calls->ibv_create_flow(&queue_pair, &wanted);
    *verbs.errno_location() = EOPNOTSUPP;
    return nullptr;
}
inline int destroy_flow(ibv_flow* flow) {
    auto* const calls = verbs_get_ctx_op(flow->context, ibv_destroy_flow);
    return calls == nullptr ? EOPNOTSUPP : calls->ibv_destroy_flow(flow);
}

// Of a context that `has_work_queues`.

inline ibv_wq* create_wq(ibv_context& context, ibv_wq_init_attr& wanted) {
    auto* const made = verbs_get_ctx(&context)->create_wq(&context, &wanted);
    if (made == nullptr) return nullptr;
    made->wq_context = wanted.wq_context;
    made->events_completed = 0;
    pthread_mutex_init(&made->mutex, nullptr);  // which the library locks when an event of it is acknowledged
    pthread_cond_init(&made->cond, nullptr);
    return made;
}
inline int modify_wq(ibv_wq& queue, ibv_wq_state state) {
    ibv_wq_attr attributes{};
    attributes.attr_mask = IBV_WQ_ATTR_STATE;
    attributes.wq_state = state;
    return verbs_get_ctx(queue.context)->modify_wq(&queue, &attributes);
}
inline int destroy_wq(ibv_wq* queue) {
    return verbs_get_ctx(queue->context)->destroy_wq(queue);
}
inline ibv_rwq_ind_table* create_rwq_ind_table(ibv_context& context, ibv_rwq_ind_table_init_attr& wanted) {
    return verbs_get_ctx(&context)->create_rwq_ind_table(&context, &wanted);
}
inline int destroy_rwq_ind_table(ibv_rwq_ind_table* table) {
    return verbs_get_ctx(table->context)->destroy_rwq_ind_table(table);
}

inline int post_receive(ibv_wq& queue, ibv_recv_wr& first, ibv_recv_wr*& refused) noexcept {
    return queue.post_recv(&queue, &first, &refused);
}

}  // namespace verbline::pmd::hca
