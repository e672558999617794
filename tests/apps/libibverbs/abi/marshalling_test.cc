// SPDX-License-Identifier: BSD-3-Clause
#include <cstring>

#include <gtest/gtest.h>

#include "apps/libibverbs/abi/unpublished.h"

namespace {

/// Bytes that are all different, as many as T has.
template <class T>
T pattern(unsigned seed) {
    T value{};
    auto* bytes = reinterpret_cast<unsigned char*>(&value);
    for (std::size_t i = 0; i < sizeof value; ++i) bytes[i] = static_cast<unsigned char>(seed + i);
    return value;
}

void expect_same_path(const ibv_ah_attr& to, const ib_uverbs_ah_attr& from) {
    EXPECT_EQ(std::memcmp(to.grh.dgid.raw, from.grh.dgid, 16), 0);
    EXPECT_EQ(to.grh.flow_label, from.grh.flow_label);
    EXPECT_EQ(to.grh.sgid_index, from.grh.sgid_index);
    EXPECT_EQ(to.grh.hop_limit, from.grh.hop_limit);
    EXPECT_EQ(to.grh.traffic_class, from.grh.traffic_class);
    EXPECT_EQ(to.dlid, from.dlid);
    EXPECT_EQ(to.sl, from.sl);
    EXPECT_EQ(to.src_path_bits, from.src_path_bits);
    EXPECT_EQ(to.static_rate, from.static_rate);
    EXPECT_EQ(to.is_global, from.is_global);
    EXPECT_EQ(to.port_num, from.port_num);
}

TEST(Marshalling, AddressHandles) {
    const auto from = pattern<ib_uverbs_ah_attr>(1);
    ibv_ah_attr to;
    ibv_copy_ah_attr_from_kern(&to, &from);
    expect_same_path(to, from);
}

TEST(Marshalling, QueuePairs) {
    auto from = pattern<ib_uverbs_qp_attr>(3);
    from.qp_state = IBV_QPS_RTS, from.cur_qp_state = IBV_QPS_RTR;
    from.path_mtu = IBV_MTU_2048, from.path_mig_state = IBV_MIG_REARM;
    ibv_qp_attr to;
    std::memset(&to, 0xee, sizeof to);
    ibv_copy_qp_attr_from_kern(&to, &from);
    EXPECT_EQ(to.qp_state, IBV_QPS_RTS);
    EXPECT_EQ(to.cur_qp_state, IBV_QPS_RTR);
    EXPECT_EQ(to.path_mtu, IBV_MTU_2048);
    EXPECT_EQ(to.path_mig_state, IBV_MIG_REARM);
    EXPECT_EQ(to.qkey, from.qkey);
    EXPECT_EQ(to.rq_psn, from.rq_psn);
    EXPECT_EQ(to.sq_psn, from.sq_psn);
    EXPECT_EQ(to.dest_qp_num, from.dest_qp_num);
    EXPECT_EQ(to.qp_access_flags, from.qp_access_flags);
    EXPECT_EQ(to.cap.max_send_wr, from.max_send_wr);
    EXPECT_EQ(to.cap.max_recv_wr, from.max_recv_wr);
    EXPECT_EQ(to.cap.max_send_sge, from.max_send_sge);
    EXPECT_EQ(to.cap.max_recv_sge, from.max_recv_sge);
    EXPECT_EQ(to.cap.max_inline_data, from.max_inline_data);
    expect_same_path(to.ah_attr, from.ah_attr);
    expect_same_path(to.alt_ah_attr, from.alt_ah_attr);
    EXPECT_EQ(to.pkey_index, from.pkey_index);
    EXPECT_EQ(to.alt_pkey_index, from.alt_pkey_index);
    EXPECT_EQ(to.en_sqd_async_notify, from.en_sqd_async_notify);
    EXPECT_EQ(to.sq_draining, from.sq_draining);
    EXPECT_EQ(to.max_rd_atomic, from.max_rd_atomic);
    EXPECT_EQ(to.max_dest_rd_atomic, from.max_dest_rd_atomic);
    EXPECT_EQ(to.min_rnr_timer, from.min_rnr_timer);
    EXPECT_EQ(to.port_num, from.port_num);
    EXPECT_EQ(to.timeout, from.timeout);
    EXPECT_EQ(to.retry_cnt, from.retry_cnt);
    EXPECT_EQ(to.rnr_retry, from.rnr_retry);
    EXPECT_EQ(to.alt_port_num, from.alt_port_num);
    EXPECT_EQ(to.alt_timeout, from.alt_timeout);
    EXPECT_EQ(to.rate_limit, 0u) << "the kernel's structure has none";
}

TEST(Marshalling, PathRecordsGoThereAndBack) {
    auto from = pattern<ib_user_path_rec>(5);
    from.mtu = 4;  // of 32 bits here, of eight there
    ibv_sa_path_rec to;
    ibv_copy_path_rec_from_kern(&to, &from);
    EXPECT_EQ(to.dlid, from.dlid);
    EXPECT_EQ(to.slid, from.slid);
    EXPECT_EQ(to.pkey, from.pkey);
    EXPECT_EQ(to.flow_label, from.flow_label) << "big-endian on both sides";
    EXPECT_EQ(to.mtu, 4);
    EXPECT_EQ(to.rate, from.rate);
    EXPECT_EQ(to.packet_life_time, from.packet_life_time);
    EXPECT_EQ(std::memcmp(to.dgid.raw, from.dgid, 16), 0);
    EXPECT_EQ(std::memcmp(to.sgid.raw, from.sgid, 16), 0);
    auto back = pattern<ib_user_path_rec>(99);
    ibv_copy_path_rec_to_kern(&back, &to);
    EXPECT_EQ(std::memcmp(&back, &from, sizeof back), 0) << "nothing is lost";
}

}  // namespace
