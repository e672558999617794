// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/neighbour/neighbours.h"

#include <algorithm>
#include <utility>

#include "datapath/link/gid_table.h"
#include "datapath/link/ip_gid.h"

namespace verbline::neighbour {
namespace {

using wire::Gid;
using wire::MacAddress;

bool same_network(const Address& own, const Gid& gid) {
    if (family_of(own.gid) != family_of(gid)) return false;
    unsigned bits = own.length + (family_of(gid) == Family::ipv4 ? 8u * link::ipv4_in_gid : 0u);
    for (std::size_t i = 0; i < gid.bytes.size() && bits > 0; ++i) {
        const auto here = std::min(bits, 8u);
        const auto differing = std::to_integer<unsigned>(own.gid.bytes[i] ^ gid.bytes[i]);
        if (differing >> (8 - here) != 0) return false;
        bits -= here;
    }
    return true;
}

}  // namespace

std::optional<MacAddress> mac_in(const Gid& gid) {
    constexpr std::size_t interface_id = 8, half = 3;
    MacAddress mac;
    std::copy_n(gid.bytes.begin() + interface_id, half, mac.bytes.begin());
    std::copy_n(gid.bytes.begin() + interface_id + 5, half, mac.bytes.begin() + half);
    mac.bytes[0] ^= std::byte{2};
    if (!is_host(mac) || link::link_local_gid(mac) != gid) return std::nullopt;
    return mac;
}

Neighbours::Neighbours(const MacAddress& mac, const Timing& timing, std::size_t capacity)
    : mac_(mac),
      timing_(timing),
      capacity_(capacity),
      // Derived from a unique MAC address, so it is not probed for.
      own_{{.address = {link::link_local_gid(mac), 64}, .due = std::nullopt}} {}

void Neighbours::set_addresses(const std::vector<Address>& addresses, Time now) {
    std::vector<Own> next{own_.front()};
    for (const auto& address : addresses) {
        const auto same = [&](const Own& mine) { return mine.address.gid == address.gid; };
        if (!is_host(address.gid) || std::ranges::any_of(next, same)) continue;
        const auto* known = own(address.gid);
        next.push_back(known != nullptr ? *known : Own{.address = address, .due = now});
        next.back().address = address;
        table_.erase(address.gid);
    }
    own_ = std::move(next);
}

Neighbours::Outcome Neighbours::received(wire::Bytes frame, Time now) {
    const auto [kind, message] = read_message(frame);
    if (kind == FrameKind::other) return {};
    if (kind == FrameKind::malformed) {
        counters_.neighbour_rx_dropped_malformed.add();
        return {.taken = true};
    }
    if (message.sender == mac_ || message.at == mac_) return {.taken = true};  // our own, come back
    (message.asks ? counters_.neighbour_rx_requests : counters_.neighbour_rx_replies).add();

    if (auto* claimed = message.speaker ? own(*message.speaker) : nullptr) {
        counters_.neighbour_rx_dropped_conflict.add();
        return {true, defend(*claimed, now)};
    }
    auto* const asked = message.asks ? own(message.subject) : nullptr;
    if (message.speaker) hear(message, asked != nullptr && on_link(*message.speaker), now);
    if (asked == nullptr) return {.taken = true};
    // Two that probe for one address at the same time: neither may have it (RFC 5227, 2.1.1; RFC 4862, 5.4.3).
    if (!message.speaker && !asked->established()) lose(*asked);
    if (asked->lost) return {.taken = true};
    counters_.neighbour_tx_replies.add();
    return {true, make_reply(mac_, asked->address.gid, message.speaker, message.at.value_or(message.sender))};
}

void Neighbours::lose(Own& mine) {
    mine.conflict = mine.lost = true;
    mine.due.reset();
}

/// Another host claims a local address. If ours is established it is kept, and defended by an announcement at a limited
/// rate.
std::optional<Frame> Neighbours::defend(Own& mine, Time now) {
    if (!mine.established()) lose(mine);
    mine.conflict = true;
    if (mine.lost || (mine.defended && now - *mine.defended < timing_.defend_interval)) return std::nullopt;
    mine.defended = now;
    counters_.neighbour_tx_announcements.add();
    return make_announcement(mac_, mine.address.gid);
}

void Neighbours::hear(const Message& message, bool create, Time now) {
    auto known = table_.find(*message.speaker);
    if (known == table_.end()) {
        if (!create) return message.asks ? void() : counters_.neighbour_rx_dropped_unknown.add();
        if (!message.at && message.sender.multicast()) return;
        if (!make_room(false)) return counters_.neighbour_rx_not_learned.add();
        known = table_.try_emplace(*message.speaker).first;
    }
    auto& entry = known->second;
    // A solicitation sent to us alone may leave its option out; the frame says where it came from.
    const auto mac = message.at ? message.at : message.asks ? std::optional(message.sender) : entry.mac;
    if (!mac) return;
    if (entry.mac && entry.mac != mac) {
        if (!message.overrides) return;
        counters_.neighbour_changed.add();
    }
    entry.mac = mac;
    entry.heard = now;
}

bool Neighbours::make_room(bool asked) {
    if (table_.size() < capacity_) return true;
    const auto rank = [](const auto& one) { return std::pair(one.second.asked, one.second.heard); };
    const auto victim = std::ranges::min_element(table_, {}, rank);
    if (!asked && victim->second.asked) return false;
    counters_.neighbour_evicted.add();
    table_.erase(victim);
    return true;
}

std::optional<MacAddress> Neighbours::lookup(const Gid& gid, Time now) const {
    if (owns(gid)) return mac_;
    const auto known = table_.find(gid);
    if (known != table_.end() && known->second.mac && now - known->second.heard < timing_.lifetime) {
        return known->second.mac;
    }
    return mac_in(gid);
}

std::optional<Frame> Neighbours::solicit(const Gid& gid, Time now) {
    const auto source = source_for(gid);
    if (!is_host(gid) || owns(gid) || !source) return std::nullopt;
    if (!table_.contains(gid)) {
        make_room(true);
        table_[gid].heard = now;
    }
    table_[gid].asked = true;
    counters_.neighbour_tx_requests.add();
    return make_request(mac_, *source, gid);
}

std::optional<Frame> Neighbours::due(Time now) {
    for (auto& mine : own_) {
        if (!mine.due || *mine.due > now) continue;
        const bool probe = mine.sent++ == 0;
        mine.due = now + (probe ? timing_.probe_wait : timing_.announce_interval);
        if (mine.sent > timing_.announcements) mine.due.reset();
        counters_.neighbour_tx_announcements.add();
        return probe ? make_request(mac_, std::nullopt, mine.address.gid) : make_announcement(mac_, mine.address.gid);
    }
    return std::nullopt;
}

std::optional<Time> Neighbours::deadline() const {
    std::optional<Time> first;
    for (const auto& mine : own_) {
        if (mine.due && (!first || *mine.due < *first)) first = mine.due;
    }
    return first;
}

std::optional<Gid> Neighbours::conflict() const {
    const auto found = std::ranges::find_if(own_, &Own::conflict);
    return found != own_.end() ? std::optional(found->address.gid) : std::nullopt;
}

const Neighbours::Own* Neighbours::own(const Gid& gid) const {
    const auto found = std::ranges::find_if(own_, [&](const Own& mine) { return mine.address.gid == gid; });
    return found != own_.end() ? &*found : nullptr;
}
Neighbours::Own* Neighbours::own(const Gid& gid) {
    return const_cast<Own*>(std::as_const(*this).own(gid));
}

bool Neighbours::on_link(const Gid& gid) const {
    return std::ranges::any_of(own_, [&](const Own& mine) { return same_network(mine.address, gid); });
}

/// The address in whose network it is, or else any of its family.
std::optional<Gid> Neighbours::source_for(const Gid& gid) const {
    std::optional<Gid> other;
    for (const auto& mine : own_) {
        if (mine.lost) continue;
        if (same_network(mine.address, gid)) return mine.address.gid;
        if (family_of(mine.address.gid) == family_of(gid)) other = mine.address.gid;
    }
    return other;
}

}  // namespace verbline::neighbour
