// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Names of flag bits, as in infiniband/verbs.h but without the common prefix.

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <infiniband/verbs.h>

namespace verbline::cli {

struct FlagName {
    std::uint64_t bit;
    std::string_view name;
};

/// "0x00000003 RESIZE_MAX_WR BAD_PKEY_CNTR": the value in so many digits and the names of its bits, in the order of
/// `names`; bits without a name are a number at the end.
std::string flag_text(std::uint64_t value, std::span<const FlagName> names, int digits = 8);

inline constexpr auto device_flags = std::to_array<FlagName>({
    {IBV_DEVICE_RESIZE_MAX_WR, "RESIZE_MAX_WR"},
    {IBV_DEVICE_BAD_PKEY_CNTR, "BAD_PKEY_CNTR"},
    {IBV_DEVICE_BAD_QKEY_CNTR, "BAD_QKEY_CNTR"},
    {IBV_DEVICE_RAW_MULTI, "RAW_MULTI"},
    {IBV_DEVICE_AUTO_PATH_MIG, "AUTO_PATH_MIG"},
    {IBV_DEVICE_CHANGE_PHY_PORT, "CHANGE_PHY_PORT"},
    {IBV_DEVICE_UD_AV_PORT_ENFORCE, "UD_AV_PORT_ENFORCE"},
    {IBV_DEVICE_CURR_QP_STATE_MOD, "CURR_QP_STATE_MOD"},
    {IBV_DEVICE_SHUTDOWN_PORT, "SHUTDOWN_PORT"},
    {IBV_DEVICE_INIT_TYPE, "INIT_TYPE"},
    {IBV_DEVICE_PORT_ACTIVE_EVENT, "PORT_ACTIVE_EVENT"},
    {IBV_DEVICE_SYS_IMAGE_GUID, "SYS_IMAGE_GUID"},
    {IBV_DEVICE_RC_RNR_NAK_GEN, "RC_RNR_NAK_GEN"},
    {IBV_DEVICE_SRQ_RESIZE, "SRQ_RESIZE"},
    {IBV_DEVICE_N_NOTIFY_CQ, "N_NOTIFY_CQ"},
    {IBV_DEVICE_MEM_WINDOW, "MEM_WINDOW"},
    {IBV_DEVICE_UD_IP_CSUM, "UD_IP_CSUM"},
    {IBV_DEVICE_XRC, "XRC"},
    {IBV_DEVICE_MEM_MGT_EXTENSIONS, "MEM_MGT_EXTENSIONS"},
    {IBV_DEVICE_MEM_WINDOW_TYPE_2A, "MEM_WINDOW_TYPE_2A"},
    {IBV_DEVICE_MEM_WINDOW_TYPE_2B, "MEM_WINDOW_TYPE_2B"},
    {IBV_DEVICE_RC_IP_CSUM, "RC_IP_CSUM"},
    {IBV_DEVICE_RAW_IP_CSUM, "RAW_IP_CSUM"},
    {IBV_DEVICE_MANAGED_FLOW_STEERING, "MANAGED_FLOW_STEERING"},
});

inline constexpr auto more_device_flags = std::to_array<FlagName>({
    {IBV_DEVICE_RAW_SCATTER_FCS, "RAW_SCATTER_FCS"},
    {IBV_DEVICE_PCI_WRITE_END_PADDING, "PCI_WRITE_END_PADDING"},
});

inline constexpr auto port_flags = std::to_array<FlagName>({
    {IBV_PORT_SM, "SM"},
    {IBV_PORT_NOTICE_SUP, "NOTICE_SUP"},
    {IBV_PORT_TRAP_SUP, "TRAP_SUP"},
    {IBV_PORT_OPT_IPD_SUP, "OPT_IPD_SUP"},
    {IBV_PORT_AUTO_MIGR_SUP, "AUTO_MIGR_SUP"},
    {IBV_PORT_SL_MAP_SUP, "SL_MAP_SUP"},
    {IBV_PORT_MKEY_NVRAM, "MKEY_NVRAM"},
    {IBV_PORT_PKEY_NVRAM, "PKEY_NVRAM"},
    {IBV_PORT_LED_INFO_SUP, "LED_INFO_SUP"},
    {IBV_PORT_SYS_IMAGE_GUID_SUP, "SYS_IMAGE_GUID_SUP"},
    {IBV_PORT_PKEY_SW_EXT_PORT_TRAP_SUP, "PKEY_SW_EXT_PORT_TRAP_SUP"},
    {IBV_PORT_EXTENDED_SPEEDS_SUP, "EXTENDED_SPEEDS_SUP"},
    {IBV_PORT_CAP_MASK2_SUP, "CAP_MASK2_SUP"},
    {IBV_PORT_CM_SUP, "CM_SUP"},
    {IBV_PORT_SNMP_TUNNEL_SUP, "SNMP_TUNNEL_SUP"},
    {IBV_PORT_REINIT_SUP, "REINIT_SUP"},
    {IBV_PORT_DEVICE_MGMT_SUP, "DEVICE_MGMT_SUP"},
    {IBV_PORT_VENDOR_CLASS_SUP, "VENDOR_CLASS_SUP"},
    {IBV_PORT_DR_NOTICE_SUP, "DR_NOTICE_SUP"},
    {IBV_PORT_CAP_MASK_NOTICE_SUP, "CAP_MASK_NOTICE_SUP"},
    {IBV_PORT_BOOT_MGMT_SUP, "BOOT_MGMT_SUP"},
    {IBV_PORT_LINK_LATENCY_SUP, "LINK_LATENCY_SUP"},
    {IBV_PORT_CLIENT_REG_SUP, "CLIENT_REG_SUP"},
    {IBV_PORT_IP_BASED_GIDS, "IP_BASED_GIDS"},
});

inline constexpr auto more_port_flags = std::to_array<FlagName>({
    {IBV_PORT_SET_NODE_DESC_SUP, "SET_NODE_DESC_SUP"},
    {IBV_PORT_INFO_EXT_SUP, "INFO_EXT_SUP"},
    {IBV_PORT_VIRT_SUP, "VIRT_SUP"},
    {IBV_PORT_SWITCH_PORT_STATE_TABLE_SUP, "SWITCH_PORT_STATE_TABLE_SUP"},
    {IBV_PORT_LINK_WIDTH_2X_SUP, "LINK_WIDTH_2X_SUP"},
    {IBV_PORT_LINK_SPEED_HDR_SUP, "LINK_SPEED_HDR_SUP"},
    {IBV_PORT_LINK_SPEED_NDR_SUP, "LINK_SPEED_NDR_SUP"},
});

inline constexpr auto odp_flags = std::to_array<FlagName>({
    {IBV_ODP_SUPPORT_SEND, "SEND"},
    {IBV_ODP_SUPPORT_RECV, "RECV"},
    {IBV_ODP_SUPPORT_WRITE, "WRITE"},
    {IBV_ODP_SUPPORT_READ, "READ"},
    {IBV_ODP_SUPPORT_ATOMIC, "ATOMIC"},
    {IBV_ODP_SUPPORT_SRQ_RECV, "SRQ_RECV"},
});

inline constexpr auto odp_general_flags = std::to_array<FlagName>({
    {IBV_ODP_SUPPORT, "SUPPORT"},
    {IBV_ODP_SUPPORT_IMPLICIT, "IMPLICIT"},
});

inline constexpr auto raw_packet_flags = std::to_array<FlagName>({
    {IBV_RAW_PACKET_CAP_CVLAN_STRIPPING, "CVLAN_STRIPPING"},
    {IBV_RAW_PACKET_CAP_SCATTER_FCS, "SCATTER_FCS"},
    {IBV_RAW_PACKET_CAP_IP_CSUM, "IP_CSUM"},
    {IBV_RAW_PACKET_CAP_DELAY_DROP, "DELAY_DROP"},
});

inline constexpr auto tag_matching_flags = std::to_array<FlagName>({
    {IBV_TM_CAP_RC, "RC"},
});

inline constexpr auto hash_functions = std::to_array<FlagName>({
    {IBV_RX_HASH_FUNC_TOEPLITZ, "TOEPLITZ"},
});

inline constexpr auto pair_types = std::to_array<FlagName>({
    {1U << IBV_QPT_RC, "RC"},
    {1U << IBV_QPT_UC, "UC"},
    {1U << IBV_QPT_UD, "UD"},
    {1U << IBV_QPT_RAW_PACKET, "RAW_PACKET"},
});

}  // namespace verbline::cli
