// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A device as programs open it, with a reliable queue pair.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include <infiniband/verbs.h>

namespace verbline::bench {

template <class T>
T* must(T* made) {
    if (made == nullptr) throw std::runtime_error("the verbs refuse to make an object");
    return made;
}
inline void must(int error) {
    if (error != 0) throw std::runtime_error("the verbs refuse a call");
}

class VerbsEnd {
public:
    static constexpr std::uint32_t receives = 32;  ///< that may be posted

    /// What the other end must know.
    struct Address {
        std::uint32_t qpn = 0;
        ibv_gid gid{};
    };

    explicit VerbsEnd(const std::string& link) {
        setenv("VERBLINE_LINK", link.c_str(), 1);
        auto** const devices = must(ibv_get_device_list(nullptr));
        context_ = must(ibv_open_device(must(devices[0])));
        ibv_free_device_list(devices);
        pd_ = must(ibv_alloc_pd(context_));
        cq_ = must(ibv_create_cq(context_, 64, nullptr, nullptr, 0));
        mr_ = must(ibv_reg_mr(pd_, memory_.data(), memory_.size(), IBV_ACCESS_LOCAL_WRITE));
        ibv_qp_init_attr wanted{
            .send_cq = cq_,
            .recv_cq = cq_,
            .cap = {.max_send_wr = 8, .max_recv_wr = receives, .max_send_sge = 1, .max_recv_sge = 1},
            .qp_type = IBV_QPT_RC,
            .sq_sig_all = 1};
        qp_ = must(ibv_create_qp(pd_, &wanted));
    }
    ~VerbsEnd() {
        ibv_destroy_qp(qp_);
        ibv_dereg_mr(mr_);
        ibv_destroy_cq(cq_);
        ibv_dealloc_pd(pd_);
        ibv_close_device(context_);
    }
    VerbsEnd(const VerbsEnd&) = delete;
    VerbsEnd& operator=(const VerbsEnd&) = delete;

    Address address() const {
        Address own{.qpn = qp_->qp_num};
        must(ibv_query_gid(context_, 1, gid_index, &own.gid));
        return own;
    }
    void connect(const Address& peer) {
        ibv_qp_attr a{};
        a.qp_state = IBV_QPS_INIT;
        a.port_num = 1;
        a.path_mtu = IBV_MTU_1024;
        a.dest_qp_num = peer.qpn;
        a.max_rd_atomic = a.max_dest_rd_atomic = 1;
        a.min_rnr_timer = 12;
        a.timeout = 18;  // a second: a thread that is stopped before each instruction is slow
        a.retry_cnt = a.rnr_retry = 7;
        a.ah_attr.is_global = 1;
        a.ah_attr.port_num = 1;
        a.ah_attr.grh.sgid_index = gid_index;
        a.ah_attr.grh.hop_limit = 64;
        a.ah_attr.grh.dgid = peer.gid;
        must(ibv_modify_qp(qp_, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
        a.qp_state = IBV_QPS_RTR;
        must(ibv_modify_qp(qp_, &a,
                           IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                               IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER));
        a.qp_state = IBV_QPS_RTS;
        must(ibv_modify_qp(qp_, &a,
                           IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                               IBV_QP_MAX_QP_RD_ATOMIC));
    }

    void post_receive() {
        auto sge = piece();
        ibv_recv_wr wr{.wr_id = 0, .next = nullptr, .sg_list = &sge, .num_sge = 1}, *bad = nullptr;
        must(ibv_post_recv(qp_, &wr, &bad));
    }
    /// A SEND of 64 bytes.
    void post_send() {
        auto sge = piece();
        ibv_send_wr wr{}, *bad = nullptr;
        wr.sg_list = &sge;
        wr.num_sge = 1;
        wr.opcode = IBV_WR_SEND;
        must(ibv_post_send(qp_, &wr, &bad));
    }
    /// Polls until the completion has come.
    void complete() {
        ibv_wc wc{};
        while (ibv_poll_cq(cq_, 1, &wc) == 0) {}
        if (wc.status != IBV_WC_SUCCESS) throw std::runtime_error(ibv_wc_status_str(wc.status));
    }

private:
    static constexpr std::uint32_t size = 64;
    static constexpr std::uint8_t gid_index = 1;  ///< link-local, RoCE v2

    ibv_sge piece() {
        return {.addr = reinterpret_cast<std::uint64_t>(memory_.data()), .length = size, .lkey = mr_->lkey};
    }

    alignas(64) std::array<std::byte, size> memory_{};
    ibv_context* context_ = nullptr;
    ibv_pd* pd_ = nullptr;
    ibv_cq* cq_ = nullptr;
    ibv_mr* mr_ = nullptr;
    ibv_qp* qp_ = nullptr;
};

}  // namespace verbline::bench
