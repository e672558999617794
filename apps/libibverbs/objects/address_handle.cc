// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/objects/address_handle.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "apps/libibverbs/abi/hooks.h"
#include "apps/libibverbs/objects/retired_handles.h"

namespace verbline::verbs {
Result<rdma::Path> to_path(Context& context, const ibv_ah_attr& attributes) {
    const auto& grh = attributes.grh;
    rdma::Path path{.address = {.dlid = wire::Lid{attributes.dlid}, .sl = attributes.sl}};
    if (attributes.port_num != 1) return failure(EINVAL, "the device has one port");
    if (attributes.is_global != 0) {
        path.gid_index = grh.sgid_index;
        path.address.global = true;
        std::memcpy(path.address.dgid.bytes.data(), grh.dgid.raw, sizeof grh.dgid.raw);
        path.address.hop_limit = grh.hop_limit;
        path.address.traffic_class = grh.traffic_class;
        path.address.flow_label = grh.flow_label & 0xfffff;
        if (!context.device().gids().at(grh.sgid_index)) return failure(EINVAL, "GID index");
    }
    if (context.port().infiniband()) return path;
    if (attributes.is_global == 0) return failure(EINVAL, "RoCE paths are global: give the peer's GID");
    const auto mac = context.port().resolve(path.gid_index, path.address.dgid);
    if (!mac) return std::unexpected(mac.error());
    path.mac = *mac;
    return path;
}

int resolve_mac(ibv_context* context, const ibv_ah_attr* attributes, std::uint8_t* mac, std::uint16_t* vlan) {
    return done([&] -> Result<void> {
        auto& opened = Context::of(context);
        const auto path = to_path(opened, *attributes);
        if (!path) return std::unexpected(path.error());
        std::memcpy(mac, path->mac.bytes.data(), path->mac.bytes.size());
        *vlan = opened.device().gids().at(path->gid_index)->vlan.value_or(0xffff);
        return {};
    });
}

AddressHandle::AddressHandle(ProtectionDomain& domain, const link::Envelope& envelope)
    : domain_(domain), envelope_(envelope) {
    handle_ = {{.context = domain.abi()->context, .pd = domain.abi(), .handle = 0}, this};
    ++domain_.users;
}

AddressHandle::~AddressHandle() = default;

extern "C" {

ibv_ah* ibv_create_ah(ibv_pd* pd, ibv_ah_attr* attributes) {
    return made([&] -> Result<ibv_ah*> {
        auto& domain = ProtectionDomain::of(pd);
        auto& context = domain.context();
        if (!context.alive()) return failure(EIO, "the context is that of a parent process");
        const auto path = to_path(context, *attributes);
        if (!path) return std::unexpected(path.error());
        const auto envelope = context.device().envelope(*path, wire::Qpn{}, wire::Qpn{});
        if (!envelope) return std::unexpected(envelope.error());
        return (new AddressHandle(domain, *envelope))->abi();
    });
}

int ibv_destroy_ah(ibv_ah* ah) {
    if (!Context::of(ah->context).alive()) return 0;
    auto& handle = AddressHandle::of(ah);
    --ProtectionDomain::of(ah->pd).users;
    RetiredHandles::get().add(std::unique_ptr<AddressHandle>(&handle));
    return 0;
}

}  // extern "C"

}  // namespace verbline::verbs
