// SPDX-License-Identifier: BSD-3-Clause
// Attributes of a device and its port.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <string_view>

#include <endian.h>
#include <infiniband/verbs.h>
#include <net/if.h>

#include "apps/libibverbs/abi/convert.h"
#include "apps/libibverbs/abi/unpublished.h"
#include "apps/libibverbs/objects/context.h"
#include "apps/libibverbs/objects/limits.h"
#include "apps/libibverbs/objects/query.h"
#include "datapath/link/gid_table.h"
#include "datapath/wire/port_info.h"

#undef ibv_query_port

namespace verbline::verbs {
namespace {

using link::GidEntry;

/// Copies as much of a structure as the caller has room for.
template <class T>
void fill(const T& from, void* to, std::size_t size) {
    std::memset(to, 0, size);
    std::memcpy(to, &from, std::min(size, sizeof from));
}

/// Of the device; at the end of its range it stays there.
std::uint32_t counter(Context& context, std::string_view wanted) {
    std::uint64_t found = 0;
    context.device().counters([&](std::string_view name, std::uint64_t value, std::string_view) {
        if (name == wanted) found = value;
    });
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(found, UINT32_MAX));
}

ibv_port_attr port_attributes(Context& context) {
    auto& port = context.port();
    const auto fabric = port.fabric();
    const bool ib = port.infiniband(), active = port.active();
    ibv_port_attr attributes{};
    attributes.state = active ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
    attributes.phys_state = active ? 5 /* LinkUp */ : 3 /* Disabled */;
    attributes.max_mtu = IBV_MTU_4096;
    attributes.active_mtu = to_mtu(context.device().max_mtu());
    attributes.gid_tbl_len = static_cast<int>(context.device().gids().capacity());
    attributes.port_cap_flags = IBV_PORT_CM_SUP | IBV_PORT_IP_BASED_GIDS;
    attributes.max_msg_sz = 1u << 31;
    attributes.pkey_tbl_len = static_cast<std::uint16_t>(fabric.pkeys.size());
    // IBTA 14.2.5.6, P_KeyViolations and Q_KeyViolations.
    attributes.bad_pkey_cntr = counter(context, "rx_dropped_pkey");
    attributes.qkey_viol_cntr = counter(context, "rx_dropped_qkey");
    attributes.max_vl_num = 1;
    attributes.active_width = 2;   // 4x
    attributes.active_speed = 32;  // EDR: 4x is 100 Gb/s, what such links carry at best
    attributes.link_layer = IBV_LINK_LAYER_ETHERNET;
    if (!ib) return attributes;
    attributes.link_layer = IBV_LINK_LAYER_INFINIBAND;
    attributes.port_cap_flags = fabric.capabilities;
    attributes.lid = static_cast<std::uint16_t>(fabric.lid);
    attributes.sm_lid = static_cast<std::uint16_t>(fabric.sm_lid);
    attributes.sm_sl = fabric.sm_sl;
    attributes.lmc = fabric.lmc;
    attributes.subnet_timeout = 18;
    if (fabric.mtu != 0) attributes.active_mtu = std::min(attributes.active_mtu, to_mtu(fabric.mtu));
    return attributes;
}

std::optional<GidEntry> entry_at(Context& context, std::uint32_t port, std::uint32_t index) {
    return port == 1 ? context.device().gids().at(index) : std::nullopt;
}

void describe(const GidEntry& entry, std::uint32_t index, ibv_gid_entry& to) {
    std::memcpy(to.gid.raw, entry.gid.bytes.data(), sizeof to.gid.raw);
    to.gid_index = index;
    to.port_num = 1;
    to.gid_type = entry.type == link::GidType::ib        ? IBV_GID_TYPE_IB
                  : entry.type == link::GidType::roce_v1 ? IBV_GID_TYPE_ROCE_V1
                                                         : IBV_GID_TYPE_ROCE_V2;
    to.ndev_ifindex = entry.type == link::GidType::ib ? 0 : entry.ifindex;
}

}  // namespace

int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* to, std::size_t size) {
    if (port != 1) return EINVAL;
    auto& opened = Context::of(context);
    if (!opened.alive()) return EIO;
    fill(port_attributes(opened), to, size);
    return 0;
}

