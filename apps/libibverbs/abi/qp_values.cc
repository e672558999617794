// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/abi/qp_values.h"

#include <cerrno>
#include <cstdint>

#include "apps/libibverbs/abi/convert.h"

namespace verbline::verbs {
namespace {

constexpr std::uint8_t only_port = 1;
constexpr std::uint8_t max_five_bits = 31;  // timeouts: 4.096 us << n (IBTA 9.9.2.1.1); RNR timers: table 46
constexpr std::uint8_t max_three_bits = 7;
constexpr std::uint8_t max_service_level = 15;
constexpr std::uint32_t max_qpn = 0xffffff;

bool is_state(const ibv_qp_state& state) {
    return number(state) <= number(IBV_QPS_ERR);
}
bool is_mtu(const ibv_mtu& mtu) {
    return number(mtu) >= number(IBV_MTU_256) && number(mtu) <= number(IBV_MTU_4096);
}
bool is_migration(const ibv_mig_state& state) {
    return number(state) <= number(IBV_MIG_ARMED);
}
bool is_path(const ibv_ah_attr& path) {
    return path.port_num == only_port && path.sl <= max_service_level;
}
bool is_access(unsigned flags) {
    return memory::has(memory::known_flags, to_access(flags));
}

}  // namespace

std::expected<void, int> check_values(const ibv_qp_attr& attributes, int mask) {
    const auto& a = attributes;
    const struct {
        int attribute;
        bool right;
    } checks[] = {
        {IBV_QP_STATE, is_state(a.qp_state)},
        {IBV_QP_CUR_STATE, is_state(a.cur_qp_state)},
        {IBV_QP_PORT, a.port_num == only_port},
        {IBV_QP_ACCESS_FLAGS, is_access(a.qp_access_flags)},
        {IBV_QP_AV, is_path(a.ah_attr)},
        {IBV_QP_PATH_MTU, is_mtu(a.path_mtu)},
        {IBV_QP_DEST_QPN, a.dest_qp_num <= max_qpn},
        {IBV_QP_TIMEOUT, a.timeout <= max_five_bits},
        {IBV_QP_RETRY_CNT, a.retry_cnt <= max_three_bits},
        {IBV_QP_RNR_RETRY, a.rnr_retry <= max_three_bits},
        {IBV_QP_MIN_RNR_TIMER, a.min_rnr_timer <= max_five_bits},
        {IBV_QP_PATH_MIG_STATE, is_migration(a.path_mig_state)},
        {IBV_QP_ALT_PATH, a.alt_port_num == only_port && is_path(a.alt_ah_attr) && a.alt_timeout <= max_five_bits},
    };
    for (const auto& check : checks) {
        if ((mask & check.attribute) != 0 && !check.right) return std::unexpected(EINVAL);
    }
    return {};
}

}  // namespace verbline::verbs
