// SPDX-License-Identifier: BSD-3-Clause
#include "control/host/arp.h"

#include <algorithm>

namespace verbline::host {

using wire::ArpOperation;
using wire::Ipv4Address;

namespace {

/// Whether `ip` can be a single host's: not this network, loopback, a group, or reserved and broadcast (RFC
/// 1122, 3.2.1.3).
bool is_host(Ipv4Address ip) {
    const auto first = static_cast<std::uint32_t>(ip) >> 24;
    return first != 0 && first != 127 && first < 224;
}

bool is_known(ArpOperation operation) {
    return operation == ArpOperation::request || operation == ArpOperation::reply;
}

}  // namespace

Arp::Arp(const HardwareAddress& own, const ArpTiming& timing, const ArpLimits& limits)
    : own_(own),
      timing_(timing),
      limits_(limits),
      answers_(limits.answers_per_second, limits.burst),
      broadcasts_(limits.broadcasts_per_second, limits.burst) {}

Arp::Actions Arp::set_addresses(std::vector<wire::Ipv4Prefix> addresses) {
    Actions out;
    addresses_ = std::move(addresses);
    for (const auto& own : addresses_) {
        if (const auto known = table_.find(own.address); known != table_.end()) drop(known, out);
    }
    return out;
}

Arp::Actions Arp::resolve(Ipv4Address ip, Time now) {
    Actions out;
    auto known = table_.find(ip);
    if (known == table_.end()) {
        if (!is_host(ip) || is_own(ip) || addresses_.empty()) {
            counters_.arp_failed_no_source.add();
            return {Failed{ip}};
        }
        make_room(true, out);
        known = insert(ip, now);
        known->second.asked = true;
        ask(known, now, out);
        return out;
    }
    auto& entry = known->second;
    if (entry.phase == Phase::incomplete) return out;
    out.push_back(Resolved{ip, entry.link});
    if (!entry.asked) {
        entry.asked = true;
        schedule(known, now + timing_.delay);
    }
    return out;
}

Arp::Actions Arp::received(wire::Bytes packet, Time now) {
    Actions out;
    const auto message = ArpMessage::parse(packet, own_);
    if (!message || !is_neighbour_address(message->sender_link) || !is_known(message->operation)) {
        counters_.arp_rx_dropped_malformed.add();
    } else if (message->sender_link == own_) {
        counters_.arp_rx_dropped_own.add();
    } else if (is_own(message->sender)) {
        counters_.arp_rx_dropped_conflict.add();
        defend(now, out);
    } else if (message->operation == ArpOperation::request) {
        hear_request(*message, now, out);
    } else {
        hear_reply(*message, now, out);
    }
    return out;
}

void Arp::hear_request(const ArpMessage& message, Time now, Actions& out) {
    counters_.arp_rx_requests.add();
    const bool for_us = is_own(message.target);
    if (for_us) answer(message, now, out);

    auto known = table_.find(message.sender);
    if (known == table_.end()) {
        if (!for_us) return counters_.arp_rx_dropped_not_ours.add();
        // A sender of 0.0.0.0 only wants to know whether the address is taken (RFC 5227, 2.1.1).
        if (!is_host(message.sender) || !on_link(message.sender)) return;
        if (!make_room(false, out)) return counters_.arp_rx_not_learned.add();
        known = insert(message.sender, now);
    }
    confirm(known, message.sender_link, false, now, out);
}

void Arp::hear_reply(const ArpMessage& message, Time now, Actions& out) {
    counters_.arp_rx_replies.add();
    const auto known = table_.find(message.sender);
    if (known == table_.end()) return counters_.arp_rx_dropped_unsolicited.add();
    const bool awaited = known->second.tries > 0 && is_own(message.target);
    confirm(known, message.sender_link, awaited, now, out);
}

/// A message names `link` as the neighbour's address: as an answer to our request (`solicited`), or not.
void Arp::confirm(Known known, const HardwareAddress& link, bool solicited, Time now, Actions& out) {
    auto& [ip, entry] = *known;
    const bool first = entry.phase == Phase::incomplete;
    const bool changed = first || entry.link != link;
    if (changed) {
        if (!first) counters_.arp_changed.add();
        entry.link = link;
        if (entry.asked) out.push_back(Resolved{ip, link});
    }
    if (solicited) {
        entry.phase = Phase::reachable;
        entry.tries = 0;
        entry.since = now;
        schedule(known, now + timing_.reachable);
    } else if (changed) {
        entry.phase = Phase::stale;
        entry.tries = 0;
        schedule(known, now + (entry.asked ? timing_.delay : timing_.learned));
    } else if (!entry.asked) {
        schedule(known, now + timing_.learned);
    }
}

void Arp::answer(const ArpMessage& request, Time now, Actions& out) {
    if (!answers_.take(now)) return counters_.arp_tx_dropped_rate.add();
    counters_.arp_tx_replies.add();
    out.push_back(SendArp{{.operation = ArpOperation::reply,
                           .sender_link = own_,
                           .sender = request.target,
                           .target_link = request.sender_link,
                           .target = request.sender},
                          request.sender_link});
}

/// Sends a request, broadcast or to the neighbour, and arms its timeout.
void Arp::ask(Known known, Time now, Actions& out) {
    auto& [ip, entry] = *known;
    ++entry.tries;
    schedule(known, now + (entry.tries == 1 ? timing_.first_retry : timing_.retry));
    const auto source = source_for(ip);
    if (!source) return;
    const bool unicast = entry.phase == Phase::probe_unicast;
    if (!unicast && !broadcasts_.take(now)) return counters_.arp_tx_dropped_rate.add();
    (unicast ? counters_.arp_tx_probes : counters_.arp_tx_broadcasts).add();
    out.push_back(SendArp{{.operation = ArpOperation::request,
                           .sender_link = own_,
                           .sender = *source,
                           .target_link = unicast ? entry.link : unknown_like(own_),
                           .target = ip},
                          unicast ? std::optional(entry.link) : std::nullopt});
}

void Arp::probe(Known known, Phase phase, Time now, Actions& out) {
    known->second.phase = phase;
    known->second.tries = 0;
    ask(known, now, out);
}

/// An entry's timer has expired.
void Arp::expire(Known known, Time now, Actions& out) {
    auto& [ip, entry] = *known;
    switch (entry.phase) {
        case Phase::incomplete:
            if (entry.tries < timing_.broadcast_tries) return ask(known, now, out);
            counters_.arp_failed.add();
            return drop(known, out);
        case Phase::stale:
            if (!entry.asked) return drop(known, out);
            [[fallthrough]];
        case Phase::reachable: return probe(known, Phase::probe_unicast, now, out);
        case Phase::probe_unicast:
            if (entry.tries < timing_.unicast_tries) return ask(known, now, out);
            // No answer to unicast: the neighbour may have another link-layer address.
            return probe(known, Phase::probe_broadcast, now, out);
        case Phase::probe_broadcast:
            if (entry.tries < timing_.broadcast_tries) return ask(known, now, out);
            counters_.arp_removed.add();
            return drop(known, out);
    }
}

Arp::Actions Arp::tick(Time now) {
    Actions out;
    if (announcements_left_ > 0 && announce_due_ <= now) {
        --announcements_left_;
        announce_due_ = now + timing_.announce_interval;
        announce_once(now, out);
    }
    while (!agenda_.empty() && agenda_.begin()->first <= now) expire(table_.find(agenda_.begin()->second), now, out);
    return out;
}

std::optional<Time> Arp::deadline() const {
    std::optional<Time> due;
    if (!agenda_.empty()) due = agenda_.begin()->first;
    if (announcements_left_ > 0) due = std::min(due.value_or(announce_due_), announce_due_);
    return due;
}

Arp::Actions Arp::announce(Time now) {
    announcements_left_ = timing_.announcements;
    announce_due_ = now;
    return tick(now);
}

/// RFC 5227, 2.4 (b): say once that the address is ours, and not again for a while, or two hosts would shout for ever.
void Arp::defend(Time now, Actions& out) {
    if (defended_ && now - *defended_ < timing_.defend_interval) return;
    defended_ = now;
    announce_once(now, out);
}

void Arp::announce_once(Time now, Actions& out) {
    for (const auto& own : addresses_) {
        if (!broadcasts_.take(now)) return counters_.arp_tx_dropped_rate.add();
        counters_.arp_tx_announcements.add();
        out.push_back(SendArp{{.operation = ArpOperation::request,
                               .sender_link = own_,
                               .sender = own.address,
                               .target_link = unknown_like(own_),
                               .target = own.address},
                              std::nullopt});
    }
}

Arp::Actions Arp::clear() {
    Actions out;
    while (!table_.empty()) drop(table_.begin(), out);
    announcements_left_ = 0;
    return out;
}

std::vector<Arp::Neighbour> Arp::neighbours(Time now) const {
    constexpr State shown[] = {State::incomplete, State::reachable, State::stale, State::probe, State::probe};
    std::vector<Neighbour> out;
    out.reserve(table_.size());
    for (const auto& [ip, entry] : table_) {
        out.push_back({ip, entry.link, shown[static_cast<std::size_t>(entry.phase)], now - entry.since});
    }
    return out;
}

Arp::Known Arp::insert(Ipv4Address ip, Time now) {
    const auto known = table_.emplace(ip, Entry{.link = unknown_like(own_), .due = now, .since = now}).first;
    auto& order = order_[static_cast<std::size_t>(Value::learned)];
    known->second.place = order.insert(order.end(), ip);
    agenda_.emplace(now, ip);
    return known;
}

void Arp::erase(Known known) {
    const auto& [ip, entry] = *known;
    agenda_.erase({entry.due, ip});
    order_[static_cast<std::size_t>(entry.value)].erase(entry.place);
    table_.erase(known);
}

/// Removes a neighbour, and notifies the datapath if it asked for it.
void Arp::drop(Known known, Actions& out) {
    const auto& [ip, entry] = *known;
    if (entry.phase == Phase::incomplete) {
        out.push_back(Failed{ip});
    } else if (entry.asked) {
        out.push_back(Removed{ip});
    }
    erase(known);
}

/// Evicts the least valuable entry if the table is full; for an entry that the datapath did not ask for, only another
/// such.
bool Arp::make_room(bool asked, Actions& out) {
    if (table_.size() < limits_.neighbours) return true;
    for (auto& order : order_) {
        if (!order.empty()) {
            counters_.arp_evicted.add();
            drop(table_.find(order.front()), out);
            return true;
        }
        if (!asked) break;
    }
    return false;
}

/// Moves a changed entry to the end of the list of its value.
void Arp::appraise(Known known) {
    auto& entry = known->second;
    auto& from = order_[static_cast<std::size_t>(entry.value)];
    const bool incomplete = entry.phase == Phase::incomplete;
    entry.value = !entry.asked ? Value::learned : incomplete ? Value::incomplete : Value::in_use;
    auto& to = order_[static_cast<std::size_t>(entry.value)];
    to.splice(to.end(), from, entry.place);
}

void Arp::schedule(Known known, Time due) {
    auto& [ip, entry] = *known;
    agenda_.erase({entry.due, ip});
    entry.due = due;
    agenda_.emplace(due, ip);
    appraise(known);
}

bool Arp::is_own(Ipv4Address ip) const {
    return std::ranges::any_of(addresses_, [&](const wire::Ipv4Prefix& own) { return own.address == ip; });
}

bool Arp::on_link(Ipv4Address ip) const {
    return std::ranges::any_of(addresses_, [&](const wire::Ipv4Prefix& own) { return own.contains(ip); });
}

/// The address of ours from which to ask for `ip`: one of its own subnet, if there is one.
std::optional<Ipv4Address> Arp::source_for(Ipv4Address ip) const {
    if (addresses_.empty()) return std::nullopt;
    const auto same_subnet =
        std::ranges::find_if(addresses_, [&](const wire::Ipv4Prefix& own) { return own.contains(ip); });
    return same_subnet != addresses_.end() ? same_subnet->address : addresses_.front().address;
}

std::string_view to_string(Arp::State state) {
    constexpr std::string_view names[] = {"INCOMPLETE", "REACHABLE", "STALE", "PROBE"};
    return names[static_cast<std::size_t>(state)];
}

}  // namespace verbline::host
