// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// MAC addresses that stand for hosts of an IPoIB link, whose own addresses have 20 bytes (RFC 4391, 9.1.1).
///
///     IPoIB address ── hash ──> 02:..:..:..:..:..  locally administered; if it is taken, another by the hash of both
///     MAC address   ── table ──> IPoIB address
///
/// The same address gets the same MAC after a restart, so that what programs know of their neighbours stays true; but
/// for the second of two addresses that collide, of which there is one pair in 2^46.
///
/// Bounded: when the table is full, the host that was not named for longest is forgotten. Owned by the control thread.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "datapath/wire/types.h"
#include "pmd/base/counter.h"

namespace verbline::net_ipoib {

#define VERBLINE_PROXY_ADDRESSES_COUNTERS(X)                                       \
    X(proxies_made, "hosts that a MAC address was made for")                       \
    X(proxies_collided, "MAC addresses that were taken, so that another was made") \
    X(proxies_forgotten, "hosts whose MAC address was given up, as the table of hosts was full")

struct ProxyAddressesCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_PROXY_ADDRESSES_COUNTERS)
};

class ProxyAddresses {
public:
    /// Of one address, by which others know it: without its flags, which differ from message to message (RFC 4755).
    static wire::IpoibAddress plain(const wire::IpoibAddress& address) {
        return {.qpn = address.qpn, .gid = address.gid};
    }
    /// The `attempt`-th MAC address that is made of an address.
    static wire::MacAddress made_of(const wire::IpoibAddress& address, unsigned attempt = 0);

    static constexpr std::size_t default_capacity = 4'096;

    explicit ProxyAddresses(std::size_t capacity = default_capacity) : capacity_(capacity) {}

    /// An address that no host is to have: the port's own.
    void reserve(wire::MacAddress mac) { reserved_ = mac; }

    struct Proxy {
        wire::MacAddress mac;
        bool is_new = false;
        std::optional<wire::MacAddress> forgotten{};  ///< another's, to make room for this one
    };
    /// The MAC address of a host, made if it has none.
    Proxy of(const wire::IpoibAddress& address);
    std::optional<wire::IpoibAddress> find(wire::MacAddress mac) const;

    std::size_t size() const { return hosts_.size(); }
    /// Calls visit(mac, address) for each host.
    template <class Visit>
    void each(Visit visit) const {
        for (const auto& [mac, host] : hosts_) visit(mac, host);
    }
    void counters(const CounterVisitor& visit) const { counters_.each(visit); }

private:
    struct Known {
        wire::MacAddress mac;
        std::uint64_t named = 0;  ///< value of `times_` when it was last named
    };

    wire::MacAddress forget_oldest();

    std::size_t capacity_;
    wire::MacAddress reserved_{};
    std::map<wire::IpoibAddress, Known> known_;
    std::map<wire::MacAddress, wire::IpoibAddress> hosts_;
    std::uint64_t times_ = 0;
    ProxyAddressesCounters counters_;
};

}  // namespace verbline::net_ipoib