int query_device(ibv_context* context, const ibv_query_device_ex_input* input, ibv_device_attr_ex* to,
                 std::size_t size) {
    if ((input != nullptr && input->comp_mask != 0) || size < sizeof to->orig_attr) return EINVAL;
    auto& opened = Context::of(context);  // also of a dead context: the attributes are constant
    const bool member = opened.port().link().lane.member.has_value();
    auto attributes = limits::device_attributes(member ? limits::member_queue_pairs : limits::queue_pairs);
    std::strncpy(attributes.orig_attr.fw_ver, VERBLINE_VERSION, sizeof attributes.orig_attr.fw_ver - 1);
    attributes.orig_attr.node_guid = attributes.orig_attr.sys_image_guid =
        htobe64(static_cast<std::uint64_t>(opened.port().guid()));
    fill(attributes, to, size);
    return 0;
}

int query_rt_values(ibv_context*, ibv_values_ex* values) {
    const auto asked = std::exchange(values->comp_mask, 0u);
    if ((asked & IBV_VALUES_MASK_RAW_CLOCK) == 0) return 0;
    clock_gettime(CLOCK_MONOTONIC, &values->raw_clock);  // what completions are stamped with
    values->comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
    return 0;
}

extern "C" {

int ibv_query_device(ibv_context* context, ibv_device_attr* to) {
    ibv_device_attr_ex attributes{};
    const int error = query_device(context, nullptr, &attributes, sizeof attributes);
    if (error == 0) *to = attributes.orig_attr;
    return error;
}

// Programs built long ago have the structure as it was then, without what followed `link_layer`.
int ibv_query_port(ibv_context* context, std::uint8_t port, _compat_ibv_port_attr* to) {
    return query_port(context, port, reinterpret_cast<ibv_port_attr*>(to), offsetof(ibv_port_attr, port_cap_flags2));
}

int ibv_query_gid(ibv_context* context, std::uint8_t port, int index, ibv_gid* to) {
    const auto entry = entry_at(Context::of(context), port, static_cast<std::uint32_t>(index));
    if (!entry) {
        // As in sysfs: empty entries read as zeros, beyond the table is an error.
        std::memset(to, 0, sizeof *to);
        if (port == 1 && static_cast<std::size_t>(index) < Context::of(context).device().gids().capacity()) return 0;
        errno = EINVAL;
        return -1;
    }
    std::memcpy(to->raw, entry->gid.bytes.data(), sizeof to->raw);
    return 0;
}

int _ibv_query_gid_ex(ibv_context* context, std::uint32_t port, std::uint32_t index, ibv_gid_entry* to,
                      std::uint32_t flags, std::size_t size) {
    auto& opened = Context::of(context);
    if (flags != 0) return EOPNOTSUPP;
    if (port != 1 || index >= opened.device().gids().capacity()) return EINVAL;
    const auto entry = entry_at(opened, port, index);
    if (!entry) return ENODATA;
    ibv_gid_entry described{};
    describe(*entry, index, described);
    fill(described, to, size);
    return 0;
}

ssize_t _ibv_query_gid_table(ibv_context* context, ibv_gid_entry* to, std::size_t room, std::uint32_t flags,
                             std::size_t size) {
    if (flags != 0) return -EOPNOTSUPP;
    const auto& gids = Context::of(context).device().gids();
    std::size_t count = 0;
    for (std::uint32_t index = 0; index < gids.capacity(); ++index) {
        const auto entry = gids.at(index);
        if (!entry) continue;
        if (count == room) return -EINVAL;
        ibv_gid_entry described{};
        describe(*entry, index, described);
        fill(described, reinterpret_cast<std::byte*>(to) + count++ * size, size);
    }
    return static_cast<ssize_t>(count);
}

int ibv_query_gid_type(ibv_context* context, std::uint8_t port, unsigned index, ibv_gid_type_sysfs* type) {
    const auto entry = entry_at(Context::of(context), port, index);
    if (!entry) {
        errno = EINVAL;
        return -1;
    }
    *type = entry->type == link::GidType::roce_v2 ? IBV_GID_TYPE_SYSFS_ROCE_V2 : IBV_GID_TYPE_SYSFS_IB_ROCE_V1;
    return 0;
}

int ibv_query_pkey(ibv_context* context, std::uint8_t port, int index, __be16* to) {
    const auto pkeys = Context::of(context).port().fabric().pkeys;
    if (port != 1 || index < 0 || static_cast<std::size_t>(index) >= pkeys.size()) {
        errno = EINVAL;
        return -1;
    }
    *to = htobe16(static_cast<std::uint16_t>(pkeys[static_cast<std::size_t>(index)]));
    return 0;
}

int ibv_get_pkey_index(ibv_context* context, std::uint8_t port, __be16 pkey) {
    __be16 each = 0;
    for (int index = 0; ibv_query_pkey(context, port, index, &each) == 0; ++index) {
        if (each == pkey) return index;
    }
    return -1;
}

}  // extern "C"

}  // namespace verbline::verbs
