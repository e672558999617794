// SPDX-License-Identifier: BSD-3-Clause
#include "apps/net_ipoib/proxy_addresses.h"

#include <algorithm>

#include "datapath/wire/bytes.h"

namespace verbline::net_ipoib {

wire::MacAddress ProxyAddresses::made_of(const wire::IpoibAddress& address, unsigned attempt) {
    constexpr std::uint64_t basis = 0xcbf2'9ce4'8422'2325, prime = 0x100'0000'01b3;  // FNV-1a, of 64 bits
    std::uint64_t hash = basis;
    const auto add = [&hash](std::uint64_t value, unsigned bytes) {
        for (unsigned i = bytes; i-- > 0;) hash = (hash ^ (value >> 8 * i & 0xff)) * prime;
    };
    add(static_cast<std::uint32_t>(address.qpn), 3);
    add(address.gid.prefix(), 8);
    add(static_cast<std::uint64_t>(address.gid.interface_id()), 8);
    if (attempt != 0) add(attempt, 4);
    hash ^= hash >> 48;  // all of it, in the low bits

    wire::MacAddress mac;
    for (unsigned i = 0; i < mac.bytes.size(); ++i) mac.bytes[i] = static_cast<std::byte>(hash >> (40 - 8 * i));
    // Locally administered, and one host's (IEEE 802, 8.4.2).
    mac.bytes[0] = (mac.bytes[0] & std::byte{0xfc}) | std::byte{0x02};
    return mac;
}

ProxyAddresses::Proxy ProxyAddresses::of(const wire::IpoibAddress& address) {
    const auto host = plain(address);
    if (const auto found = known_.find(host); found != known_.end()) {
        found->second.named = ++times_;
        return {.mac = found->second.mac};
    }
    Proxy made{.is_new = true};
    if (known_.size() >= capacity_) made.forgotten = forget_oldest();
    for (unsigned attempt = 0;; ++attempt) {
        made.mac = made_of(host, attempt);
        if (made.mac != reserved_ && !hosts_.contains(made.mac)) break;
        counters_.proxies_collided.add();
    }
    counters_.proxies_made.add();
    known_.emplace(host, Known{made.mac, ++times_});
    hosts_.emplace(made.mac, host);
    return made;
}

std::optional<wire::IpoibAddress> ProxyAddresses::find(wire::MacAddress mac) const {
    const auto found = hosts_.find(mac);
    return found != hosts_.end() ? std::optional(found->second) : std::nullopt;
}

wire::MacAddress ProxyAddresses::forget_oldest() {
    const auto oldest = std::ranges::min_element(known_, {}, [](const auto& each) { return each.second.named; });
    const auto mac = oldest->second.mac;
    hosts_.erase(mac);
    known_.erase(oldest);
    counters_.proxies_forgotten.add();
    return mac;
}

}  // namespace verbline::net_ipoib
