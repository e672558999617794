// SPDX-License-Identifier: BSD-3-Clause
#include <infiniband/verbs.h>

#include "tests/apps/libibverbs/ucma/commands_fixture.h"

namespace verbline::verbs {
namespace {

using testing::_;
using testing::AllOf;
using testing::Field;
using testing::Optional;
using testing::Return;
using testing::SizeIs;
using Parameters = rdmacm::ConnectParameters;

TEST_F(Commands, ConnectWithWhatTheProgramSays) {
    rdma_ucm_connect input{};
    input.id = 7;
    EXPECT_EQ(run(RDMA_USER_CM_CMD_CONNECT, input), EINVAL) << "says nothing";
    auto& parameters = input.conn_param;
    parameters.valid = 1, parameters.qp_num = 0xff00'0011, parameters.srq = 2, parameters.retry_count = 15;
    parameters.private_data_len = 56;
    EXPECT_CALL(service, connect(id,
                                 AllOf(Field(&Parameters::qpn, wire::Qpn{0x11}), Field(&Parameters::retry_count, 7),
                                       Field(&Parameters::shared_receive_queue, true),
                                       Field(&Parameters::private_data, SizeIs(56))),
                                 now));
    EXPECT_EQ(run(RDMA_USER_CM_CMD_CONNECT, input), 0);
}

TEST_F(Commands, ListenWithABacklog) {
    EXPECT_CALL(service, listen(id, 3, now));
    EXPECT_EQ(run(RDMA_USER_CM_CMD_LISTEN, rdma_ucm_listen{.id = 7, .backlog = 3}), 0);
    EXPECT_CALL(service, listen(id, 1024, now)).Times(2);
    EXPECT_EQ(run(RDMA_USER_CM_CMD_LISTEN, rdma_ucm_listen{.id = 7, .backlog = 0}), 0);
    EXPECT_EQ(run(RDMA_USER_CM_CMD_LISTEN, rdma_ucm_listen{.id = 7, .backlog = 0xffff'ffff}), 0);
}

TEST_F(Commands, AcceptWithOrWithoutParameters) {
    rdma_ucm_accept input{};
    input.id = 7, input.uid = 55;
    const auto none = testing::ResultOf([](const auto& parameters) { return parameters.has_value(); }, false);
    EXPECT_CALL(service, accept(id, 55, none, now));
    EXPECT_EQ(run(RDMA_USER_CM_CMD_ACCEPT, input), 0);
    input.conn_param.valid = 1;
    EXPECT_CALL(service, accept(id, 55, Optional(_), now)).WillOnce(Return(failure(ENOENT, "")));
    EXPECT_EQ(run(RDMA_USER_CM_CMD_ACCEPT, input), ENOENT);
}

TEST_F(Commands, RejectForReasonsThatAreTheProgramsToGive) {
    rdma_ucm_reject input{};
    input.id = 7, input.private_data_len = 3;
    EXPECT_CALL(service, reject(id, SizeIs(3), wire::CmRejectReason::consumer, now));
    EXPECT_EQ(run(RDMA_USER_CM_CMD_REJECT, input), 0);
    input.reason = 35;
    EXPECT_CALL(service, reject(id, SizeIs(3), wire::CmRejectReason::vendor_option, now));
    EXPECT_EQ(run(RDMA_USER_CM_CMD_REJECT, input), 0);
    input.reason = 8;
    EXPECT_EQ(run(RDMA_USER_CM_CMD_REJECT, input), EINVAL);
}

TEST_F(Commands, Disconnect) {
    EXPECT_CALL(service, disconnect(id, now));
    EXPECT_EQ(run(RDMA_USER_CM_CMD_DISCONNECT, rdma_ucm_disconnect{.id = 7}), 0);
}

TEST_F(Commands, GiveTheAttributesOfAQueuePairInAState) {
    const rdmacm::QueuePairAttributes attributes{
        .mask = IBV_QP_STATE | IBV_QP_AV,
        .state = transport::QueuePairState::rtr,
        .mtu = 3,
        .destination = wire::Qpn{0x22},
        .receive_psn = wire::Psn(77),
        .path = {.gid_index = 5, .address = {.global = true, .hop_limit = 64}}};
    EXPECT_CALL(service, init_queue_pair(id, transport::QueuePairState::rtr)).WillRepeatedly(Return(attributes));
    ib_uverbs_qp_attr answer{};
    rdma_ucm_init_qp_attr input{.response = address_of(answer), .id = 7, .qp_state = IBV_QPS_RTR};
    EXPECT_EQ(run(RDMA_USER_CM_CMD_INIT_QP_ATTR, input, sizeof answer), 0);
    EXPECT_EQ(answer.qp_attr_mask, static_cast<unsigned>(IBV_QP_STATE | IBV_QP_AV));
    EXPECT_EQ(answer.qp_state, static_cast<unsigned>(IBV_QPS_RTR));
    EXPECT_EQ(answer.dest_qp_num, 0x22u);
    EXPECT_EQ(answer.rq_psn, 77u);
    EXPECT_EQ(answer.ah_attr.grh.sgid_index, 5);
    EXPECT_EQ(answer.ah_attr.port_num, 1);
    EXPECT_EQ(run(RDMA_USER_CM_CMD_INIT_QP_ATTR, input, sizeof answer - 1), ENOSPC);
    input.response = nowhere;
    EXPECT_EQ(run(RDMA_USER_CM_CMD_INIT_QP_ATTR, input, sizeof answer), EFAULT);
    input.qp_state = 7;
    EXPECT_EQ(run(RDMA_USER_CM_CMD_INIT_QP_ATTR, input, sizeof answer), EINVAL);
}

}  // namespace
}  // namespace verbline::verbs
