// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/abi/convert.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

namespace verbline::verbs {
namespace {

using transport::Completion;
using transport::CompletionKind;
using transport::Status;

TEST(Convert, AccessFlagsAreTheSameBits) {
    EXPECT_EQ(to_access(0), memory::Access::none);
    EXPECT_EQ(to_access(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_RELAXED_ORDERING),
              memory::Access::local_write | memory::Access::remote_read | memory::Access::relaxed_ordering);
    EXPECT_EQ(to_access(1u << 31), memory::Access{1u << 31}) << "what nobody knows is for the key table to refuse";
}

TEST(Convert, MtusAreBytes) {
    for (const auto& [mtu, bytes] :
         {std::pair(IBV_MTU_256, 256u), std::pair(IBV_MTU_512, 512u), std::pair(IBV_MTU_1024, 1024u),
          std::pair(IBV_MTU_2048, 2048u), std::pair(IBV_MTU_4096, 4096u)}) {
        EXPECT_EQ(to_bytes(mtu), bytes);
        EXPECT_EQ(to_mtu(bytes), mtu);
        EXPECT_EQ(to_mtu(bytes + 1), mtu);
        EXPECT_EQ(to_mtu(2 * bytes - 1), mtu);
    }
    EXPECT_EQ(to_mtu(65535), IBV_MTU_4096);
}

TEST(Convert, EveryEventHasItsNumber) {
    using enum transport::AsyncEventKind;
    EXPECT_EQ(to_event_type(cq_error), IBV_EVENT_CQ_ERR);
    EXPECT_EQ(to_event_type(qp_fatal), IBV_EVENT_QP_FATAL);
    EXPECT_EQ(to_event_type(qp_request_error), IBV_EVENT_QP_REQ_ERR);
    EXPECT_EQ(to_event_type(qp_access_error), IBV_EVENT_QP_ACCESS_ERR);
    EXPECT_EQ(to_event_type(communication_established), IBV_EVENT_COMM_EST);
    EXPECT_EQ(to_event_type(send_queue_drained), IBV_EVENT_SQ_DRAINED);
    EXPECT_EQ(to_event_type(port_active), IBV_EVENT_PORT_ACTIVE);
    EXPECT_EQ(to_event_type(port_error), IBV_EVENT_PORT_ERR);
    EXPECT_EQ(to_event_type(lid_change), IBV_EVENT_LID_CHANGE);
    EXPECT_EQ(to_event_type(pkey_change), IBV_EVENT_PKEY_CHANGE);
    EXPECT_EQ(to_event_type(sm_change), IBV_EVENT_SM_CHANGE);
    EXPECT_EQ(to_event_type(client_reregister), IBV_EVENT_CLIENT_REREGISTER);
    EXPECT_EQ(to_event_type(srq_limit_reached), IBV_EVENT_SRQ_LIMIT_REACHED);
    EXPECT_EQ(to_event_type(last_wqe_reached), IBV_EVENT_QP_LAST_WQE_REACHED);
    EXPECT_EQ(to_event_type(gid_change), IBV_EVENT_GID_CHANGE);
}

TEST(Convert, EveryKindOfCompletionHasItsOpcode) {
    using enum CompletionKind;
    EXPECT_EQ(to_wc_opcode(send), IBV_WC_SEND);
    EXPECT_EQ(to_wc_opcode(write), IBV_WC_RDMA_WRITE);
    EXPECT_EQ(to_wc_opcode(read), IBV_WC_RDMA_READ);
    EXPECT_EQ(to_wc_opcode(compare_swap), IBV_WC_COMP_SWAP);
    EXPECT_EQ(to_wc_opcode(fetch_add), IBV_WC_FETCH_ADD);
    EXPECT_EQ(to_wc_opcode(bind_window), IBV_WC_BIND_MW);
    EXPECT_EQ(to_wc_opcode(local_invalidate), IBV_WC_LOCAL_INV);
    EXPECT_EQ(static_cast<int>(to_wc_opcode(flush)), 8);
    EXPECT_EQ(to_wc_opcode(atomic_write), IBV_WC_ATOMIC_WRITE);
    EXPECT_EQ(to_wc_opcode(receive), IBV_WC_RECV);
    EXPECT_EQ(to_wc_opcode(receive_write_with_immediate), IBV_WC_RECV_RDMA_WITH_IMM);
}

TEST(Convert, EveryStatusHasItsNumber) {
    const std::pair<Status, ibv_wc_status> pairs[] = {
        {Status::success, IBV_WC_SUCCESS},
        {Status::local_length_error, IBV_WC_LOC_LEN_ERR},
        {Status::local_queue_pair_error, IBV_WC_LOC_QP_OP_ERR},
        {Status::local_protection_error, IBV_WC_LOC_PROT_ERR},
        {Status::flushed, IBV_WC_WR_FLUSH_ERR},
        {Status::window_bind_error, IBV_WC_MW_BIND_ERR},
        {Status::bad_response, IBV_WC_BAD_RESP_ERR},
        {Status::local_access_error, IBV_WC_LOC_ACCESS_ERR},
        {Status::remote_invalid_request, IBV_WC_REM_INV_REQ_ERR},
        {Status::remote_access_error, IBV_WC_REM_ACCESS_ERR},
        {Status::remote_operation_error, IBV_WC_REM_OP_ERR},
        {Status::retry_exceeded, IBV_WC_RETRY_EXC_ERR},
        {Status::rnr_retry_exceeded, IBV_WC_RNR_RETRY_EXC_ERR},
        {Status::remote_aborted, IBV_WC_REM_ABORT_ERR},
        {Status::fatal, IBV_WC_FATAL_ERR},
        {Status::general, IBV_WC_GENERAL_ERR},
    };
    for (const auto& [ours, theirs] : pairs) EXPECT_EQ(to_wc({.status = ours}).status, theirs);
}

TEST(Convert, ACompletionArrivesWhole) {
    const auto wc = to_wc({.id = 0x0123456789abcdef,
                           .kind = CompletionKind::receive,
                           .flags = Completion::has_grh | Completion::has_immediate,
                           .service_level = 5,
                           .length = 4096,
                           .immediate = 0x01020304,
                           .qpn = wire::Qpn{17},
                           .source = wire::Qpn{0xabcdef},
                           .slid = wire::Lid{0xbeef},
                           .pkey_index = 3});
    EXPECT_EQ(wc.wr_id, 0x0123456789abcdef);
    EXPECT_EQ(wc.opcode, IBV_WC_RECV);
    EXPECT_EQ(wc.byte_len, 4096u);
    EXPECT_EQ(wc.wc_flags, unsigned{IBV_WC_GRH | IBV_WC_WITH_IMM});
    EXPECT_EQ(wc.imm_data, htonl(0x01020304)) << "in network byte order";
    EXPECT_EQ(wc.qp_num, 17u);
    EXPECT_EQ(wc.src_qp, 0xabcdefu);
    EXPECT_EQ(wc.slid, 0xbeef);
    EXPECT_EQ(wc.sl, 5);
    EXPECT_EQ(wc.pkey_index, 3);
    EXPECT_EQ(wc.vendor_err, 0u);
    EXPECT_EQ(wc.dlid_path_bits, 0);
}

TEST(Convert, AnInvalidatedKeyStaysInHostByteOrder) {
    const auto wc = to_wc({.flags = Completion::has_invalidated, .immediate = 0x01020304});
    EXPECT_EQ(wc.wc_flags, unsigned{IBV_WC_WITH_INV});
    EXPECT_EQ(wc.invalidated_rkey, 0x01020304u);
}

}  // namespace
}  // namespace verbline::verbs
