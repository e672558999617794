// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A device's entries under /sys/class, as the kernel would write them: some programs read GIDs, rates and locality
/// there instead of asking libibverbs (UCX and Open MPI among them).
///
///     ROOT/infiniband/NAME/...            node, port, GIDs, P_Keys, counters
///     ROOT/infiniband_verbs/uverbsN/...   which device /dev/infiniband/uverbsN is
///     ROOT/infiniband_mad/umadN/...       which device's port /dev/infiniband/umadN is
///
/// `verbline run` writes the tree before the program starts (private_namespace.h), with what is known then; the library
/// brings it up to date when it opens the device. Every file is replaced as a whole, so that a reader never sees half.
/// Several processes below one `verbline run` share the tree; the last that writes is right.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "datapath/wire/types.h"
#include "pmd/base/error.h"

namespace verbline::verbs {

/// The links have no fixed speed; ibv_query_port reports this one.
constexpr unsigned usual_gigabits = 100, usual_lanes = 4;
constexpr std::string_view board_name = "verbline";
/// PortInfo:CapabilityMask of an Ethernet port: a connection manager, and GIDs that are IP addresses (as
/// ibv_query_port).
constexpr std::uint32_t ethernet_capabilities = 1U << 16 | 1U << 26;

enum class GidType : std::uint8_t { infiniband_or_roce_v1, roce_v2 };

struct GidFacts {
    wire::Gid gid;
    GidType type = GidType::roce_v2;
    std::string interface;  ///< the kernel interface with this address; empty: none

    bool operator==(const GidFacts&) const = default;
};

struct DeviceFacts {
    std::string name;    ///< verbline0
    unsigned index = 0;  ///< the N of uverbsN and umadN
    wire::Guid node_guid{};
    bool infiniband = false;  ///< link layer; otherwise Ethernet
    bool active = false;
    wire::Lid lid{}, sm_lid{};  ///< 0 on Ethernet
    std::uint8_t lmc = 0, sm_sl = 0;
    std::uint32_t capabilities = 0;  ///< PortInfo:CapabilityMask (IBTA volume 1, 14.2.5.6)
    unsigned gigabits = 0;           ///< per second, over all lanes
    unsigned lanes = 1;              ///< 1, 2, 4, 8 or 12
    std::vector<GidFacts> gids;
    std::vector<wire::PKey> pkeys{wire::PKey{0xffff}};
    std::string interface;        ///< the kernel interface below the device; empty: none
    std::string firmware, board;  ///< as ibv_query_device reports
    std::vector<std::pair<std::string, std::uint64_t>> counters, hw_counters;

    bool operator==(const DeviceFacts&) const = default;
};

class SysfsTree {
public:
    /// `root`: where the classes are, /sys/class inside the private namespace.
    explicit SysfsTree(std::filesystem::path root) : root_(std::move(root)) {}

    /// Creates what is missing, writes every file, and removes entries that the device no longer has.
    Result<void> update(const DeviceFacts& facts) const;

private:
    std::filesystem::path root_;
};

/// As sysfs writes it: 0200:00ff:fe00:0004, fe80:0000:0000:0000:0200:00ff:fe00:0004.
std::string sysfs_text(wire::Guid guid);
std::string sysfs_text(const wire::Gid& gid);

}  // namespace verbline::verbs
