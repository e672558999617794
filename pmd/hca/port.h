// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// An RDMA device and its ports, as libibverbs describes them. Control thread.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "datapath/wire/types.h"
#include "pmd/base/error.h"
#include "pmd/hca/verbs.h"

namespace verbline::pmd::hca {

/// Names of the devices that are there, in the library's order.
std::vector<std::string> device_names(const Verbs& verbs);

/// Opens a device by its name, such as mlx5_0. Errors name what there is, or what permission is missing.
Result<Owned<ibv_context>> open_context(const Verbs& verbs, const std::string& name);

/// A port at one moment.
struct PortFacts {
    bool ethernet = false;  ///< RoCE; else InfiniBand
    ibv_port_state state = IBV_PORT_NOP;
    std::uint32_t mtu = 0;  ///< bytes of payload of a UD message
    wire::Lid lid{};
    std::uint16_t pkeys = 0;     ///< entries of the P_Key table
    wire::Gid gid{};             ///< InfiniBand: the first; Ethernet: the link-local one of RoCE v2
    std::uint8_t gid_index = 0;  ///< of `gid`
    unsigned interface = 0;      ///< Ethernet: index of the kernel's interface below; 0: not known

    bool has_gid() const { return gid != wire::Gid{}; }
    bool active() const { return state == IBV_PORT_ACTIVE && has_gid(); }
    bool operator==(const PortFacts&) const = default;
};

/// Error: the device has no such port, or is gone. An Ethernet port may have no GID for now.
Result<PortFacts> read_port(const Verbs& verbs, ibv_context& context, std::uint8_t port);

/// The index of a P_Key in the port's table: of this membership, else of the partition's other one.
std::optional<std::uint16_t> find_pkey(const Verbs& verbs, ibv_context& context, std::uint8_t port,
                                       const PortFacts& facts, wire::PKey pkey);
/// The table as text for messages: "0xffff, 0x8001".
std::string pkey_table(const Verbs& verbs, ibv_context& context, std::uint8_t port, const PortFacts& facts);

/// Name of the kernel's driver of a device, such as mlx4_core, by /sys; empty: not known, or it has none (rxe).
std::string driver_of(const ibv_context& context);

}  // namespace verbline::pmd::hca
