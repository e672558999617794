// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/objects/queue_pair.h"

#include "tests/support/verbs_device.h"

namespace verbline::verbs {
namespace {

class QueuePairs : public test::VerbsTest {
protected:
    void refused(int error, auto&& spoil, ibv_qp_type type = IBV_QPT_RC) {
        auto attributes = wanted(type);
        spoil(attributes);
        EXPECT_REFUSED(error, ibv_create_qp(pd, &attributes));
    }
    ibv_qp_init_attr_ex extended(ibv_qp_type type, unsigned mask) const {
        const auto basic = wanted(type);
        return {.send_cq = basic.send_cq,
                .recv_cq = basic.recv_cq,
                .cap = basic.cap,
                .qp_type = type,
                .comp_mask = mask | IBV_QP_INIT_ATTR_PD,
                .pd = pd};
    }
};

TEST_F(QueuePairs, UnsupportedTypesAndMissingObjectsFail) {
    refused(EOPNOTSUPP, [](auto& a) { a.qp_type = IBV_QPT_RAW_PACKET; });
    refused(EOPNOTSUPP, [](auto& a) { a.qp_type = static_cast<ibv_qp_type>(77); });
    refused(EINVAL, [](auto& a) { a.send_cq = nullptr; });
    refused(EINVAL, [](auto& a) { a.recv_cq = nullptr; });
    refused(EINVAL, [](auto& a) { a.qp_type = IBV_QPT_XRC_RECV; });
}

TEST_F(QueuePairs, MoreThanTheDeviceSaysIsRefused) {
    ibv_device_attr limits{};
    ASSERT_EQ(ibv_query_device(context, &limits), 0);
    const auto wr = static_cast<unsigned>(limits.max_qp_wr), sge = static_cast<unsigned>(limits.max_sge);
    refused(EINVAL, [&](auto& a) { a.cap.max_send_wr = wr + 1; });
    refused(EINVAL, [&](auto& a) { a.cap.max_recv_wr = wr + 1; });
    refused(EINVAL, [&](auto& a) { a.cap.max_send_sge = sge + 1; });
    refused(EINVAL, [&](auto& a) { a.cap.max_recv_sge = sge + 1; });
    refused(EINVAL, [&](auto& a) { a.cap.max_recv_sge = ~0u; });
    refused(EINVAL, [&](auto& a) { a.cap.max_inline_data = 1u << 31; });
    auto most = wanted();
    most.cap.max_send_wr = most.cap.max_recv_wr = wr;
    most.cap.max_send_sge = most.cap.max_recv_sge = sge;
    auto* const qp = ibv_create_qp(pd, &most);
    ASSERT_NE(qp, nullptr) << "what it says it has";
    EXPECT_GE(most.cap.max_send_wr, wr);
    EXPECT_EQ(ibv_destroy_qp(qp), 0);
}

TEST_F(QueuePairs, ObjectsInUseAreBusy) {
    auto* const qp = make();
    ASSERT_NE(qp, nullptr);
    EXPECT_EQ(ibv_destroy_cq(cq), EBUSY);
    EXPECT_EQ(ibv_dealloc_pd(pd), EBUSY);
    EXPECT_EQ(ibv_destroy_qp(qp), 0);
}

TEST_F(QueuePairs, ExtendedAttributes) {
    auto a = extended(IBV_QPT_RC, IBV_QP_INIT_ATTR_SEND_OPS_FLAGS);
    a.send_ops_flags = std::uint64_t{1} << 40;
    EXPECT_REFUSED(EOPNOTSUPP, ibv_create_qp_ex(context, &a));
    a = extended(IBV_QPT_UD, IBV_QP_INIT_ATTR_SEND_OPS_FLAGS);
    a.send_ops_flags = IBV_QP_EX_WITH_RDMA_READ;
    EXPECT_REFUSED(EOPNOTSUPP, ibv_create_qp_ex(context, &a));
    a = extended(IBV_QPT_RC, IBV_QP_INIT_ATTR_CREATE_FLAGS);
    a.create_flags = IBV_QP_CREATE_SCATTER_FCS;
    EXPECT_REFUSED(EOPNOTSUPP, ibv_create_qp_ex(context, &a));
    a = extended(IBV_QPT_RC, IBV_QP_INIT_ATTR_RX_HASH);
    EXPECT_REFUSED(EOPNOTSUPP, ibv_create_qp_ex(context, &a));
    a = extended(IBV_QPT_RC, 0);
    a.comp_mask = 0;
    EXPECT_REFUSED(EINVAL, ibv_create_qp_ex(context, &a));
    a = extended(IBV_QPT_RC, 0);
    a.pd = nullptr;
    EXPECT_REFUSED(EINVAL, ibv_create_qp_ex(context, &a));
    a = extended(IBV_QPT_XRC_RECV, IBV_QP_INIT_ATTR_XRCD);
    EXPECT_REFUSED(EINVAL, ibv_create_qp_ex(context, &a));
}

TEST_F(QueuePairs, OnlyThoseMadeForItHaveTheWorkCalls) {
    auto* const qp = make();
    EXPECT_EQ(ibv_qp_to_qp_ex(qp), nullptr);
    EXPECT_EQ(ibv_destroy_qp(qp), 0);
}

TEST_F(QueuePairs, NumbersOfXrcTargets) {
    ibv_qp_open_attr a{};
    EXPECT_REFUSED(EINVAL, ibv_open_qp(context, &a));
    a = {.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE,
         .qp_num = 77,
         .qp_type = IBV_QPT_XRC_RECV};
    EXPECT_REFUSED(EINVAL, ibv_open_qp(context, &a));  // no domain
    ibv_xrcd_init_attr how{.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = -1, .oflags = O_CREAT};
    auto* const domain = ibv_open_xrcd(context, &how);
    ASSERT_NE(domain, nullptr);
    a.xrcd = domain;
    EXPECT_REFUSED(EINVAL, ibv_open_qp(context, &a));  // no such target
    auto target = extended(IBV_QPT_XRC_RECV, IBV_QP_INIT_ATTR_XRCD);
    target.xrcd = domain;
    auto* const first = ibv_create_qp_ex(context, &target);
    ASSERT_NE(first, nullptr);
    a.qp_num = first->qp_num;
    auto* const second = ibv_open_qp(context, &a);
    ASSERT_NE(second, nullptr) << std::strerror(errno);
    EXPECT_EQ(second->qp_num, first->qp_num);
    EXPECT_EQ(ibv_close_xrcd(domain), EBUSY);
    EXPECT_EQ(ibv_destroy_qp(first), 0);
    EXPECT_EQ(ibv_destroy_qp(second), 0);
    EXPECT_EQ(ibv_close_xrcd(domain), 0);
}

TEST_F(QueuePairs, MulticastIsForDatagramsAndGroups) {
    auto* const qp = make(IBV_QPT_UD);
    ibv_gid group{}, host{};
    group.raw[0] = 0xff, group.raw[1] = 0x0e, group.raw[15] = 1;
    host.raw[0] = 0xfd;
    EXPECT_EQ(ibv_attach_mcast(qp, &host, 0), EINVAL);
    EXPECT_EQ(ibv_detach_mcast(qp, &group, 0), EINVAL);
    EXPECT_EQ(ibv_attach_mcast(qp, &group, 0), 0);
    EXPECT_EQ(ibv_attach_mcast(qp, &group, 0), 0) << "once more is no error";
    EXPECT_EQ(ibv_destroy_qp(qp), EBUSY);
    EXPECT_EQ(ibv_detach_mcast(qp, &group, 0), 0);
    EXPECT_EQ(ibv_detach_mcast(qp, &group, 0), EINVAL) << "and counts once";
    EXPECT_EQ(ibv_destroy_qp(qp), 0);
    auto* const connected = make();
    EXPECT_EQ(ibv_attach_mcast(connected, &group, 0), EINVAL);
    EXPECT_EQ(ibv_destroy_qp(connected), 0);
}

TEST_F(QueuePairs, ConnectionEstablishmentOfMakersIsRefused) {
    auto* const qp = make();
    ibv_ece ece{};
    EXPECT_EQ(ibv_query_ece(qp, &ece), EOPNOTSUPP);
    EXPECT_EQ(ibv_set_ece(qp, &ece), 0);
    ece.vendor_id = 0x15b3;
    EXPECT_EQ(ibv_set_ece(qp, &ece), EOPNOTSUPP);
    EXPECT_EQ(ibv_destroy_qp(qp), 0);
}

TEST_F(QueuePairs, CompletionsGoWithThem) {
    auto *const qp = make(), *const other = make();
    connect(qp), connect(other);
    for (auto* each : {qp, other}) {
        ASSERT_EQ(receive(each, each->qp_num), 0);
        ASSERT_EQ(modify(each, attributes(IBV_QPS_ERR), IBV_QP_STATE), 0);
    }
    EXPECT_EQ(ibv_destroy_qp(qp), 0);
    const auto left = completions(2);
    ASSERT_EQ(left.size(), 1u);
    EXPECT_EQ(left[0].wr_id, other->qp_num);
    EXPECT_EQ(left[0].status, IBV_WC_WR_FLUSH_ERR);
    EXPECT_EQ(ibv_destroy_qp(other), 0);
}

}  // namespace
}  // namespace verbline::verbs
