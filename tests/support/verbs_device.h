// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The verbs as a program calls them, on a device whose link nobody else is on: queue pairs talk to each other through
/// it. Each test has a context, a domain, a completion queue and registered memory.

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <fcntl.h>
#include <infiniband/verbs.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace verbline::test {

/// Of the GID table: 10.9.0.1 in RoCE v2.
constexpr std::uint8_t gid_index = 3;

constexpr int all_access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                           IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND;

/// The one device; before the library has read its settings.
inline ibv_device* the_device() {
    static ibv_device* const device = [] {
        const auto socket = std::filesystem::temp_directory_path() / ("verbline-test-" + std::to_string(getpid()));
        setenv("VERBLINE_LINK", ("memif:" + socket.string()).c_str(), 1);
        setenv("VERBLINE_IP", "10.9.0.1/24", 1);
        auto** const list = ibv_get_device_list(nullptr);
        auto* const first = list != nullptr ? list[0] : nullptr;
        ibv_free_device_list(list);
        return first;
    }();
    return device;
}

class VerbsTest : public ::testing::Test {
protected:
    void SetUp() override {
        context = ibv_open_device(the_device());
        ASSERT_NE(context, nullptr) << std::strerror(errno);
        pd = ibv_alloc_pd(context);
        cq = ibv_create_cq(context, 64, nullptr, nullptr, 0);
        mr = ibv_reg_mr(pd, memory.data(), memory.size(), all_access);
        ASSERT_NE(mr, nullptr);
    }
    void TearDown() override {
        EXPECT_EQ(ibv_dereg_mr(mr), 0);
        EXPECT_EQ(ibv_destroy_cq(cq), 0) << "a test has left something behind";
        EXPECT_EQ(ibv_dealloc_pd(pd), 0) << "a test has left something behind";
        EXPECT_EQ(ibv_close_device(context), 0);
    }

    ibv_qp_init_attr wanted(ibv_qp_type type = IBV_QPT_RC) const {
        return {
            .send_cq = cq,
            .recv_cq = cq,
            .cap = {.max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 2, .max_recv_sge = 2, .max_inline_data = 64},
            .qp_type = type,
            .sq_sig_all = 1};
    }
    ibv_qp* make(ibv_qp_type type = IBV_QPT_RC) {
        auto attributes = wanted(type);
        auto* const qp = ibv_create_qp(pd, &attributes);
        granted = attributes.cap;
        return qp;
    }

    static constexpr int init_mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
    static constexpr int rtr_mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                    IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    static constexpr int rts_mask =
        IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;

    /// Right for every transition of a connection to `peer`; `mask` says what of it counts.
    ibv_qp_attr attributes(ibv_qp_state to, std::uint32_t peer = 0) const {
        ibv_qp_attr a{};
        a.qp_state = to;
        a.path_mtu = IBV_MTU_1024;
        a.qkey = 0x1111;
        a.dest_qp_num = peer;
        a.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
        a.ah_attr = own_path();
        a.max_rd_atomic = a.max_dest_rd_atomic = 1;
        a.min_rnr_timer = 1;
        a.port_num = 1;
        a.timeout = 10;
        a.retry_cnt = 2;
        a.rnr_retry = 1;
        return a;
    }
    ibv_ah_attr own_path() const {
        ibv_ah_attr path{};
        path.is_global = 1;
        path.port_num = 1;
        path.grh.sgid_index = gid_index;
        path.grh.hop_limit = 64;
        ibv_query_gid(context, 1, gid_index, &path.grh.dgid);
        return path;
    }
    static int modify(ibv_qp* qp, ibv_qp_attr a, int mask) { return ibv_modify_qp(qp, &a, mask); }
    int to_init(ibv_qp* qp) {
        return modify(
            qp, attributes(IBV_QPS_INIT),
            qp->qp_type == IBV_QPT_UD ? IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY : init_mask);
    }
    /// From RESET to RTS; connected ones to `peer`, or to themselves.
    void connect(ibv_qp* qp, const ibv_qp* peer = nullptr) {
        const auto number = (peer != nullptr ? peer : qp)->qp_num;
        const bool datagrams = qp->qp_type == IBV_QPT_UD, reliable = qp->qp_type == IBV_QPT_RC;
        constexpr int uc_rtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
        ASSERT_EQ(to_init(qp), 0);
        ASSERT_EQ(modify(qp, attributes(IBV_QPS_RTR, number),
                         datagrams  ? IBV_QP_STATE
                         : reliable ? rtr_mask
                                    : uc_rtr),
                  0);
        ASSERT_EQ(modify(qp, attributes(IBV_QPS_RTS), reliable ? rts_mask : IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
    }

    ibv_sge piece(std::size_t offset = 0, std::uint32_t length = 64) const {
        return {.addr = reinterpret_cast<std::uint64_t>(memory.data() + offset), .length = length, .lkey = mr->lkey};
    }
    int receive(ibv_qp* qp, std::uint64_t id = 0) const {
        auto sge = piece(4096, 4096);
        ibv_recv_wr wr{.wr_id = id, .next = nullptr, .sg_list = &sge, .num_sge = 1}, *bad = nullptr;
        return ibv_post_recv(qp, &wr, &bad);
    }
    int send(ibv_qp* qp, std::uint64_t id = 0, ibv_wr_opcode opcode = IBV_WR_SEND, unsigned flags = 0) const {
        auto sge = piece();
        ibv_send_wr wr{}, *bad = nullptr;
        wr.wr_id = id;
        wr.sg_list = &sge;
        wr.num_sge = 1;
        wr.opcode = opcode;
        wr.send_flags = flags;
        wr.wr.rdma = {.remote_addr = sge.addr + 8192, .rkey = mr->rkey};
        return ibv_post_send(qp, &wr, &bad);
    }
    /// As many completions as that, or what came within two seconds.
    std::vector<ibv_wc> completions(std::size_t count, ibv_cq* of = nullptr) const {
        std::vector<ibv_wc> all;
        const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(2);
        while (all.size() < count && std::chrono::steady_clock::now() < until) {
            ibv_wc wc{};
            if (ibv_poll_cq(of != nullptr ? of : cq, 1, &wc) == 1) all.push_back(wc);
        }
        return all;
    }
    static void nonblocking(int descriptor) { fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK); }

    ibv_context* context = nullptr;
    ibv_pd* pd = nullptr;
    ibv_cq* cq = nullptr;
    ibv_mr* mr = nullptr;
    ibv_qp_cap granted{};  ///< to the last queue pair made
    alignas(4096) std::array<std::byte, 16384> memory{};
};

/// EXPECT that a call that gives a pointer gives none, and why.
#define EXPECT_REFUSED(error, call)                      \
    do {                                                 \
        errno = 0;                                       \
        EXPECT_EQ((call), nullptr);                      \
        EXPECT_EQ(errno, error) << std::strerror(errno); \
    } while (false)

}  // namespace verbline::test
