// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/neighbour/resolver.h"

#include <algorithm>
#include <type_traits>

namespace verbline::neighbour {

using wire::Gid;

Resolver::Resolver(const LinkAddress& own, const Parameters& parameters)
    : own_(own),
      parameters_(parameters),
      answers_(parameters.answers_per_second, parameters.burst),
      multicasts_(parameters.multicasts_per_second, parameters.burst) {}

Actions Resolver::set_addresses(const std::vector<link::InterfaceAddress>& addresses, Time now,
                                const std::vector<Gid>& certain) {
    addresses_.set(addresses, own_, now, certain);
    Cache::Actions removed;
    for (const auto& own : addresses) cache_.remove(own.gid, removed);
    Actions out;
    play(removed, now, out);
    return out;
}

Actions Resolver::resolve(const Gid& address, Time now) {
    if (!is_host(address) || addresses_.owns(address) ||
        (!cache_.contains(address) && !addresses_.awaits_source_for(address) && !addresses_.source_for(address))) {
        counters_.add(address, Event::failed_no_source);
        return {Failed{address}};
    }
    Cache::Actions actions;
    cache_.resolve(address, now, actions);
    Actions out;
    play(actions, now, out);
    return out;
}

Actions Resolver::verify(const Gid& address, Time now) {
    Cache::Actions actions;
    cache_.verify(address, now, actions);
    Actions out;
    play(actions, now, out);
    return out;
}

bool Resolver::is_own(const Message& message) const {
    return message.at == own_ || message.frame_source == own_ || (message.source && addresses_.owns(*message.source));
}

/// The host's own answer would count more than ours, and whether it is a router is not for us to say.
Actions Resolver::answer_for_other(const Message& request, Time now) {
    Actions out;
    auto to = request.at ? request.at : request.frame_source;
    if (!to && request.source) to = cache_.find(*request.source, now);
    if (!to && request.source) {
        counters_.add(request.subject, Event::rx_dropped_no_link_address);
        return out;
    }
    auto message = reply(own_, request.subject, request.source);
    message.overrides = false;
    send_answer(request, message, to, now, out);
    return out;
}

Actions Resolver::received(const Read& read, Time now) {
    const auto& message = read.message;
    Actions out;
    Cache::Actions changes;
    if (read.kind != Kind::resolution) {
        counters_.add(read.family, Event::rx_dropped_malformed);
    } else if (message.at == own_ || message.frame_source == own_) {
        counters_.add(read.family, Event::rx_dropped_own);
    } else if (message.source && addresses_.owns(*message.source)) {
        counters_.add(read.family, Event::rx_dropped_conflict);
        if (addresses_.claimed(*message.source, now)) announce_once({*message.source}, now, out);
        report_conflict(*message.source, message, out);
    } else if (message.solicits) {
        handle_request(message, now, changes, out);
    } else {
        handle_reply(message, now, changes);
    }
    play(changes, now, out);
    return out;
}

void Resolver::handle_request(const Message& message, Time now, Cache::Actions& changes, Actions& out) {
    counters_.add(message.subject, Event::rx_requests);
    const bool for_us = addresses_.owns(message.subject);
    if (!message.source) {
        if (is_own_probe(message)) return counters_.add(message.subject, Event::rx_dropped_own);
        if (!for_us) return counters_.add(message.subject, Event::rx_dropped_not_ours);
        const auto to = message.at ? message.at : message.frame_source;
        if (addresses_.probed(message.subject)) answer(message, to, now, out);
        return report_conflict(message.subject, message, out);
    }
    const auto& source = *message.source;
    const bool known = cache_.contains(source);
    if (!for_us && !known) return counters_.add(source, Event::rx_dropped_not_ours);
    // A unicast solicitation may omit its option (RFC 4861, 4.3): the link-layer address is then that of the frame, or
    // the one in the cache.
    auto link = message.at ? message.at : message.frame_source;
    if (!link) link = cache_.find(source, now);
    if (!link) return counters_.add(source, Event::rx_dropped_no_link_address);
    if (addresses_.answers_for(message.subject)) answer(message, link, now, out);
    if (known) {
        cache_.update(source, {.link = link}, now, changes);
    } else if (addresses_.on_link(source)) {
        cache_.learn(source, *link, now, changes);
    }
}

void Resolver::handle_reply(const Message& message, Time now, Cache::Actions& changes) {
    const auto& source = *message.source;
    counters_.add(source, Event::rx_replies);
    if (!cache_.contains(source)) return counters_.add(source, Event::rx_dropped_unsolicited);
    const bool to_us = message.solicited && addresses_.owns(message.subject);
    cache_.update(source, {.link = message.at, .solicited = to_us, .overrides = message.overrides}, now, changes);
}

void Resolver::report_conflict(const Gid& address, const Message& message, Actions& out) {
    const auto lost = addresses_.take_conflict(address);
    const auto by = message.at ? message.at : message.frame_source;
    if (lost) out.emplace_back(Conflict{address, by, *lost});
    report_yielded(address, by, out);
}

void Resolver::report_yielded(const Gid& address, const std::optional<LinkAddress>& to, Actions& out) {
    if (const auto yielded = addresses_.take_yielded(address)) out.emplace_back(Yielded{address, !*yielded, to});
}

/// A probe of ND, whose sender has no address yet, is answered to all (RFC 4861, 7.2.4); one of ARP to its sender.
void Resolver::answer(const Message& request, const std::optional<LinkAddress>& to, Time now, Actions& out) {
    auto message = reply(own_, request.subject, request.source);
    message.router = parameters_.router;
    send_answer(request, message, to, now, out);
}

void Resolver::send_answer(const Message& request, const Message& answer, const std::optional<LinkAddress>& to,
                           Time now, Actions& out) {
    if (!answers_.take(now)) return counters_.add(request.subject, Event::tx_dropped_rate);
    counters_.add(request.subject, Event::tx_replies);
    const bool to_all = !request.source && family_of(request.subject) == Family::ipv6;
    out.emplace_back(Send{answer, to_all ? std::nullopt : to});
}

void Resolver::solicit(const Cache::Solicit& solicit, Time now, Actions& out) {
    const auto& [address, to] = solicit;
    const auto source = addresses_.source_for(address);
    if (!source) return;
    if (!to && !multicasts_.take(now)) return counters_.add(address, Event::tx_dropped_rate);
    counters_.add(address, to ? Event::tx_probes : Event::tx_multicasts);
    out.emplace_back(Send{request(own_, source, address), to});
}

void Resolver::announce_once(const LocalAddresses::Due& due, Time now, Actions& out) {
    if (!multicasts_.take(now)) return counters_.add(due.address, Event::tx_dropped_rate);
    counters_.add(due.address, Event::tx_announcements);
    auto message = due.probe ? request(own_, std::nullopt, due.address) : announcement(own_, due.address);
    message.router = !due.probe && parameters_.router;
    if (due.probe && parameters_.nonces != 0 && family_of(due.address) == Family::ipv6) message.nonce = next_nonce();
    out.emplace_back(Send{message, std::nullopt});
}

/// Of six bytes, and not zero: the numbers of a generator (SplitMix64), of which nobody else knows the seed.
std::uint64_t Resolver::next_nonce() {
    constexpr std::uint64_t step = 0x9e37'79b9'7f4a'7c15, six_bytes = 0xffff'ffff'ffff;
    auto value = parameters_.nonces + step * ++nonces_made_;
    value = (value ^ value >> 30) * 0xbf58'476d'1ce4'e5b9;
    value = (value ^ value >> 27) * 0x94d0'49bb'1331'11eb;
    const auto nonce = std::max<std::uint64_t>((value ^ value >> 31) & six_bytes, 1);
    last_nonces_[nonces_made_ % last_nonces_.size()] = nonce;
    return nonce;
}

/// A probe of ours that a loop of the link has brought back is no other host's (RFC 7527, 4.2).
bool Resolver::is_own_probe(const Message& message) const {
    return message.nonce != 0 && std::ranges::find(last_nonces_, message.nonce) != last_nonces_.end();
}

/// Turns the cache's output into actions.
void Resolver::play(const Cache::Actions& actions, Time now, Actions& out) {
    for (const auto& action : actions) {
        std::visit(
            [&]<class What>(const What& what) {
                if constexpr (std::is_same_v<What, Cache::Solicit>) {
                    solicit(what, now, out);
                } else {
                    out.emplace_back(what);
                }
            },
            action);
    }
}

Actions Resolver::announce(Time now) {
    addresses_.announce(now);
    return tick(now);
}

Actions Resolver::clear() {
    Cache::Actions cleared;
    cache_.clear(cleared);
    addresses_.stop_announcing();
    Actions out;
    play(cleared, 0, out);
    return out;
}

Actions Resolver::tick(Time now) {
    Actions out;
    while (const auto due = addresses_.due(now)) {
        announce_once(*due, now, out);
        report_yielded(due->address, std::nullopt, out);
    }
    Cache::Actions expired;
    cache_.tick(now, expired);
    play(expired, now, out);
    return out;
}

std::optional<Time> Resolver::deadline() const {
    const auto first = cache_.deadline(), other = addresses_.deadline();
    return first && other ? std::min(first, other) : first ? first : other;
}

}  // namespace verbline::neighbour
