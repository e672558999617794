// SPDX-License-Identifier: BSD-3-Clause
#include "control/router/proxy.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "datapath/link/ip_gid.h"

namespace verbline::router {

using wire::Gid;

bool Proxy::contains(Port port, const Gid& address) const {
    const auto known = ports_.find(port);
    if (known == ports_.end() || wire::is_link_local(link::ipv6_of(address))) return false;
    return std::ranges::any_of(known->second, [&](const auto& own) { return link::contains(own, address); });
}

bool Proxy::shared(Port port, const Gid& address) const {
    return contains(port, address) && std::ranges::any_of(ports_, [&](const auto& other) {
               return other.first != port && contains(other.first, address);
           });
}

bool Proxy::is_own(const Gid& address) const {
    return std::ranges::any_of(ports_, [&](const auto& port) {
        return std::ranges::find(port.second, address, &link::InterfaceAddress::gid) != port.second.end();
    });
}

Proxy::Actions Proxy::set_addresses(Port port, const std::vector<link::InterfaceAddress>& addresses) {
    Actions out;
    ports_[port] = addresses;
    for (auto known = hosts_.begin(); known != hosts_.end();) {
        const auto each = known++;
        const auto at = each->second.at;
        if (is_own(each->first) || (at && !shared(*at, each->first))) remove(each, out);
    }
    return out;
}

Proxy::Actions Proxy::remove_port(Port port) {
    Actions out;
    ports_.erase(port);
    for (auto known = hosts_.begin(); known != hosts_.end();) {
        const auto each = known++;
        auto& [address, host] = *each;
        counters_.proxy_unanswered.add(
            std::erase_if(host.waiting, [port](const Waiting& waiting) { return waiting.port == port; }));
        host.asked &= ~bit(port);
        host.answers &= ~bit(port);
        const bool stays = host.at ? *host.at != port && shared(*host.at, address) : host.asked != 0;
        if (stays) continue;
        counters_.proxy_unanswered.add(host.waiting.size());
        remove(each, out);
    }
    return out;
}

Proxy::Actions Proxy::requested(Port port, const neighbour::Message& request, Time now) {
    Actions out;
    const auto& address = request.subject;
    if (!shared(port, address)) return out;
    const auto& speaker = request.source;
    if (speaker && !contains(port, *speaker) && !wire::is_link_local(link::ipv6_of(*speaker))) return out;
    counters_.proxy_requests.add();
    if (is_own(address)) {
        answer(port, request, out);
        return out;
    }
    const auto known = find_or_insert(address);
    if (known == hosts_.end()) return out;
    auto& host = known->second;
    if (host.at == port) {
        counters_.proxy_same_link.add();
    } else if (host.at && speaker) {
        answer(port, request, out);
    } else if (host.at) {
        // Who probes for an address (RFC 5227, RFC 4862) must not lose it to what it was itself, on the other link.
        wait(host, port, request);
        host.verified.reset();
        verify(known, now, out);
    } else {
        wait(host, port, request);
        resolve_everywhere(known, out);
    }
    return out;
}

Proxy::Actions Proxy::wanted(Port port, const Gid& address, Time) {
    Actions out;
    if (!shared(port, address) || is_own(address)) return out;
    const auto known = find_or_insert(address);
    if (known != hosts_.end() && !known->second.at) resolve_everywhere(known, out);
    return out;
}

Proxy::Actions Proxy::heard(Port port, const Gid& address, Time now) {
    Actions out;
    const auto known = hosts_.find(address);
    if (known == hosts_.end() || !contains(port, address)) return out;
    const auto at = known->second.at;
    if (at && *at != port) verify(known, now, out);
    return out;
}

/// Whether it is still on its link; if it is not, it is looked for on the others.
void Proxy::verify(Known known, Time now, Actions& out) {
    auto& host = known->second;
    if (host.verified && now - *host.verified < verify_interval) return;
    host.verified = now;
    out.emplace_back(Verify{*host.at, known->first});
    resolve_everywhere(known, out);
}

void Proxy::resolve_everywhere(Known known, Actions& out) {
    auto& [address, host] = *known;
    for (const auto& [port, addresses] : ports_) {
        if (((host.asked | host.answers) & bit(port)) != 0 || !contains(port, address)) continue;
        host.asked |= bit(port);
        out.emplace_back(Resolve{port, address});
    }
}

Proxy::Actions Proxy::resolved(Port port, const Gid& address, Time now) {
    Actions out;
    if (!shared(port, address) || is_own(address)) return out;
    const auto known = find_or_insert(address);
    if (known == hosts_.end()) return out;
    auto& host = known->second;
    host.asked &= ~bit(port);
    const bool second = host.at && *host.at != port;
    const bool conflict = second && (host.answers & bit(port)) == 0;
    host.answers |= bit(port);
    if (conflict) {
        counters_.proxy_conflicts.add();
        verify(known, now, out);
    }
    if (!second) settle(known, port, out);
    return out;
}

/// The host is on the port's link: those who wait elsewhere are answered, and those there have its own answer.
void Proxy::settle(Known known, Port port, Actions& out) {
    auto& [address, host] = *known;
    if (host.at) {
        order_.splice(order_.end(), order_, host.place);
    } else {
        if (order_.size() >= capacity_) {
            counters_.proxy_hosts_evicted.add();
            remove(hosts_.find(order_.front()), out);
        }
        host.at = port;
        host.place = order_.insert(order_.end(), address);
        counters_.proxy_hosts_learned.add();
        out.emplace_back(AddRoute{port, address});
    }
    for (const auto& [asker, request] : std::exchange(host.waiting, {})) {
        if (asker == port) {
            counters_.proxy_same_link.add();
        } else {
            answer(asker, request, out);
        }
    }
}

Proxy::Actions Proxy::lost(Port port, const Gid& address, Time) {
    Actions out;
    const auto known = hosts_.find(address);
    if (known == hosts_.end()) return out;
    auto& host = known->second;
    host.asked &= ~bit(port);
    host.answers &= ~bit(port);
    if (host.at == port) {
        host.at.reset();
        order_.erase(host.place);
        out.emplace_back(RemoveRoute{port, address});
        if (host.answers != 0) {
            counters_.proxy_hosts_moved.add();
            settle(known, static_cast<Port>(std::countr_zero(host.answers)), out);
        } else {
            counters_.proxy_hosts_lost.add();
        }
    }
    if (host.at || host.asked != 0) return out;
    counters_.proxy_unanswered.add(host.waiting.size());
    remove(known, out);
    return out;
}

void Proxy::wait(Host& host, Port port, const neighbour::Message& request) {
    const auto same = std::ranges::find_if(host.waiting, [&](const Waiting& each) {
        return each.port == port && each.request.source == request.source && each.request.at == request.at;
    });
    if (same != host.waiting.end()) return;  // repeated
    if (host.waiting.size() >= max_waiting) return counters_.proxy_dropped_waiting.add();
    host.waiting.push_back({port, request});
}

/// Who asks will be answered by the other side before long, which asks for it then.
void Proxy::answer(Port port, const neighbour::Message& request, Actions& out) {
    counters_.proxy_answers.add();
    out.emplace_back(Answer{port, request});
    if (!request.source || !contains(port, *request.source) || is_own(*request.source)) return;
    const auto known = find_or_insert(*request.source);
    if (known != hosts_.end() && !known->second.at) resolve_everywhere(known, out);
}

/// None, if too many are asked for at once.
Proxy::Known Proxy::find_or_insert(const Gid& address) {
    const auto known = hosts_.find(address);
    if (known != hosts_.end()) return known;
    if (hosts_.size() - order_.size() >= capacity_ / 4) {
        counters_.proxy_dropped_waiting.add();
        return hosts_.end();
    }
    return hosts_.emplace(address, Host{}).first;
}

void Proxy::remove(Known known, Actions& out) {
    const auto& [address, host] = *known;
    if (host.at) {
        out.emplace_back(RemoveRoute{*host.at, address});
        order_.erase(host.place);
    }
    hosts_.erase(known);
}

std::optional<Proxy::Port> Proxy::find(const Gid& address) const {
    const auto known = hosts_.find(address);
    return known != hosts_.end() ? known->second.at : std::nullopt;
}

}  // namespace verbline::router
