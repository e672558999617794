// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/neighbour/cache.h"

namespace verbline::neighbour {

using wire::Gid;

void Cache::resolve(const Gid& address, Time now, Actions& out) {
    auto known = table_.find(address);
    if (known == table_.end()) {
        make_room(true, out);
        known = insert(address, now);
        known->second.requested = true;
        return solicit(known, now, out);
    }
    auto& entry = known->second;
    if (entry.link) out.emplace_back(Resolved{address, *entry.link});
    const bool first = !std::exchange(entry.requested, true);
    if (parameters_.use == Use::on_demand && entry.state == NeighbourState::stale) {
        probe(known, false, now, out);
    } else if (first) {
        doubt(known, now);
    }
}

void Cache::verify(const Gid& address, Time now, Actions& out) {
    const auto known = table_.find(address);
    if (known == table_.end() || !known->second.link) return resolve(address, now, out);
    auto& entry = known->second;
    entry.requested = entry.verify = true;
    if (entry.state != NeighbourState::probe) probe(known, false, now, out);
}

/// RFC 4861, 7.2.3 and 7.2.5. A message is an answer only if a solicitation of ours is pending.
void Cache::update(const Gid& address, const Advertisement& advertisement, Time now, Actions& out) {
    const auto known = table_.find(address);
    auto& entry = known->second;
    const auto link = advertisement.link ? advertisement.link : entry.link;
    if (!link) return counters_.add(address, Event::rx_dropped_no_link_address);
    const bool changed = entry.link != link;
    if (changed && entry.link && !advertisement.overrides) {
        if (entry.state == NeighbourState::reachable) doubt(known, now);
        return;
    }
    entry.last_message = now;
    const bool answered = advertisement.solicited && entry.tries > 0;
    if (changed) {
        if (entry.link) counters_.add(address, Event::changed);
        entry.link = link;
    }
    const bool verified = answered && std::exchange(entry.verify, false);
    if (verified || (changed && entry.requested)) out.emplace_back(Resolved{address, *link});
    if (changed || answered) set_tries(entry, 0);
    if (answered) {
        entry.state = NeighbourState::reachable;
        entry.since = now;
        schedule(known, now + parameters_.reachable);
    } else if (changed || entry.state == NeighbourState::stale) {
        doubt(known, now);
    }
}

void Cache::learn(const Gid& address, const LinkAddress& link, Time now, Actions& out) {
    if (!make_room(false, out)) return counters_.add(address, Event::rx_not_learned);
    const auto known = insert(address, now);
    known->second.link = link;
    doubt(known, now);
}

/// Reachability is not verified, or no longer: DELAY for a maintained entry, else STALE.
void Cache::doubt(Known known, Time now) {
    auto& entry = known->second;
    entry.state = maintained(entry) ? NeighbourState::delay : NeighbourState::stale;
    schedule(known, maintained(entry) ? now + parameters_.delay : entry.last_message + parameters_.forget);
}

/// Sends a solicitation, and arms its timeout.
void Cache::solicit(Known known, Time now, Actions& out) {
    auto& [address, entry] = *known;
    set_tries(entry, entry.tries + 1);
    schedule(known, now + (entry.tries == 1 ? parameters_.first_retry : parameters_.retry));
    const bool unicast = entry.state == NeighbourState::probe && !entry.multicast;
    out.emplace_back(Solicit{address, unicast ? entry.link : std::nullopt});
}

void Cache::probe(Known known, bool multicast, Time now, Actions& out) {
    auto& entry = known->second;
    entry.state = NeighbourState::probe;
    entry.multicast = multicast;
    set_tries(entry, 0);
    solicit(known, now, out);
}

/// An entry's timer has expired.
void Cache::expire(Known known, Time now, Actions& out) {
    auto& [address, entry] = *known;
    switch (entry.state) {
        case NeighbourState::incomplete:
            if (entry.tries < parameters_.multicast_tries) return solicit(known, now, out);
            counters_.add(address, Event::failed);
            return drop(known, out);
        case NeighbourState::reachable:
            if (maintained(entry)) return probe(known, false, now, out);
            return doubt(known, now);
        case NeighbourState::stale: return drop(known, out);
        case NeighbourState::delay: return probe(known, false, now, out);
        case NeighbourState::probe:
            if (entry.tries < (entry.multicast ? parameters_.multicast_tries : parameters_.unicast_tries)) {
                return solicit(known, now, out);
            }
            // No answer to unicast: the neighbour may have another link-layer address.
            if (maintained(entry) && !entry.multicast) return probe(known, true, now, out);
            counters_.add(address, Event::removed);
            return drop(known, out);
    }
}

void Cache::tick(Time now, Actions& out) {
    while (!agenda_.empty() && agenda_.begin()->first <= now) expire(table_.find(agenda_.begin()->second), now, out);
}

void Cache::remove(const Gid& address, Actions& out) {
    if (const auto known = table_.find(address); known != table_.end()) drop(known, out);
}

void Cache::clear(Actions& out) {
    while (!table_.empty()) drop(table_.begin(), out);
}

bool Cache::resolving(const Gid& address) const {
    const auto known = table_.find(address);
    return known != table_.end() && !known->second.link;
}

std::optional<Time> Cache::deadline() const {
    return agenda_.empty() ? std::nullopt : std::optional(agenda_.begin()->first);
}

std::optional<LinkAddress> Cache::find(const Gid& address, Time now) const {
    const auto known = table_.find(address);
    if (known == table_.end()) return std::nullopt;
    const auto& entry = known->second;
    return maintained(entry) || now - entry.last_message < parameters_.forget ? entry.link : std::nullopt;
}

std::vector<Neighbour> Cache::neighbours(Time now, const LinkAddress& unknown) const {
    std::vector<Neighbour> out;
    out.reserve(table_.size());
    for (const auto& [address, entry] : table_) {
        out.push_back({address, entry.link.value_or(unknown), entry.state, now - entry.since});
    }
    return out;
}

/// Allocates first, so that without memory nothing has changed.
Cache::Known Cache::insert(const Gid& address, Time now) {
    const auto due = now + parameters_.forget;
    Order place{address};
    Agenda timer{{due, address}};
    const auto known = table_.emplace(address, Entry{.due = due, .since = now, .last_message = now}).first;
    known->second.place = place.begin();
    auto& order = order_[static_cast<std::size_t>(Value::learned)];
    order.splice(order.end(), place);
    agenda_.merge(timer);
    return known;
}

/// Removes a neighbour: Failed if it was not resolved, Removed if it was and the caller had requested it.
void Cache::drop(Known known, Actions& out) {
    auto& [address, entry] = *known;
    set_tries(entry, 0);
    if (!entry.link) {
        out.emplace_back(Failed{address});
    } else if (entry.requested) {
        out.emplace_back(Removed{address});
    }
    agenda_.erase({entry.due, address});
    order_[static_cast<std::size_t>(entry.value)].erase(entry.place);
    table_.erase(known);
}

bool Cache::make_room(bool requested, Actions& out) {
    if (table_.size() < parameters_.capacity) return true;
    for (auto& order : order_) {
        if (!order.empty()) {
            counters_.add(order.front(), Event::evicted);
            drop(table_.find(order.front()), out);
            return true;
        }
        if (!requested) break;
    }
    return false;
}

/// Sets an entry's timer, and moves the entry to the end of the list of its value.
void Cache::schedule(Known known, Time due) {
    auto& [address, entry] = *known;
    auto timer = agenda_.extract({entry.due, address});
    timer.value().first = entry.due = due;
    agenda_.insert(std::move(timer));
    auto& from = order_[static_cast<std::size_t>(entry.value)];
    entry.value = !entry.requested ? Value::learned : !entry.link ? Value::incomplete : Value::requested;
    auto& to = order_[static_cast<std::size_t>(entry.value)];
    to.splice(to.end(), from, entry.place);
}

void Cache::set_tries(Entry& entry, unsigned tries) {
    if (entry.tries == 0 && tries != 0) ++soliciting_;
    if (entry.tries != 0 && tries == 0) --soliciting_;
    entry.tries = tries;
}

std::string_view to_string(NeighbourState state) {
    constexpr std::string_view names[] = {"INCOMPLETE", "REACHABLE", "STALE", "DELAY", "PROBE"};
    return names[static_cast<std::size_t>(state)];
}

}  // namespace verbline::neighbour
