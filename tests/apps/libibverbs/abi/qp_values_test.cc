// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/abi/qp_values.h"

#include <cerrno>
#include <functional>

#include <gtest/gtest.h>

namespace verbline::verbs {
namespace {

constexpr int all = (1 << 21) - 1;

ibv_qp_attr good() {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_RTR;
    attributes.cur_qp_state = IBV_QPS_INIT;
    attributes.path_mtu = IBV_MTU_4096;
    attributes.path_mig_state = IBV_MIG_ARMED;
    attributes.dest_qp_num = 0xffffff;
    attributes.rq_psn = attributes.sq_psn = 0xffffffff;
    attributes.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_RELAXED_ORDERING;
    attributes.ah_attr.port_num = attributes.alt_ah_attr.port_num = 1;
    attributes.ah_attr.sl = attributes.alt_ah_attr.sl = 15;
    attributes.port_num = attributes.alt_port_num = 1;
    attributes.min_rnr_timer = attributes.timeout = attributes.alt_timeout = 31;
    attributes.retry_cnt = attributes.rnr_retry = 7;
    return attributes;
}

int error_of(const ibv_qp_attr& attributes, int mask) {
    const auto done = check_values(attributes, mask);
    return done ? 0 : done.error();
}

TEST(QpValues, TheLargestOfEachIsPossible) {
    EXPECT_EQ(error_of(good(), all), 0);
    EXPECT_EQ(error_of({}, 0), 0) << "what is not asked for is not looked at";
}

TEST(QpValues, OutOfRangeValueFailsIfItsMaskBitIsSet) {
    const struct {
        int attribute;
        std::function<void(ibv_qp_attr&)> spoil;
    } cases[] = {
        {IBV_QP_STATE, [](auto& a) { a.qp_state = IBV_QPS_UNKNOWN; }},
        {IBV_QP_CUR_STATE, [](auto& a) { a.cur_qp_state = static_cast<ibv_qp_state>(-1); }},
        {IBV_QP_PORT, [](auto& a) { a.port_num = 0; }},
        {IBV_QP_PORT, [](auto& a) { a.port_num = 2; }},
        {IBV_QP_ACCESS_FLAGS, [](auto& a) { a.qp_access_flags = 1u << 19; }},
        {IBV_QP_AV, [](auto& a) { a.ah_attr.port_num = 0; }},
        {IBV_QP_AV, [](auto& a) { a.ah_attr.sl = 16; }},
        {IBV_QP_PATH_MTU, [](auto& a) { a.path_mtu = static_cast<ibv_mtu>(0); }},
        {IBV_QP_PATH_MTU, [](auto& a) { a.path_mtu = static_cast<ibv_mtu>(6); }},
        {IBV_QP_DEST_QPN, [](auto& a) { a.dest_qp_num = 0x1000000; }},
        {IBV_QP_TIMEOUT, [](auto& a) { a.timeout = 32; }},
        {IBV_QP_RETRY_CNT, [](auto& a) { a.retry_cnt = 8; }},
        {IBV_QP_RNR_RETRY, [](auto& a) { a.rnr_retry = 8; }},
        {IBV_QP_MIN_RNR_TIMER, [](auto& a) { a.min_rnr_timer = 32; }},
        {IBV_QP_PATH_MIG_STATE, [](auto& a) { a.path_mig_state = static_cast<ibv_mig_state>(3); }},
        {IBV_QP_ALT_PATH, [](auto& a) { a.alt_port_num = 2; }},
        {IBV_QP_ALT_PATH, [](auto& a) { a.alt_ah_attr.sl = 16; }},
        {IBV_QP_ALT_PATH, [](auto& a) { a.alt_ah_attr.port_num = 2; }},
        {IBV_QP_ALT_PATH, [](auto& a) { a.alt_timeout = 32; }},
    };
    for (const auto& [attribute, spoil] : cases) {
        auto attributes = good();
        spoil(attributes);
        EXPECT_EQ(error_of(attributes, attribute), EINVAL) << attribute;
        EXPECT_EQ(error_of(attributes, all), EINVAL) << attribute;
        EXPECT_EQ(error_of(attributes, all & ~attribute), 0) << attribute;
    }
}

}  // namespace
}  // namespace verbline::verbs
