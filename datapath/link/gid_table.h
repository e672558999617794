// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The GID table of a port: its addresses, by the index that programs use (sgid_index).
///
/// Ordered as on Linux, so that an index means the same on both:
///
///     0  fe80::<EUI-64 of the MAC>  RoCE v1  ┐ reserved for the port's own interface,
///     1  fe80::<EUI-64 of the MAC>  RoCE v2  ┘ one place per type
///     2  ::ffff:10.1.0.1            RoCE v1  ┐ further addresses, in the order in which they are added, each in the
///     3  ::ffff:10.1.0.1            RoCE v2  ┘ lowest free entries behind those
///
/// An entry never moves. The place of one that is removed is taken by the next address that is added, as on Linux;
/// what was made from it before keeps its values. A port on an InfiniBand fabric has the single type `ib` and no
/// reserved entries: the GID that the subnet manager assigns is entry 0.
///
/// Threads: any, by a mutex. The packet path does not read it: the fields that it needs are copied into an Endpoint.

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "datapath/link/envelope.h"
#include "datapath/wire/types.h"

namespace verbline::link {

enum class GidType : std::uint8_t { ib, roce_v1, roce_v2 };

struct GidEntry {
    wire::Gid gid{};
    GidType type{};
    std::optional<std::uint16_t> vlan;  ///< of the interface
    std::uint32_t ifindex = 0;
    bool operator==(const GidEntry&) const = default;
};

/// The carrier of packets sent from this entry's address.
Carrier carrier_of(const GidEntry& entry);

/// Builds fe80::/64 with the modified EUI-64 of the MAC address (RFC 4291, appendix A).
wire::Gid link_local_gid(wire::MacAddress mac);
/// Inverse of `link_local_gid`; `nullopt` if `gid` was not built that way, or from an address that no interface can
/// have (multicast or zero): GIDs come from other hosts.
std::optional<wire::MacAddress> mac_of_link_local(const wire::Gid& gid);

class GidTable {
public:
    enum class Kind : std::uint8_t { roce, ib };
    static constexpr std::size_t default_capacity = 256;

    explicit GidTable(Kind kind, std::size_t capacity = default_capacity);

    /// Registers an interface, whose addresses may then be added. RoCE: an interface without a VLAN is the port's own,
    /// and takes the reserved entries; registering it again updates them to its present MAC. False if another interface
    /// has the reserved entries.
    bool add_interface(std::uint32_t ifindex, wire::MacAddress mac, std::optional<std::uint16_t> vlan = std::nullopt);

    /// Adds one entry per type; existing entries keep their index. False, and the table unchanged, if the interface is
    /// not registered, the GID is zero, or there is no room for all entries.
    bool add_address(std::uint32_t ifindex, const wire::Gid& gid);
    /// Removes the interface's addresses that are not among these, and adds those that it does not have, as far as
    /// there is room. The reserved entries stay. Returns whether the table has changed.
    bool set_addresses(std::uint32_t ifindex, std::span<const wire::Gid> gids);

    std::size_t capacity() const { return capacity_; }
    /// None: the entry is free, or the index beyond the table.
    std::optional<GidEntry> at(std::size_t index) const;
    /// The lowest index with this address, type and VLAN: for a received packet, the entry it was sent to.
    std::optional<std::size_t> find(const wire::Gid& gid, GidType type, std::optional<std::uint16_t> vlan) const;

private:
    struct Interface {
        std::uint32_t ifindex;
        std::optional<std::uint16_t> vlan;
    };

    // Under the mutex.
    bool add(std::uint32_t ifindex, const wire::Gid& gid);
    const Interface* interface(std::uint32_t ifindex) const;
    std::optional<std::size_t> place_of(const GidEntry& entry) const;
    std::optional<std::size_t> free_place() const;

    std::vector<GidType> types_;  ///< in the order of entries of one address
    std::size_t reserved_;        ///< places at the beginning
    const std::size_t capacity_;
    mutable std::mutex mutex_;
    std::vector<std::optional<GidEntry>> entries_;
    std::vector<Interface> interfaces_;
};

}  // namespace verbline::link
