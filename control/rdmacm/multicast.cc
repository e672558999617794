// SPDX-License-Identifier: BSD-3-Clause
#include "control/rdmacm/multicast.h"

#include "datapath/link/ip_gid.h"
#include "datapath/wire/bytes.h"
#include "datapath/wire/ipoib.h"

namespace verbline::rdmacm {
namespace {

/// ff1x:a01b, x the scope: prefix of MGIDs that subnet managers choose (IBTA 15.2.5.17.1 leaves it to them).
bool given_by_sa(const wire::Gid& gid) {
    return (wire::load32(gid.bytes, 0) & 0xfff0'ffff) == 0xff10'a01b;
}

}  // namespace

wire::Gid ib_mgid(const SocketAddress& group, PortSpace space, const wire::Gid& broadcast_group) {
    if (group.any()) return {};
    if (group.family == Family::ib || (group.family == Family::ipv6 && given_by_sa(group.gid))) return group.gid;
    const wire::PKey pkey{wire::load16(broadcast_group.bytes, 4)};
    const auto scope = static_cast<std::uint8_t>(wire::load8(broadcast_group.bytes, 1) & 0xf);
    const auto ipv4 = link::ipv4_of(group.gid);
    auto mgid = ipv4 ? wire::ipoib_multicast_mgid(*ipv4, pkey, scope)
                     : wire::ipoib_multicast_mgid(wire::Ipv6Address{group.gid.bytes}, pkey, scope);
    if (space == PortSpace::udp) mgid.bytes[3] = std::byte{0x01};
    return mgid;
}

wire::Gid roce_mgid(const SocketAddress& group, link::GidType type) {
    if (group.any()) return {};
    auto mgid = group.gid;
    if (group.family == Family::ipv4 && type == link::GidType::roce_v1) wire::store16(mgid.bytes, 0, 0xff0e);
    return mgid;
}

rdma::Path path_to(const JoinedGroup& group, unsigned gid_index) {
    return {.gid_index = gid_index,
            .address = {.dlid = group.mlid,
                        .sl = group.sl,
                        .global = true,
                        .dgid = group.mgid,
                        .hop_limit = group.hop_limit,
                        .traffic_class = group.traffic_class,
                        .flow_label = group.flow_label},
            .mac = group.mac};
}

}  // namespace verbline::rdmacm
