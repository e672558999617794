// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The GID table of a port: the addresses it has, by an index that programs name and keep.
///
/// Ordered as Linux orders it, so that "GID index 3" means here what it means there:
///
///     0  fe80::<EUI-64 of the MAC>  RoCE v1  ┐ reserved for the port's own interface,
///     1  fe80::<EUI-64 of the MAC>  RoCE v2  ┘ one place per type
///     2  ::ffff:10.1.0.1            RoCE v1  ┐ each address, in the order in which they come, in the lowest free
///     3  ::ffff:10.1.0.1            RoCE v2  ┘ places behind those
///
/// A place once taken never moves; what is removed leaves a hole, which the next address takes. A port on an InfiniBand
/// fabric has the single type `ib` and no reserved places: the GID that the subnet manager gives is entry 0.
///
/// Owned by the control thread. Entries are values: what the packet path needs of one is copied into an Endpoint.

#include <cstddef>
#include <cstdint>
#include <optional>
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

/// How packets travel from this address.
Carrier carrier_of(const GidEntry& entry);

/// fe80::/64 and the EUI-64 made of the MAC address (RFC 4291, appendix A).
wire::Gid link_local_gid(wire::MacAddress mac);
/// Back again; nothing: it was not made so.
std::optional<wire::MacAddress> mac_of_link_local(const wire::Gid& gid);

class GidTable {
public:
    enum class Kind : std::uint8_t { roce, ib };
    static constexpr std::size_t default_capacity = 256;

    explicit GidTable(Kind kind, std::size_t capacity = default_capacity);

    /// Makes an interface known, whose addresses may be added then. RoCE: one without a VLAN is the port's own, and
    /// gets the reserved places; given again, with the MAC that it has now. False if those are another interface's.
    bool add_interface(std::uint32_t ifindex, wire::MacAddress mac, std::optional<std::uint16_t> vlan = std::nullopt);
    /// With all its addresses.
    void remove_interface(std::uint32_t ifindex);

    /// One entry per type; those that are there stay where they are. False if the interface is not known, the GID is
    /// zero, or the table is too full for all of them (then it is as before).
    bool add_address(std::uint32_t ifindex, const wire::Gid& gid);
    /// Reserved places are kept, even if this is their address.
    void remove_address(std::uint32_t ifindex, const wire::Gid& gid);

    std::size_t capacity() const { return entries_.size(); }
    /// Null: a hole, or beyond the table.
    const GidEntry* at(std::size_t index) const;
    /// The lowest index that has this address. A packet's addresses find the entry it is for.
    std::optional<std::size_t> find(const wire::Gid& gid, GidType type, std::optional<std::uint16_t> vlan) const;

private:
    struct Interface {
        std::uint32_t ifindex;
        std::optional<std::uint16_t> vlan;
    };

    const Interface* interface(std::uint32_t ifindex) const;
    std::optional<std::size_t> place_of(const GidEntry& entry) const;
    std::optional<std::size_t> free_place() const;

    std::vector<GidType> types_;  ///< in the order of entries of one address
    std::size_t reserved_;        ///< places at the beginning
    std::vector<std::optional<GidEntry>> entries_;
    std::vector<Interface> interfaces_;
};

}  // namespace verbline::link
