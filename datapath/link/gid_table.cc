// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/link/gid_table.h"

#include <algorithm>
#include <utility>

#include "datapath/link/ip_gid.h"

namespace verbline::link {

Carrier carrier_of(const GidEntry& entry) {
    switch (entry.type) {
        case GidType::ib: return Carrier::soft_ib;
        case GidType::roce_v1: return Carrier::roce_v1;
        case GidType::roce_v2: return ipv4_of(entry.gid) ? Carrier::roce_v2_ipv4 : Carrier::roce_v2_ipv6;
    }
    std::unreachable();
}

wire::Gid link_local_gid(wire::MacAddress mac) {
    auto gid = wire::Gid::of(wire::default_subnet_prefix, wire::Guid{0xff'fe00'0000});
    constexpr std::size_t interface_id = 8, half = 3;
    std::ranges::copy_n(mac.bytes.begin(), half, gid.bytes.begin() + interface_id);
    std::ranges::copy_n(mac.bytes.begin() + half, half, gid.bytes.begin() + interface_id + 5);
    gid.bytes[interface_id] ^= std::byte{2};  // universal/local, the other way round
    return gid;
}

std::optional<wire::MacAddress> mac_of_link_local(const wire::Gid& gid) {
    wire::MacAddress mac;
    constexpr std::size_t interface_id = 8, half = 3;
    std::ranges::copy_n(gid.bytes.begin() + interface_id, half, mac.bytes.begin());
    std::ranges::copy_n(gid.bytes.begin() + interface_id + 5, half, mac.bytes.begin() + half);
    mac.bytes[0] ^= std::byte{2};
    if (mac.multicast() || mac == wire::MacAddress{} || link_local_gid(mac) != gid) return std::nullopt;
    return mac;
}

GidTable::GidTable(Kind kind, std::size_t capacity)
    : types_(kind == Kind::ib ? std::vector{GidType::ib} : std::vector{GidType::roce_v1, GidType::roce_v2}),
      reserved_(kind == Kind::ib ? 0 : types_.size()),
      capacity_(std::max(capacity, reserved_)),
      entries_(capacity_) {}

bool GidTable::add_interface(std::uint32_t ifindex, wire::MacAddress mac, std::optional<std::uint16_t> vlan) {
    const std::scoped_lock lock(mutex_);
    const bool own = !vlan && reserved_ > 0;
    const auto& first = entries_.front();
    if (own && first && first->ifindex != ifindex) return false;
    if (!interface(ifindex)) interfaces_.push_back({ifindex, vlan});
    for (std::size_t i = 0; own && i < reserved_; ++i) {
        entries_[i] = GidEntry{.gid = link_local_gid(mac), .type = types_[i], .ifindex = ifindex};
    }
    return true;
}

bool GidTable::add_address(std::uint32_t ifindex, const wire::Gid& gid) {
    const std::scoped_lock lock(mutex_);
    return add(ifindex, gid);
}

bool GidTable::set_addresses(std::uint32_t ifindex, std::span<const wire::Gid> gids) {
    const std::scoped_lock lock(mutex_);
    const auto before = entries_;
    for (auto& entry : std::span(entries_).subspan(reserved_)) {
        const bool gone = entry && entry->ifindex == ifindex && std::ranges::find(gids, entry->gid) == gids.end();
        if (gone) entry.reset();
    }
    for (const auto& gid : gids) add(ifindex, gid);
    return entries_ != before;
}

bool GidTable::add(std::uint32_t ifindex, const wire::Gid& gid) {
    const auto* const on = interface(ifindex);
    if (on == nullptr || gid == wire::Gid{}) return false;
    std::vector<std::size_t> added;
    for (const auto type : types_) {
        const GidEntry entry{.gid = gid, .type = type, .vlan = on->vlan, .ifindex = ifindex};
        if (place_of(entry)) continue;
        const auto place = free_place();
        if (!place) {
            for (const auto index : added) entries_[index].reset();
            return false;
        }
        entries_[*place] = entry;
        added.push_back(*place);
    }
    return true;
}

std::optional<GidEntry> GidTable::at(std::size_t index) const {
    const std::scoped_lock lock(mutex_);
    return index < entries_.size() ? entries_[index] : std::nullopt;
}

std::optional<std::size_t> GidTable::find(const wire::Gid& gid, GidType type, std::optional<std::uint16_t> vlan) const {
    const std::scoped_lock lock(mutex_);
    const auto found = std::ranges::find_if(entries_, [&](const std::optional<GidEntry>& entry) {
        return entry && entry->gid == gid && entry->type == type && entry->vlan == vlan;
    });
    if (found == entries_.end()) return std::nullopt;
    return static_cast<std::size_t>(found - entries_.begin());
}

const GidTable::Interface* GidTable::interface(std::uint32_t ifindex) const {
    const auto found = std::ranges::find(interfaces_, ifindex, &Interface::ifindex);
    return found == interfaces_.end() ? nullptr : &*found;
}

std::optional<std::size_t> GidTable::place_of(const GidEntry& entry) const {
    const auto found = std::ranges::find(entries_, std::optional(entry));
    if (found == entries_.end()) return std::nullopt;
    return static_cast<std::size_t>(found - entries_.begin());
}

std::optional<std::size_t> GidTable::free_place() const {
    const auto found = std::ranges::find(entries_.begin() + static_cast<std::ptrdiff_t>(reserved_), entries_.end(),
                                         std::optional<GidEntry>());
    if (found == entries_.end()) return std::nullopt;
    return static_cast<std::size_t>(found - entries_.begin());
}

}  // namespace verbline::link
