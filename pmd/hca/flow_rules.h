// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Rules by which a queue pair that shares the number of the kernel's interface gets packets: the device takes those
/// that a rule names from what comes to that number, and leaves the others to the kernel.
///
///     datagrams to ib0's number ── rules ──┬── IPv4 to one of our addresses ──────────> queue pair
///                                          ├── TCP and UDP of IPv6 to one of them ────> queue pair
///                                          └── ARP, ND, all else ─────────────────────> ib0

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "datapath/wire/types.h"
#include "pmd/base/error.h"
#include "pmd/hca/verbs.h"

namespace verbline::pmd::hca {

enum class FlowTransport : std::uint8_t { tcp, udp };

/// Packets with a destination in the prefix, of one transport or any.
struct FlowMatch {
    std::variant<wire::Ipv4Prefix, wire::Ipv6Prefix> destination;
    std::optional<FlowTransport> transport = {};

    bool operator==(const FlowMatch&) const = default;
};

/// What a host takes for an address of its own. Of IPv6 not all, as neighbour discovery is ICMPv6 and the kernel's.
std::vector<FlowMatch> flows_to(wire::Ipv4Address address);
std::vector<FlowMatch> flows_to(const wire::Ipv6Address& address);
/// What a group of IPoIB (RFC 4391, 4) is received by; none: no rule can. The rule of IPv6 would name the queue pair's
/// number too, which multicast packets do not have as destination.
std::optional<FlowMatch> flow_of_group(const wire::Gid& mgid);

/// Control thread.
class FlowRules {
public:
    /// The queue pair must outlive the rules.
    FlowRules(const Verbs& verbs, ibv_qp& queue_pair, std::uint8_t port)
        : verbs_(verbs), queue_pair_(queue_pair), port_(port) {}

    /// In force at once if started. Error: it is not added, and one line says why.
    Result<void> add(const FlowMatch& match);
    void remove(const FlowMatch& match);
    /// Puts all in force; returns how many the device refused, which it may not the next time.
    unsigned start();
    /// All packets are the kernel's.
    void stop();

private:
    struct Rule {
        FlowMatch match;
        Owned<ibv_flow> flow;  ///< null: not in force
    };
    Result<void> enforce(Rule& rule) const;

    const Verbs& verbs_;
    ibv_qp& queue_pair_;
    const std::uint8_t port_;
    std::vector<Rule> rules_;
    bool started_ = false;
};

}  // namespace verbline::pmd::hca
