// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/neighbour/local_addresses.h"

#include <algorithm>
#include <utility>

#include "datapath/link/gid_table.h"
#include "datapath/neighbour/message.h"

namespace verbline::neighbour {
namespace {

using wire::Gid;

/// fe80::<EUI-64 of the MAC address>.
bool derived(const Gid& address, const LinkAddress& own) {
    const auto* mac = std::get_if<wire::MacAddress>(&own);
    return mac != nullptr && address == link::link_local_gid(*mac);
}

}  // namespace

bool LocalAddresses::detects(const Gid& address, const LinkAddress& own) const {
    const auto wanted = parameters_.detect_duplicates;
    const bool family = wanted == Detect::all || (wanted == Detect::ipv6 && family_of(address) == Family::ipv6);
    return family && !derived(address, own);
}

void LocalAddresses::set(const std::vector<link::InterfaceAddress>& addresses, const LinkAddress& own, Time now,
                         const std::vector<Gid>& certain) {
    std::vector<Own> next;
    for (const auto& address : addresses) {
        const auto same = [&](const Own& mine) { return mine.address.gid == address.gid; };
        if (!is_host(address.gid) || std::ranges::any_of(next, same)) continue;
        if (const auto* known = find(address.gid)) {
            next.push_back(*known);
            next.back().address = address;
        } else if (detects(address.gid, own) && std::ranges::find(certain, address.gid) == certain.end()) {
            next.push_back(
                {.address = address, .tentative = true, .announcements = parameters_.announcements, .due = now});
        } else {
            next.push_back({.address = address});
        }
        next.back().is_virtual = is_virtual(address.gid);
    }
    own_ = std::move(next);
}

bool LocalAddresses::is_virtual(const Gid& address) const {
    return std::ranges::find(virtual_, address) != virtual_.end();
}

void LocalAddresses::set_virtual(std::vector<Gid> addresses, Time now) {
    virtual_ = std::move(addresses);
    for (auto& mine : own_) {
        const bool wanted = is_virtual(mine.address.gid);
        if (std::exchange(mine.is_virtual, wanted) == wanted) continue;
        mine.yielded = mine.said_yielded = false;
        if (mine.lost || mine.tentative) continue;
        mine.announcements = parameters_.announcements;
        mine.due = now;
    }
}

void LocalAddresses::announce(Time now) {
    for (auto& mine : own_) {
        if (mine.lost || (mine.tentative && mine.due)) continue;
        if (mine.yielded) {
            if (!mine.due) mine.due = now + parameters_.yield_for;
            continue;
        }
        mine.probed = false;
        mine.announcements = parameters_.announcements;
        mine.due = now;
    }
}

void LocalAddresses::stop_announcing() {
    for (auto& mine : own_) mine.due.reset();
}

std::optional<LocalAddresses::Due> LocalAddresses::due(Time now) {
    for (auto& mine : own_) {
        if (!mine.due || *mine.due > now) continue;
        if (mine.tentative && !std::exchange(mine.probed, true)) {
            mine.due = now + parameters_.probe_wait;
            return Due{mine.address.gid, true};
        }
        mine.tentative = mine.yielded = false;
        mine.due = next_announcement(mine, now);
        return Due{mine.address.gid, false};
    }
    return std::nullopt;
}

std::optional<Time> LocalAddresses::next_announcement(Own& mine, Time now) const {
    if (mine.is_virtual) return now + parameters_.refresh_interval;
    if (--mine.announcements == 0) return std::nullopt;
    return now + parameters_.announce_interval;
}

std::optional<Time> LocalAddresses::deadline() const {
    std::optional<Time> first;
    for (const auto& mine : own_) {
        if (mine.due && (!first || *mine.due < *first)) first = mine.due;
    }
    return first;
}

/// Two that probe for one address at the same time: neither may use it (RFC 5227, 2.1.1; RFC 4862, 5.4.3).
bool LocalAddresses::probed(const Gid& address) {
    auto& mine = *find(address);
    if (mine.tentative) lose(mine);
    return !mine.lost && !mine.yielded;
}

/// RFC 5227, 2.4 (b): the address is defended once per DEFEND_INTERVAL, or two hosts that defend the same one would
/// announce it in an endless loop.
bool LocalAddresses::claimed(const Gid& address, Time now) {
    auto& mine = *find(address);
    if (mine.is_virtual) {
        mine.yielded = true;
        mine.due = now + parameters_.yield_for;
        return false;
    }
    if (mine.tentative) lose(mine);
    mine.conflict = true;
    if (mine.lost || (mine.defended && now - *mine.defended < parameters_.defend_interval)) return false;
    mine.defended = now;
    return true;
}

void LocalAddresses::lose(Own& mine) {
    mine.conflict = mine.lost = true;
    mine.due.reset();
}

std::optional<Gid> LocalAddresses::conflict() const {
    const auto found = std::ranges::find_if(own_, &Own::conflict);
    return found != own_.end() ? std::optional(found->address.gid) : std::nullopt;
}

std::optional<bool> LocalAddresses::take_conflict(const Gid& address) {
    auto* const mine = find(address);
    if (mine == nullptr || !mine->conflict || std::exchange(mine->reported, true)) return std::nullopt;
    return mine->lost;
}

std::optional<bool> LocalAddresses::take_yielded(const Gid& address) {
    auto* const mine = find(address);
    if (mine == nullptr || std::exchange(mine->said_yielded, mine->yielded) == mine->yielded) return std::nullopt;
    return mine->yielded;
}

bool LocalAddresses::answers_for(const Gid& address) const {
    const auto* mine = find(address);
    return mine != nullptr && usable(*mine);
}

bool LocalAddresses::on_link(const Gid& address) const {
    return std::ranges::any_of(own_, [&](const Own& mine) { return link::contains(mine.address, address); });
}

std::optional<Gid> LocalAddresses::source_for(const Gid& address) const {
    std::optional<Gid> other;
    bool awaited = false;
    for (const auto& mine : own_) {
        if (mine.lost || mine.yielded) continue;
        const bool same_network = link::contains(mine.address, address);
        if (!usable(mine)) {
            awaited |= same_network;
            continue;
        }
        if (same_network) return mine.address.gid;
        if (!other && family_of(mine.address.gid) == family_of(address)) other = mine.address.gid;
    }
    return awaited ? std::nullopt : other;
}

bool LocalAddresses::awaits_source_for(const Gid& address) const {
    return std::ranges::any_of(
        own_, [&](const Own& mine) { return mine.tentative && !mine.lost && link::contains(mine.address, address); });
}

const LocalAddresses::Own* LocalAddresses::find(const Gid& address) const {
    const auto found = std::ranges::find_if(own_, [&](const Own& mine) { return mine.address.gid == address; });
    return found != own_.end() ? &*found : nullptr;
}
LocalAddresses::Own* LocalAddresses::find(const Gid& address) {
    return const_cast<Own*>(std::as_const(*this).find(address));
}

}  // namespace verbline::neighbour
