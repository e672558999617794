// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/program/device_view.h"

#include <array>
#include <bit>
#include <cstring>
#include <string_view>

#include <endian.h>
#include <net/if.h>

#include <fmt/format.h>

#include "apps/verbline/program/device_flags.h"
#include "datapath/wire/text.h"

namespace verbline::cli {
namespace {

/// A value with its name: "ACTIVE (4)".
std::string named(unsigned value, std::span<const std::string_view> names, unsigned first = 0) {
    const bool known = value >= first && value - first < names.size();
    return fmt::format("{} ({})", known ? names[value - first] : "unknown", value);
}

/// The number of an enumerator, which may be one that the enumeration does not have: another library's.
constexpr unsigned number_of(const auto& enumerator) {
    return std::bit_cast<unsigned>(enumerator);
}

std::string mtu_text(unsigned code) {
    return code >= IBV_MTU_256 && code <= IBV_MTU_4096 ? fmt::format("{} ({})", 128U << code, code)
                                                       : fmt::format("unknown ({})", code);
}

/// IBTA volume 1, 14.2.5.6: PortInfo's LinkWidthActive is one bit.
std::string width_text(unsigned width) {
    switch (width) {
        case 1: return "1X (1)";
        case 2: return "4X (2)";
        case 4: return "8X (4)";
        case 8: return "12X (8)";
        case 16: return "2X (16)";
        default: return fmt::format("unknown ({})", width);
    }
}

std::string speed_text(unsigned speed) {
    switch (speed) {
        case 1: return "2.5 Gbps (1)";
        case 2: return "5.0 Gbps (2)";
        case 4:
        case 8: return fmt::format("10.0 Gbps ({})", speed);
        case 16: return "14.0 Gbps (16)";
        case 32: return "25.0 Gbps (32)";
        case 64: return "50.0 Gbps (64)";
        case 128: return "100.0 Gbps (128)";
        default: return fmt::format("unknown ({})", speed);
    }
}

/// VLCap counts lanes, not bits.
std::string lanes_text(unsigned code) {
    constexpr std::array<unsigned, 6> lanes{0, 1, 2, 4, 8, 15};
    return code > 0 && code < lanes.size() ? fmt::format("{} ({})", lanes[code], code)
                                           : fmt::format("unknown ({})", code);
}

std::string guid_text(__be64 guid) {
    return wire::to_string(wire::Guid{be64toh(guid)});
}

wire::Gid gid_of(const ibv_gid& gid) {
    wire::Gid out;
    static_assert(sizeof gid.raw == sizeof out.bytes);
    std::memcpy(out.bytes.data(), gid.raw, sizeof gid.raw);
    return out;
}

void add_limits(Json& row, const ibv_device_attr& a) {
    row["max_mr_size"] = fmt::format("{:#x}", a.max_mr_size);
    row["page_size_cap"] = fmt::format("{:#x}", a.page_size_cap);
    row["max_qp"] = a.max_qp;
    row["max_qp_wr"] = a.max_qp_wr;
    row["device_cap_flags"] = flag_text(a.device_cap_flags, device_flags);
    row["max_sge"] = a.max_sge;
    row["max_sge_rd"] = a.max_sge_rd;
    row["max_cq"] = a.max_cq;
    row["max_cqe"] = a.max_cqe;
    row["max_mr"] = a.max_mr;
    row["max_pd"] = a.max_pd;
    row["max_qp_rd_atom"] = a.max_qp_rd_atom;
    row["max_ee_rd_atom"] = a.max_ee_rd_atom;
    row["max_res_rd_atom"] = a.max_res_rd_atom;
    row["max_qp_init_rd_atom"] = a.max_qp_init_rd_atom;
    row["max_ee_init_rd_atom"] = a.max_ee_init_rd_atom;
    constexpr std::array<std::string_view, 3> atomics{"ATOMIC_NONE", "ATOMIC_HCA", "ATOMIC_GLOB"};
    row["atomic_cap"] = named(number_of(a.atomic_cap), atomics);
    row["max_ee"] = a.max_ee;
    row["max_rdd"] = a.max_rdd;
    row["max_mw"] = a.max_mw;
    row["max_raw_ipv6_qp"] = a.max_raw_ipv6_qp;
    row["max_raw_ethy_qp"] = a.max_raw_ethy_qp;
    row["max_mcast_grp"] = a.max_mcast_grp;
    row["max_mcast_qp_attach"] = a.max_mcast_qp_attach;
    row["max_total_mcast_qp_attach"] = a.max_total_mcast_qp_attach;
    row["max_ah"] = a.max_ah;
    row["max_fmr"] = a.max_fmr;
    row["max_map_per_fmr"] = a.max_map_per_fmr;
    row["max_srq"] = a.max_srq;
    row["max_srq_wr"] = a.max_srq_wr;
    row["max_srq_sge"] = a.max_srq_sge;
    row["max_pkeys"] = a.max_pkeys;
    row["local_ca_ack_delay"] = a.local_ca_ack_delay;
}

void add_extensions(Json& row, const ibv_device_attr_ex& a) {
    row["general_odp_caps"] = flag_text(a.odp_caps.general_caps, odp_general_flags);
    row["rc_odp_caps"] = flag_text(a.odp_caps.per_transport_caps.rc_odp_caps, odp_flags);
    row["uc_odp_caps"] = flag_text(a.odp_caps.per_transport_caps.uc_odp_caps, odp_flags);
    row["ud_odp_caps"] = flag_text(a.odp_caps.per_transport_caps.ud_odp_caps, odp_flags);
    row["xrc_odp_caps"] = flag_text(a.xrc_odp_caps, odp_flags);
    row["completion_timestamp_mask"] = fmt::format("{:#018x}", a.completion_timestamp_mask);
    row["hca_core_clock"] = fmt::format("{} kHz", a.hca_core_clock);
    row["raw_packet_caps"] = flag_text(a.raw_packet_caps, raw_packet_flags);
    row["device_cap_flags_ex"] = flag_text(a.device_cap_flags_ex, more_device_flags, 16);
    row["tso_caps.max_tso"] = a.tso_caps.max_tso;
    row["tso_caps.supported_qp"] = flag_text(a.tso_caps.supported_qpts, pair_types);
    row["rss_caps.max_rwq_indirection_tables"] = a.rss_caps.max_rwq_indirection_tables;
    row["rss_caps.max_rwq_indirection_table_size"] = a.rss_caps.max_rwq_indirection_table_size;
    row["rss_caps.rx_hash_function"] = flag_text(a.rss_caps.rx_hash_function, hash_functions, 2);
    row["rss_caps.rx_hash_fields_mask"] = fmt::format("{:#x}", a.rss_caps.rx_hash_fields_mask);
    row["rss_caps.supported_qp"] = flag_text(a.rss_caps.supported_qpts, pair_types);
    row["max_wq_type_rq"] = a.max_wq_type_rq;
    row["packet_pacing_caps.qp_rate_limit_min"] = fmt::format("{} kbps", a.packet_pacing_caps.qp_rate_limit_min);
    row["packet_pacing_caps.qp_rate_limit_max"] = fmt::format("{} kbps", a.packet_pacing_caps.qp_rate_limit_max);
    row["packet_pacing_caps.supported_qp"] = flag_text(a.packet_pacing_caps.supported_qpts, pair_types);
    row["tm_caps.max_rndv_hdr_size"] = a.tm_caps.max_rndv_hdr_size;
    row["tm_caps.max_num_tags"] = a.tm_caps.max_num_tags;
    row["tm_caps.max_ops"] = a.tm_caps.max_ops;
    row["tm_caps.max_sge"] = a.tm_caps.max_sge;
    row["tm_caps.flags"] = flag_text(a.tm_caps.flags, tag_matching_flags);
    row["cq_moderation_caps.max_cq_count"] = a.cq_mod_caps.max_cq_count;
    row["cq_moderation_caps.max_cq_period"] = fmt::format("{} us", a.cq_mod_caps.max_cq_period);
    row["max_device_memory"] = fmt::format("{} bytes", a.max_dm_size);
}

}  // namespace

std::string flag_text(std::uint64_t value, std::span<const FlagName> names, int digits) {
    auto text = fmt::format("0x{:0{}x}", value, digits);
    auto unnamed = value;
    for (const auto& [bit, name] : names) {
        if ((value & bit) != bit) continue;
        text += fmt::format(" {}", name);
        unnamed &= ~bit;
    }
    if (unnamed != 0 && unnamed != value) text += fmt::format(" {:#x}", unnamed);
    return text;
}

Json device_row(const DeviceIdentity& identity, const ibv_device_attr_ex& attributes) {
    const auto& a = attributes.orig_attr;
    constexpr std::array<std::string_view, 5> transports{"InfiniBand", "iWARP", "usNIC", "usNIC UDP", "unspecified"};
    Json row;
    row["hca_id"] = identity.name;
    row["transport"] = named(identity.transport, transports);
    row["fw_ver"] = std::string(a.fw_ver, strnlen(a.fw_ver, sizeof a.fw_ver));
    row["node_guid"] = guid_text(a.node_guid);
    row["sys_image_guid"] = guid_text(a.sys_image_guid);
    row["vendor_id"] = fmt::format("{:#06x}", a.vendor_id);
    row["vendor_part_id"] = a.vendor_part_id;
    row["hw_ver"] = fmt::format("{:#x}", a.hw_ver);
    if (!identity.board.empty()) row["board_id"] = identity.board;
    row["phys_port_cnt"] = a.phys_port_cnt;
    add_limits(row, a);
    add_extensions(row, attributes);
    row["num_comp_vectors"] = identity.completion_vectors;
    return row;
}

Json port_row(unsigned number, const ibv_port_attr& a) {
    constexpr std::array<std::string_view, 6> states{"PORT_NOP",   "PORT_DOWN",   "PORT_INIT",
                                                     "PORT_ARMED", "PORT_ACTIVE", "PORT_ACTIVE_DEFER"};
    constexpr std::array<std::string_view, 3> layers{"Unspecified", "InfiniBand", "Ethernet"};
    constexpr std::array<std::string_view, 8> physical{
        "unknown", "SLEEP", "POLLING", "DISABLED", "PORT_CONFIGURATION_TRAINING", "LINK_UP", "LINK_ERROR_RECOVERY",
        "PHY_TEST"};
    Json row;
    row["port"] = number;
    row["state"] = named(number_of(a.state), states);
    row["max_mtu"] = mtu_text(number_of(a.max_mtu));
    row["active_mtu"] = mtu_text(number_of(a.active_mtu));
    row["sm_lid"] = a.sm_lid;
    row["port_lid"] = a.lid;
    row["port_lmc"] = fmt::format("{:#04x}", a.lmc);
    row["link_layer"] = a.link_layer < layers.size() ? std::string(layers[a.link_layer]) : "unknown";
    row["max_msg_sz"] = fmt::format("{:#x}", a.max_msg_sz);
    row["port_cap_flags"] = flag_text(a.port_cap_flags, port_flags);
    row["port_cap_flags2"] = flag_text(a.port_cap_flags2, more_port_flags, 4);
    row["max_vl_num"] = lanes_text(a.max_vl_num);
    row["bad_pkey_cntr"] = fmt::format("{:#x}", a.bad_pkey_cntr);
    row["qkey_viol_cntr"] = fmt::format("{:#x}", a.qkey_viol_cntr);
    row["sm_sl"] = a.sm_sl;
    row["pkey_tbl_len"] = a.pkey_tbl_len;
    row["gid_tbl_len"] = a.gid_tbl_len;
    row["subnet_timeout"] = a.subnet_timeout;
    row["init_type_reply"] = a.init_type_reply;
    row["active_width"] = width_text(a.active_width);
    row["active_speed"] = speed_text(a.active_speed);
    row["phys_state"] = named(a.phys_state, physical);
    return row;
}

Json gid_rows(std::span<const ibv_gid_entry> entries) {
    constexpr std::array<std::string_view, 3> types{"IB", "RoCE v1", "RoCE v2"};
    auto rows = Json::array();
    for (const auto& entry : entries) {
        std::array<char, IF_NAMESIZE> interface{};
        if (entry.ndev_ifindex != 0) if_indextoname(entry.ndev_ifindex, interface.data());
        Json row;
        row["index"] = entry.gid_index;
        row["gid"] = wire::to_string(gid_of(entry.gid));
        row["type"] = entry.gid_type < types.size() ? std::string(types[entry.gid_type]) : "unknown";
        row["interface"] = interface.data();
        rows.push_back(std::move(row));
    }
    return rows;
}

}  // namespace verbline::cli
