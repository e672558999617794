// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/objects/limits.h"

#include <limits>

#include <unistd.h>

#include "datapath/memory/key_table.h"

namespace verbline::verbs::limits {
namespace {

// Object counts that are limited by memory only.
constexpr int plenty = 1 << 20;

ibv_device_attr base(int pairs) {
    return {
        .max_mr_size = std::numeric_limits<std::uint64_t>::max(),
        .page_size_cap = ~std::uint64_t{0} << 12,
        .vendor_id = 0xffffff,  // software: no vendor
        .vendor_part_id = 0,
        .hw_ver = 0,
        .max_qp = pairs,
        .max_qp_wr = work_requests,
        .device_cap_flags = IBV_DEVICE_BAD_PKEY_CNTR | IBV_DEVICE_BAD_QKEY_CNTR | IBV_DEVICE_CHANGE_PHY_PORT |
                            IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_PORT_ACTIVE_EVENT | IBV_DEVICE_SYS_IMAGE_GUID |
                            IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_N_NOTIFY_CQ | IBV_DEVICE_MEM_WINDOW |
                            IBV_DEVICE_XRC | IBV_DEVICE_MEM_MGT_EXTENSIONS | IBV_DEVICE_MEM_WINDOW_TYPE_2B,
        .max_sge = segments,
        .max_sge_rd = segments,
        .max_cq = plenty,
        .max_cqe = completions,
        .max_mr = memory::KeyTable::max_keys,
        .max_pd = plenty,
        .max_qp_rd_atom = reads,
        .max_ee_rd_atom = 0,
        .max_res_rd_atom = reads * pairs,
        .max_qp_init_rd_atom = reads,
        .max_ee_init_rd_atom = 0,
        .atomic_cap = IBV_ATOMIC_HCA,
        .max_ee = 0,
        .max_rdd = 0,
        .max_mw = memory::KeyTable::max_keys,
        .max_raw_ipv6_qp = 0,
        .max_raw_ethy_qp = 0,
        .max_mcast_grp = plenty,
        .max_mcast_qp_attach = pairs,
        .max_total_mcast_qp_attach = pairs,
        .max_ah = plenty,
        .max_fmr = 0,
        .max_map_per_fmr = 0,
        .max_srq = plenty,
        .max_srq_wr = work_requests,
        .max_srq_sge = segments,
        .max_pkeys = 128,
        .local_ca_ack_delay = 15,
        .phys_port_cnt = 1,
    };
}

}  // namespace

ibv_device_attr_ex device_attributes(int pairs) {
    ibv_device_attr_ex attributes{};
    attributes.orig_attr = base(pairs);
    // Every access handles unmapped pages, so registration pins none.
    auto& odp = attributes.odp_caps;
    odp.general_caps = IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT;
    constexpr auto reliable = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_WRITE |
                              IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_ATOMIC | IBV_ODP_SUPPORT_SRQ_RECV;
    odp.per_transport_caps.rc_odp_caps = reliable;
    odp.per_transport_caps.uc_odp_caps = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_WRITE;
    odp.per_transport_caps.ud_odp_caps = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_SRQ_RECV;
    attributes.xrc_odp_caps = reliable;
    attributes.completion_timestamp_mask = std::numeric_limits<std::uint64_t>::max();
    attributes.hca_core_clock = 1'000'000;  // kHz: completions are stamped in nanoseconds
    attributes.device_cap_flags_ex = static_cast<unsigned>(attributes.orig_attr.device_cap_flags);
    attributes.max_dm_size = device_memory;
    attributes.phys_port_cnt_ex = 1;
    return attributes;
}

}  // namespace verbline::verbs::limits
