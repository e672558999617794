// SPDX-License-Identifier: BSD-3-Clause

// Between the kernel's structures (rdma/ib_user_verbs.h, rdma/ib_user_sa.h) and those of the verbs, for librdmacm.
// Field by field; fields without a counterpart are zero, since callers read the structures whole.

#include <cstring>

#include "apps/libibverbs/abi/unpublished.h"

extern "C" {

void ibv_copy_ah_attr_from_kern(ibv_ah_attr* to, const ib_uverbs_ah_attr* from) {
    *to = {.grh = {.flow_label = from->grh.flow_label,
                   .sgid_index = from->grh.sgid_index,
                   .hop_limit = from->grh.hop_limit,
                   .traffic_class = from->grh.traffic_class},
           .dlid = from->dlid,
           .sl = from->sl,
           .src_path_bits = from->src_path_bits,
           .static_rate = from->static_rate,
           .is_global = from->is_global,
           .port_num = from->port_num};
    std::memcpy(to->grh.dgid.raw, from->grh.dgid, sizeof to->grh.dgid.raw);
}

void ibv_copy_qp_attr_from_kern(ibv_qp_attr* to, const ib_uverbs_qp_attr* from) {
    *to = {.qp_state = static_cast<ibv_qp_state>(from->qp_state),
           .cur_qp_state = static_cast<ibv_qp_state>(from->cur_qp_state),
           .path_mtu = static_cast<ibv_mtu>(from->path_mtu),
           .path_mig_state = static_cast<ibv_mig_state>(from->path_mig_state),
           .qkey = from->qkey,
           .rq_psn = from->rq_psn,
           .sq_psn = from->sq_psn,
           .dest_qp_num = from->dest_qp_num,
           .qp_access_flags = from->qp_access_flags,
           .cap = {.max_send_wr = from->max_send_wr,
                   .max_recv_wr = from->max_recv_wr,
                   .max_send_sge = from->max_send_sge,
                   .max_recv_sge = from->max_recv_sge,
                   .max_inline_data = from->max_inline_data},
           .pkey_index = from->pkey_index,
           .alt_pkey_index = from->alt_pkey_index,
           .en_sqd_async_notify = from->en_sqd_async_notify,
           .sq_draining = from->sq_draining,
           .max_rd_atomic = from->max_rd_atomic,
           .max_dest_rd_atomic = from->max_dest_rd_atomic,
           .min_rnr_timer = from->min_rnr_timer,
           .port_num = from->port_num,
           .timeout = from->timeout,
           .retry_cnt = from->retry_cnt,
           .rnr_retry = from->rnr_retry,
           .alt_port_num = from->alt_port_num,
           .alt_timeout = from->alt_timeout};
    ibv_copy_ah_attr_from_kern(&to->ah_attr, &from->ah_attr);
    ibv_copy_ah_attr_from_kern(&to->alt_ah_attr, &from->alt_ah_attr);
}

void ibv_copy_path_rec_from_kern(ibv_sa_path_rec* to, const ib_user_path_rec* from) {
    *to = {.dlid = from->dlid,
           .slid = from->slid,
           .raw_traffic = static_cast<int>(from->raw_traffic),
           .flow_label = from->flow_label,
           .hop_limit = from->hop_limit,
           .traffic_class = from->traffic_class,
           .reversible = static_cast<int>(from->reversible),
           .numb_path = from->numb_path,
           .pkey = from->pkey,
           .sl = from->sl,
           .mtu_selector = from->mtu_selector,
           .mtu = static_cast<std::uint8_t>(from->mtu),
           .rate_selector = from->rate_selector,
           .rate = from->rate,
           .packet_life_time_selector = from->packet_life_time_selector,
           .packet_life_time = from->packet_life_time,
           .preference = from->preference};
    std::memcpy(to->dgid.raw, from->dgid, sizeof to->dgid.raw);
    std::memcpy(to->sgid.raw, from->sgid, sizeof to->sgid.raw);
}

void ibv_copy_path_rec_to_kern(ib_user_path_rec* to, const ibv_sa_path_rec* from) {
    *to = {.dlid = from->dlid,
           .slid = from->slid,
           .raw_traffic = static_cast<__u32>(from->raw_traffic),
           .flow_label = from->flow_label,
           .reversible = static_cast<__u32>(from->reversible),
           .mtu = from->mtu,
           .pkey = from->pkey,
           .hop_limit = from->hop_limit,
           .traffic_class = from->traffic_class,
           .numb_path = from->numb_path,
           .sl = from->sl,
           .mtu_selector = from->mtu_selector,
           .rate_selector = from->rate_selector,
           .rate = from->rate,
           .packet_life_time_selector = from->packet_life_time_selector,
           .packet_life_time = from->packet_life_time,
           .preference = from->preference};
    std::memcpy(to->dgid, from->dgid.raw, sizeof to->dgid);
    std::memcpy(to->sgid, from->sgid.raw, sizeof to->sgid);
}

}  // extern "C"
