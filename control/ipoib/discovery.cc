// SPDX-License-Identifier: BSD-3-Clause
#include "control/ipoib/discovery.h"

#include <algorithm>
#include <iterator>

#include "datapath/link/ip_gid.h"

namespace verbline::ipoib {
namespace {

using neighbour::FrameKind;
using wire::Gid;
using wire::IpoibAddress;

}  // namespace

IpoibDiscovery::IpoibDiscovery(const IpoibAddress& own, const IpoibDiscoveryTiming& timing, std::size_t capacity)
    : own_(own), timing_(timing), capacity_(capacity), answers_(timing.answers_per_second, timing.burst) {}

void IpoibDiscovery::set_addresses(const std::vector<link::InterfaceAddress>& addresses) {
    addresses_.clear();
    std::ranges::copy_if(addresses, std::back_inserter(addresses_),
                         [](const auto& address) { return !link::ipv4_of(address.gid); });
}

IpoibDiscovery::Actions IpoibDiscovery::resolve(const Gid& address, Time now) {
    Actions out;
    const auto known = table_.find(address);
    if (known == table_.end()) {
        if (!neighbour::is_host(address) || !source_for(address) || !make_room(true)) {
            counters_.nd_failed.add();
            out.emplace_back(Failed{address});
            return out;
        }
        ask(*table_.try_emplace(address).first, now, out);
        return out;
    }
    auto& entry = known->second;
    if (!entry.link) return out;  // asked for already
    out.emplace_back(Resolved{address, *entry.link});
    if (entry.state == State::stale) {
        entry.state = State::probe;
        entry.tries = 0;
        ask(*known, now, out);
    }
    return out;
}

IpoibDiscovery::Actions IpoibDiscovery::received(wire::Bytes packet, Time now) {
    Actions out;
    const auto [kind, message] = neighbour::read_discovery<IpoibAddress>(packet);
    if (kind == FrameKind::other) {
        counters_.nd_rx_dropped_type.add();
    } else if (kind == FrameKind::malformed) {
        counters_.nd_rx_dropped_malformed.add();
    } else if (message.at == own_) {
        counters_.nd_rx_dropped_own.add();
    } else if (message.speaker && owns(*message.speaker)) {
        counters_.nd_rx_dropped_conflict.add();
    } else if (message.asks) {
        hear_solicitation(message, now, out);
    } else {
        hear_advertisement(message, now, out);
    }
    return out;
}

void IpoibDiscovery::hear_solicitation(const Message& message, Time now, Actions& out) {
    counters_.nd_rx_solicitations.add();
    if (!owns(message.subject)) return counters_.nd_rx_dropped_not_ours.add();
    if (!message.speaker) return answer(message, std::nullopt, now, out);
    auto known = table_.find(*message.speaker);
    // A unicast solicitation may omit the source link-layer address (RFC 4861, 4.3): we know it already, or cannot
    // answer.
    auto to = message.at;
    if (!to && known != table_.end()) to = known->second.link;
    if (!to) return counters_.nd_rx_dropped_no_way.add();
    answer(message, to, now, out);
    if (known == table_.end()) {
        if (!make_room(false)) return counters_.nd_rx_not_learned.add();
        known = table_.try_emplace(*message.speaker).first;
    }
    confirm(*known, *to, false, now, out);
}

/// RFC 4861, 7.2.5.
void IpoibDiscovery::hear_advertisement(const Message& message, Time now, Actions& out) {
    counters_.nd_rx_advertisements.add();
    const auto known = table_.find(message.speaker.value_or(Gid{}));
    if (known == table_.end()) return counters_.nd_rx_dropped_unsolicited.add();
    auto& entry = known->second;
    const auto link = message.at ? message.at : entry.link;
    if (!link) return counters_.nd_rx_dropped_no_way.add();
    if (entry.link && entry.link != link && !message.overrides) {
        if (entry.state == State::reachable) entry.state = State::stale;
        return;
    }
    confirm(*known, *link, message.solicited, now, out);
}

/// A message names `link` as the neighbour's address: as an answer to our solicitation (`solicited`), or not.
void IpoibDiscovery::confirm(Table::value_type& known, const IpoibAddress& link, bool solicited, Time now,
                             Actions& out) {
    auto& [address, entry] = known;
    const bool first = !entry.link;
    const bool changed = first || *entry.link != link;
    if (changed) {
        if (!first) counters_.nd_changed.add();
        entry.link = link;
        out.emplace_back(Resolved{address, link});
    }
    if (!solicited && !changed) return;
    entry.state = solicited ? State::reachable : State::stale;
    entry.tries = 0;
    entry.due = now + timing_.reachable;
}

/// An entry's timer has expired. False: remove it.
bool IpoibDiscovery::expire(Table::value_type& known, Time now, Actions& out) {
    auto& [address, entry] = known;
    switch (entry.state) {
        case State::incomplete:
            if (entry.tries < timing_.tries) return ask(known, now, out), true;
            counters_.nd_failed.add();
            out.emplace_back(Failed{address});
            return false;
        case State::reachable:
            entry.state = State::stale;
            entry.due = now + timing_.reachable;
            return true;
        case State::stale: return false;
        case State::probe:
            if (entry.tries < timing_.tries) return ask(known, now, out), true;
            counters_.nd_removed.add();
            return false;
    }
    return false;
}

void IpoibDiscovery::announce(Time now) {
    announcements_left_ = timing_.announcements;
    announce_due_ = now;
}

IpoibDiscovery::Actions IpoibDiscovery::tick(Time now) {
    Actions out;
    if (announcements_left_ > 0 && announce_due_ <= now) {
        --announcements_left_;
        announce_due_ = now + timing_.announce_interval;
        announce_once(out);
    }
    for (auto each = table_.begin(); each != table_.end();) {
        const bool stays = each->second.due > now || expire(*each, now, out);
        each = stays ? std::next(each) : table_.erase(each);
    }
    return out;
}

std::optional<Time> IpoibDiscovery::deadline() const {
    std::optional<Time> first;
    if (announcements_left_ > 0) first = announce_due_;
    for (const auto& [address, entry] : table_) first = first ? std::min(*first, entry.due) : entry.due;
    return first;
}

std::vector<Gid> IpoibDiscovery::groups() const {
    std::vector<Gid> groups{neighbour::all_nodes};
    for (const auto& [address, length] : addresses_) {
        const auto group = neighbour::solicited_node(address);
        if (std::ranges::find(groups, group) == groups.end()) groups.push_back(group);
    }
    return groups;
}

bool IpoibDiscovery::owns(const Gid& address) const {
    return std::ranges::find(addresses_, address, &link::InterfaceAddress::gid) != addresses_.end();
}

/// Evicts an entry if the table is full: for `asked` any but an incomplete one, else only a stale one.
bool IpoibDiscovery::make_room(bool asked) {
    if (table_.size() < capacity_) return true;
    const auto rank = [](const auto& one) { return std::pair(one.second.state != State::stale, one.second.due); };
    const auto victim = std::ranges::min_element(table_, {}, rank);
    const auto state = victim->second.state;
    if (state == State::incomplete || (!asked && state != State::stale)) return false;
    counters_.nd_evicted.add();
    table_.erase(victim);
    return true;
}

}  // namespace verbline::ipoib
