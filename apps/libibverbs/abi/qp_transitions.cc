// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/abi/qp_transitions.h"

#include <array>
#include <cerrno>
#include <cstddef>
#include <optional>

namespace verbline::verbs {
namespace {

constexpr std::size_t type_count = 5;

/// The column of a type in the rows below.
constexpr std::optional<std::size_t> column(ibv_qp_type type) {
    switch (type) {
        case IBV_QPT_UD: return 0;
        case IBV_QPT_UC: return 1;
        case IBV_QPT_RC: return 2;
        case IBV_QPT_XRC_SEND: return 3;
        case IBV_QPT_XRC_RECV: return 4;
        default: return std::nullopt;
    }
}

using Masks = std::array<int, type_count>;

struct Transition {
    ibv_qp_state from, to;
    Masks required{}, optional{};
};

constexpr Masks all(int mask) {
    return {mask, mask, mask, mask, mask};
}

// Attributes that belong together. `path_attributes` may be changed in every state of a connection.
constexpr int place = IBV_QP_PKEY_INDEX | IBV_QP_PORT;
constexpr int current = IBV_QP_CUR_STATE;
constexpr int path_attributes = IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS;
constexpr int peer = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
constexpr int responder = IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
constexpr int retries = IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
constexpr int migration = path_attributes | IBV_QP_PATH_MIG_STATE;
constexpr int timer = IBV_QP_MIN_RNR_TIMER;

/// A connection in RTS, or on its way there.
constexpr Masks running = {current | IBV_QP_QKEY, current | migration, current | migration | timer, current | migration,
                           current | migration | timer};

constexpr Masks initial = {place | IBV_QP_QKEY, place | IBV_QP_ACCESS_FLAGS, place | IBV_QP_ACCESS_FLAGS,
                           place | IBV_QP_ACCESS_FLAGS, place | IBV_QP_ACCESS_FLAGS};

//                                       UD, UC, RC, XRC_SEND, XRC_RECV
constexpr Transition transitions[] = {
    {IBV_QPS_RESET, IBV_QPS_RESET},
    {IBV_QPS_RESET, IBV_QPS_INIT, initial},

    {IBV_QPS_INIT, IBV_QPS_RESET},
    {IBV_QPS_INIT, IBV_QPS_ERR},
    {IBV_QPS_INIT, IBV_QPS_INIT, {}, initial},
    {IBV_QPS_INIT,
     IBV_QPS_RTR,
     {0, peer, peer | responder, peer, peer | responder},
     {IBV_QP_PKEY_INDEX | IBV_QP_QKEY, path_attributes | IBV_QP_PKEY_INDEX, path_attributes | IBV_QP_PKEY_INDEX,
      path_attributes | IBV_QP_PKEY_INDEX, path_attributes | IBV_QP_PKEY_INDEX}},

    {IBV_QPS_RTR, IBV_QPS_RESET},
    {IBV_QPS_RTR, IBV_QPS_ERR},
    {IBV_QPS_RTR,
     IBV_QPS_RTS,
     {IBV_QP_SQ_PSN, IBV_QP_SQ_PSN, IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | retries, IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | retries,
      IBV_QP_SQ_PSN | IBV_QP_TIMEOUT},
     running},

    {IBV_QPS_RTS, IBV_QPS_RESET},
    {IBV_QPS_RTS, IBV_QPS_ERR},
    {IBV_QPS_RTS, IBV_QPS_RTS, {}, running},
    {IBV_QPS_RTS, IBV_QPS_SQD, {}, all(IBV_QP_EN_SQD_ASYNC_NOTIFY)},

    {IBV_QPS_SQD, IBV_QPS_RESET},
    {IBV_QPS_SQD, IBV_QPS_ERR},
    {IBV_QPS_SQD, IBV_QPS_RTS, {}, running},
    {IBV_QPS_SQD,
     IBV_QPS_SQD,
     {},
     {IBV_QP_PKEY_INDEX | IBV_QP_QKEY,  //
      migration | IBV_QP_PKEY_INDEX | IBV_QP_AV, migration | place | IBV_QP_AV | IBV_QP_TIMEOUT | retries | responder,
      migration | place | IBV_QP_AV | IBV_QP_TIMEOUT | retries,
      migration | place | IBV_QP_AV | IBV_QP_TIMEOUT | responder}},

    // Queue pairs that retry never come here (IBTA 10.3.1.7).
    {IBV_QPS_SQE, IBV_QPS_RESET},
    {IBV_QPS_SQE, IBV_QPS_ERR},
    {IBV_QPS_SQE, IBV_QPS_RTS, {}, {current | IBV_QP_QKEY, current | IBV_QP_ACCESS_FLAGS}},

    {IBV_QPS_ERR, IBV_QPS_RESET},
    {IBV_QPS_ERR, IBV_QPS_ERR},
};

/// Attributes of the other half of an XRC connection: programs set up both halves alike, and Linux ignores these.
constexpr int of_other_half(ibv_qp_type type) {
    switch (type) {
        case IBV_QPT_XRC_SEND: return responder;
        case IBV_QPT_XRC_RECV: return retries;
        default: return 0;
    }
}

const Transition* find(ibv_qp_state from, ibv_qp_state to) {
    for (const auto& transition : transitions) {
        if (transition.from == from && transition.to == to) return &transition;
    }
    return nullptr;
}

/// The states that IBV_QP_CUR_STATE may claim (11.2.5.2: those that the device may leave by itself).
bool can_be_claimed(ibv_qp_state state) {
    return state == IBV_QPS_RTR || state == IBV_QPS_RTS || state == IBV_QPS_SQD || state == IBV_QPS_SQE;
}

}  // namespace

std::expected<void, int> check_transition(ibv_qp_type type, ibv_qp_state from, ibv_qp_state to, int attr_mask) {
    const auto* const transition = find(from, to);
    const auto which = column(type);
    if (transition == nullptr || !which) return std::unexpected(EINVAL);
    if ((attr_mask & IBV_QP_CUR_STATE) != 0 && !can_be_claimed(from)) return std::unexpected(EINVAL);

    const int required = transition->required[*which];
    const int possible = required | transition->optional[*which] | of_other_half(type) | IBV_QP_STATE;
    if ((attr_mask & required) != required || (attr_mask & ~possible) != 0) return std::unexpected(EINVAL);
    return {};
}

}  // namespace verbline::verbs
