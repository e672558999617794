// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/abi/address_from_completion.h"

#include <bit>
#include <cerrno>
#include <limits>

#include "apps/libibverbs/abi/hooks.h"
#include "datapath/link/reverse_path.h"

namespace verbline::verbs {
namespace {

constexpr std::uint8_t most_hops = 0xff;  // the reverse path may be longer

ibv_ah_attr local_part(const ibv_wc& completion, std::uint8_t port) {
    return {.dlid = completion.slid, .sl = completion.sl, .src_path_bits = completion.dlid_path_bits, .port_num = port};
}

}  // namespace

std::optional<std::uint8_t> gid_index(ibv_context& context, std::uint8_t port, const wire::Gid& gid, bool udp) {
    for (std::uint32_t index = 0; index <= std::numeric_limits<std::uint8_t>::max(); ++index) {
        ibv_gid_entry entry{};
        const int error = ibv_query_gid_ex(&context, port, index, &entry, 0);
        if (error == ENODATA) continue;  // the table may have holes
        if (error != 0) break;
        const bool same_kind = (entry.gid_type == IBV_GID_TYPE_ROCE_V2) == udp;
        if (same_kind && std::bit_cast<wire::Gid>(entry.gid) == gid) return static_cast<std::uint8_t>(index);
    }
    return std::nullopt;
}

}  // namespace verbline::verbs

extern "C" {

// 0, or -1 and errno.
int ibv_init_ah_from_wc(ibv_context* context, std::uint8_t port, ibv_wc* wc, ibv_grh* grh, ibv_ah_attr* attributes) {
    using namespace verbline;
    *attributes = verbs::local_part(*wc, port);
    if ((wc->wc_flags & IBV_WC_GRH) == 0) return 0;

    const std::span<const std::byte, wire::Grh::size> area(reinterpret_cast<const std::byte*>(grh), wire::Grh::size);
    const auto reverse = link::reverse_path(area);
    const auto index = reverse ? verbs::gid_index(*context, port, reverse->ours, reverse->udp) : std::nullopt;
    if (!index) {
        errno = EINVAL;
        return -1;
    }
    attributes->is_global = 1;
    attributes->grh = {.dgid = std::bit_cast<ibv_gid>(reverse->peer),
                       .flow_label = reverse->flow_label,
                       .sgid_index = *index,
                       .hop_limit = verbs::most_hops,
                       .traffic_class = reverse->traffic_class};
    return 0;
}

ibv_ah* ibv_create_ah_from_wc(ibv_pd* pd, ibv_wc* wc, ibv_grh* grh, std::uint8_t port) {
    ibv_ah_attr attributes;
    if (ibv_init_ah_from_wc(pd->context, port, wc, grh, &attributes) != 0) return nullptr;
    return ibv_create_ah(pd, &attributes);
}

int ibv_resolve_eth_l2_from_gid(ibv_context* context, ibv_ah_attr* attributes, std::uint8_t mac[6],
                                std::uint16_t* vlan) {
    return verbline::verbs::resolve_mac(context, attributes, mac, vlan);
}

}  // extern "C"
