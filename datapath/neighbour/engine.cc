// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/neighbour/engine.h"

#include <algorithm>
#include <type_traits>

namespace verbline::neighbour {

using wire::Gid;

Engine::Engine(const LinkAddress& own, const Parameters& parameters)
    : own_(own),
      parameters_(parameters),
      answers_(parameters.answers_per_second, parameters.burst),
      multicasts_(parameters.multicasts_per_second, parameters.burst) {}

Actions Engine::set_addresses(const std::vector<link::InterfaceAddress>& addresses, Time now) {
    addresses_.set(addresses, own_, now);
    Cache::Actions removed;
    for (const auto& own : addresses) cache_.remove(own.gid, removed);
    Actions out;
    play(removed, now, out);
    return out;
}

Actions Engine::resolve(const Gid& address, Time now) {
    if (!is_host(address) || addresses_.owns(address) ||
        (!cache_.contains(address) && !addresses_.source_for(address))) {
        counters_.add(address, Event::failed_no_source);
        return {Failed{address}};
    }
    Cache::Actions actions;
    cache_.resolve(address, now, actions);
    Actions out;
    play(actions, now, out);
    return out;
}

Actions Engine::received(const Read& read, Time now) {
    const auto& message = read.message;
    Actions out;
    Cache::Actions heard;
    if (read.kind != Kind::resolution) {
        counters_.add(read.family, Event::rx_dropped_malformed);
    } else if (message.at == own_ || message.sender == own_) {
        counters_.add(read.family, Event::rx_dropped_own);
    } else if (message.speaker && addresses_.owns(*message.speaker)) {
        counters_.add(read.family, Event::rx_dropped_conflict);
        if (addresses_.claimed(*message.speaker, now)) announce_once({*message.speaker}, now, out);
    } else if (message.asks) {
        hear_request(message, now, heard, out);
    } else {
        hear_statement(message, now, heard);
    }
    play(heard, now, out);
    return out;
}

void Engine::hear_request(const Message& message, Time now, Cache::Actions& heard, Actions& out) {
    counters_.add(message.subject, Event::rx_requests);
    const bool for_us = addresses_.owns(message.subject);
    if (!message.speaker) {
        if (!for_us) return counters_.add(message.subject, Event::rx_dropped_not_ours);
        const auto to = message.at ? message.at : message.sender;
        if (addresses_.probed(message.subject)) answer(message, to, now, out);
        return;
    }
    const auto& speaker = *message.speaker;
    const bool known = cache_.contains(speaker);
    if (!for_us && !known) return counters_.add(speaker, Event::rx_dropped_not_ours);
    // A unicast solicitation may omit its option (RFC 4861, 4.3): the link-layer address is then that of the frame, or
    // the one in the cache.
    auto link = message.at ? message.at : message.sender;
    if (!link) link = cache_.find(speaker, now);
    if (!link) return counters_.add(speaker, Event::rx_dropped_no_link_address);
    if (addresses_.answers_for(message.subject)) answer(message, link, now, out);
    if (known) {
        cache_.hear(speaker, {.link = link}, now, heard);
    } else if (addresses_.on_link(speaker)) {
        cache_.learn(speaker, *link, now, heard);
    }
}

void Engine::hear_statement(const Message& message, Time now, Cache::Actions& heard) {
    const auto& speaker = *message.speaker;
    counters_.add(speaker, Event::rx_replies);
    if (!cache_.contains(speaker)) return counters_.add(speaker, Event::rx_dropped_unsolicited);
    const bool to_us = message.solicited && addresses_.owns(message.subject);
    cache_.hear(speaker, {.link = message.at, .solicited = to_us, .overrides = message.overrides}, now, heard);
}

/// A probe of ND, whose sender has no address yet, is answered to all (RFC 4861, 7.2.4); one of ARP to its sender.
void Engine::answer(const Message& request, const std::optional<LinkAddress>& to, Time now, Actions& out) {
    if (!answers_.take(now)) return counters_.add(request.subject, Event::tx_dropped_rate);
    counters_.add(request.subject, Event::tx_replies);
    const bool to_all = !request.speaker && family_of(request.subject) == Family::ipv6;
    auto message = reply(own_, request.subject, request.speaker);
    message.router = parameters_.router;
    out.emplace_back(Send{message, to_all ? std::nullopt : to});
}

void Engine::solicit(const Cache::Solicit& solicit, Time now, Actions& out) {
    const auto& [address, to] = solicit;
    const auto source = addresses_.source_for(address);
    if (!source) return;
    if (!to && !multicasts_.take(now)) return counters_.add(address, Event::tx_dropped_rate);
    counters_.add(address, to ? Event::tx_probes : Event::tx_multicasts);
    out.emplace_back(Send{request(own_, source, address), to});
}

void Engine::announce_once(const LocalAddresses::Due& due, Time now, Actions& out) {
    if (!multicasts_.take(now)) return counters_.add(due.address, Event::tx_dropped_rate);
    counters_.add(due.address, Event::tx_announcements);
    auto message = due.probe ? request(own_, std::nullopt, due.address) : announcement(own_, due.address);
    message.router = !due.probe && parameters_.router;
    out.emplace_back(Send{message, std::nullopt});
}

/// Turns what the cache wants into actions.
void Engine::play(const Cache::Actions& actions, Time now, Actions& out) {
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

Actions Engine::announce(Time now) {
    addresses_.announce(now);
    return tick(now);
}

Actions Engine::clear() {
    Cache::Actions cleared;
    cache_.clear(cleared);
    addresses_.stop_announcing();
    Actions out;
    play(cleared, 0, out);
    return out;
}

Actions Engine::tick(Time now) {
    Actions out;
    while (const auto due = addresses_.due(now)) announce_once(*due, now, out);
    Cache::Actions expired;
    cache_.tick(now, expired);
    play(expired, now, out);
    return out;
}

std::optional<Time> Engine::deadline() const {
    const auto first = cache_.deadline(), other = addresses_.deadline();
    return first && other ? std::min(first, other) : first ? first : other;
}

}  // namespace verbline::neighbour
