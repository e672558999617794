// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/hca/states.h"

#include "pmd/hca/refusal.h"

namespace verbline::pmd::hca {
namespace {

Result<void> modify(const Verbs& verbs, ibv_qp& queue_pair, ibv_qp_attr& attributes, int mask, const char* what) {
    const int error = verbs.modify_qp(&queue_pair, &attributes, mask);
    if (error != 0) return cannot(*queue_pair.context, what, error);
    return {};
}

}  // namespace

Result<void> to_initialize(const Verbs& verbs, ibv_qp& queue_pair, const Membership& membership) {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_INIT;
    attributes.pkey_index = membership.pkey_index;
    attributes.port_num = membership.port;
    attributes.qkey = static_cast<std::uint32_t>(membership.qkey);
    const int all = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
    return modify(verbs, queue_pair, attributes, membership.of_kernel ? int{IBV_QP_STATE} : all,
                  "move a queue pair to INIT");
}

Result<void> to_receive(const Verbs& verbs, ibv_qp& queue_pair) {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_RTR;
    return modify(verbs, queue_pair, attributes, IBV_QP_STATE, "move a queue pair to RTR");
}

Result<void> to_send(const Verbs& verbs, ibv_qp& queue_pair, const Membership& membership) {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_RTS;
    attributes.sq_psn = 0;
    const int all = IBV_QP_STATE | IBV_QP_SQ_PSN;
    return modify(verbs, queue_pair, attributes, membership.of_kernel ? int{IBV_QP_STATE} : all,
                  "move a queue pair to RTS");
}

void reset(const Verbs& verbs, ibv_qp& queue_pair) {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_RESET;
    (void)verbs.modify_qp(&queue_pair, &attributes, IBV_QP_STATE);
}

}  // namespace verbline::pmd::hca
