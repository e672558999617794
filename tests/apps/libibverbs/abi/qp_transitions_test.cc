// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/abi/qp_transitions.h"

#include <array>
#include <cerrno>
#include <set>
#include <string_view>

#include <gtest/gtest.h>

namespace verbline::verbs {
namespace {

constexpr std::array types{IBV_QPT_UD, IBV_QPT_UC, IBV_QPT_RC, IBV_QPT_XRC_SEND, IBV_QPT_XRC_RECV};
constexpr std::array states{IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS,
                            IBV_QPS_SQD,   IBV_QPS_SQE,  IBV_QPS_ERR};
constexpr std::string_view type_names = "UD  UC  RC  XSEND  XRECV";

// One letter for each attribute, so that the tables below can be read.
//     s CUR_STATE        n EN_SQD_ASYNC_NOTIFY  f ACCESS_FLAGS  i PKEY_INDEX  p PORT         q QKEY        a AV
//     m PATH_MTU         t TIMEOUT              c RETRY_CNT     r RNR_RETRY   R RQ_PSN       o MAX_QP_RD_ATOMIC
//     l ALT_PATH         k MIN_RNR_TIMER        S SQ_PSN        d MAX_DEST_RD_ATOMIC         g PATH_MIG_STATE
//     C CAP              D DEST_QPN
constexpr std::string_view letters = "#snfipqamtcrRolkSdgCD";  // bit 0 is STATE itself

int mask_of(std::string_view attributes) {
    int mask = 0;
    for (const char letter : attributes) {
        if (letter != '-') mask |= 1 << letters.find(letter);
    }
    return mask;
}

struct Row {
    ibv_qp_state from, to;
    std::array<std::string_view, types.size()> required, optional;
};

const std::array<std::string_view, types.size()> nothing{"-", "-", "-", "-", "-"};

// IBTA volume 1, table 91 and those after it, as Linux reads them.
//                                 UD     UC      RC        XRC_SEND  XRC_RECV
const Row rows[] = {
    {IBV_QPS_RESET, IBV_QPS_RESET, nothing, nothing},
    {IBV_QPS_RESET, IBV_QPS_INIT, {"ipq", "ipf", "ipf", "ipf", "ipf"}, nothing},
    {IBV_QPS_INIT, IBV_QPS_RESET, nothing, nothing},
    {IBV_QPS_INIT, IBV_QPS_INIT, nothing, {"ipq", "ipf", "ipf", "ipf", "ipf"}},
    {IBV_QPS_INIT, IBV_QPS_RTR, {"-", "amDR", "amDRdk", "amDR", "amDRdk"}, {"iq", "lfi", "lfi", "lfi", "lfi"}},
    {IBV_QPS_INIT, IBV_QPS_ERR, nothing, nothing},
    {IBV_QPS_RTR, IBV_QPS_RESET, nothing, nothing},
    {IBV_QPS_RTR, IBV_QPS_RTS, {"S", "S", "Stcro", "Stcro", "St"}, {"sq", "slfg", "slfgk", "slfg", "slfgk"}},
    {IBV_QPS_RTR, IBV_QPS_ERR, nothing, nothing},
    {IBV_QPS_RTS, IBV_QPS_RESET, nothing, nothing},
    {IBV_QPS_RTS, IBV_QPS_RTS, nothing, {"sq", "slfg", "slfgk", "slfg", "slfgk"}},
    {IBV_QPS_RTS, IBV_QPS_SQD, nothing, {"n", "n", "n", "n", "n"}},
    {IBV_QPS_RTS, IBV_QPS_ERR, nothing, nothing},
    {IBV_QPS_SQD, IBV_QPS_RESET, nothing, nothing},
    {IBV_QPS_SQD, IBV_QPS_RTS, nothing, {"sq", "slfg", "slfgk", "slfg", "slfgk"}},
    {IBV_QPS_SQD, IBV_QPS_SQD, nothing, {"iq", "alfig", "patcrodlfikg", "patcrolfig", "patdlfikg"}},
    {IBV_QPS_SQD, IBV_QPS_ERR, nothing, nothing},
    {IBV_QPS_SQE, IBV_QPS_RESET, nothing, nothing},
    {IBV_QPS_SQE, IBV_QPS_RTS, nothing, {"sq", "sf", "-", "-", "-"}},
    {IBV_QPS_SQE, IBV_QPS_ERR, nothing, nothing},
    {IBV_QPS_ERR, IBV_QPS_RESET, nothing, nothing},
    {IBV_QPS_ERR, IBV_QPS_ERR, nothing, nothing},
};

// What is the other half's of an XRC connection is taken everywhere and means nothing.
int ignored(ibv_qp_type type) {
    if (type == IBV_QPT_XRC_SEND) return mask_of("dk");
    return type == IBV_QPT_XRC_RECV ? mask_of("cro") : 0;
}

const Row* row(ibv_qp_state from, ibv_qp_state to) {
    for (const auto& candidate : rows) {
        if (candidate.from == from && candidate.to == to) return &candidate;
    }
    return nullptr;
}

int error_of(ibv_qp_type type, ibv_qp_state from, ibv_qp_state to, int mask) {
    const auto done = check_transition(type, from, to, mask);
    return done ? 0 : done.error();
}

TEST(QpTransitions, EveryPairOfStatesTakesTheAttributesOfItsRow) {
    for (std::size_t column = 0; column < types.size(); ++column) {
        for (const auto from : states) {
            for (const auto to : states) {
                SCOPED_TRACE(testing::Message() << type_names << " [" << column << "]: " << from << " to " << to);
                const auto* const expected = row(from, to);
                const int required = expected != nullptr ? mask_of(expected->required[column]) : 0;
                const int optional =
                    expected != nullptr ? mask_of(expected->optional[column]) | ignored(types[column]) : 0;
                EXPECT_EQ(error_of(types[column], from, to, IBV_QP_STATE | required), expected != nullptr ? 0 : EINVAL);
                if (expected == nullptr) continue;
                EXPECT_EQ(error_of(types[column], from, to, required), 0) << "STATE may be left out";
                EXPECT_EQ(error_of(types[column], from, to, required | optional), 0) << "all that is possible";
                for (int bit = 1; bit < 31; ++bit) {
                    const int attribute = 1 << bit;
                    if ((required & attribute) != 0) {
                        EXPECT_EQ(error_of(types[column], from, to, required & ~attribute), EINVAL)
                            << "without " << bit;
                    } else {
                        EXPECT_EQ(error_of(types[column], from, to, required | attribute),
                                  (optional & attribute) != 0 ? 0 : EINVAL)
                            << "with " << bit;
                    }
                }
            }
        }
    }
}

TEST(QpTransitions, OtherTypesAndStatesHaveNone) {
    for (const auto type : {IBV_QPT_RAW_PACKET, IBV_QPT_DRIVER, static_cast<ibv_qp_type>(0)}) {
        EXPECT_EQ(error_of(type, IBV_QPS_RESET, IBV_QPS_RESET, IBV_QP_STATE), EINVAL);
    }
    EXPECT_EQ(error_of(IBV_QPT_RC, IBV_QPS_UNKNOWN, IBV_QPS_RESET, IBV_QP_STATE), EINVAL);
    EXPECT_EQ(error_of(IBV_QPT_RC, IBV_QPS_RESET, IBV_QPS_UNKNOWN, IBV_QP_STATE), EINVAL);
}

// What rc_pingpong, uc_pingpong and ud_pingpong pass.
TEST(QpTransitions, WhatProgramsAskForIsGranted) {
    constexpr int to_init = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
    constexpr int to_rtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    EXPECT_EQ(error_of(IBV_QPT_RC, IBV_QPS_RESET, IBV_QPS_INIT, to_init | IBV_QP_ACCESS_FLAGS), 0);
    EXPECT_EQ(
        error_of(IBV_QPT_RC, IBV_QPS_INIT, IBV_QPS_RTR, to_rtr | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER), 0);
    EXPECT_EQ(error_of(IBV_QPT_RC, IBV_QPS_RTR, IBV_QPS_RTS,
                       IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                           IBV_QP_MAX_QP_RD_ATOMIC),
              0);
    EXPECT_EQ(error_of(IBV_QPT_UC, IBV_QPS_INIT, IBV_QPS_RTR, to_rtr), 0);
    EXPECT_EQ(error_of(IBV_QPT_UD, IBV_QPS_RESET, IBV_QPS_INIT, to_init | IBV_QP_QKEY), 0);
    EXPECT_EQ(error_of(IBV_QPT_UD, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QP_STATE), 0);
    EXPECT_EQ(error_of(IBV_QPT_UD, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
}

}  // namespace
}  // namespace verbline::verbs
