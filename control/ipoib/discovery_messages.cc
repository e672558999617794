// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>

#include "control/ipoib/discovery.h"
#include "datapath/link/ip_gid.h"

// Neighbour discovery messages.

namespace verbline::ipoib {
namespace {

using wire::Gid;
using wire::IpoibAddress;

bool in_network(const link::InterfaceAddress& own, const Gid& address) {
    return link::network_of(own).gid == link::network_of({address, own.length}).gid;
}

IpoibDiscovery::Send packet_of(const IpoibAddress& own, const Gid& from, const Gid& destination,
                               const wire::NeighbourMessage& message, const std::variant<Gid, IpoibAddress>& to) {
    std::array<std::byte, neighbour::discovery_size<IpoibAddress>> bytes{};
    const auto size = neighbour::write_discovery<IpoibAddress>(bytes, own, from, destination, message);
    return {.packet = {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)}, .to = to};
}

}  // namespace

void IpoibDiscovery::answer(const Message& message, const std::optional<IpoibAddress>& to, Time now, Actions& out) {
    if (!answers_.take(now)) return counters_.nd_tx_dropped_rate.add();
    counters_.nd_tx_advertisements.add();
    const wire::NeighbourMessage advertisement{.type = wire::icmpv6_type::neighbour_advertisement,
                                               .solicited = to.has_value(),
                                               .override_cached = true,
                                               .target = link::ipv6_of(message.subject)};
    // A solicitation from the unspecified address is answered to all nodes (RFC 4861, 7.2.4).
    if (to && message.speaker)
        out.emplace_back(packet_of(own_, message.subject, *message.speaker, advertisement, *to));
    else
        out.emplace_back(packet_of(own_, message.subject, neighbour::all_nodes, advertisement, neighbour::all_nodes));
}

/// Sends a solicitation, to the solicited-node group or to the neighbour.
void IpoibDiscovery::ask(Table::value_type& known, Time now, Actions& out) {
    auto& [address, entry] = known;
    ++entry.tries;
    entry.due = now + (entry.tries == 1 ? timing_.first_retry : timing_.retry);
    const auto source = source_for(address);
    if (!source) return;
    const wire::NeighbourMessage solicitation{.target = link::ipv6_of(address)};
    if (entry.state == State::probe && entry.link) {
        counters_.nd_tx_probes.add();
        out.emplace_back(packet_of(own_, *source, address, solicitation, *entry.link));
    } else {
        counters_.nd_tx_solicitations.add();
        const auto group = neighbour::solicited_node(address);
        out.emplace_back(packet_of(own_, *source, group, solicitation, group));
    }
}

void IpoibDiscovery::announce_once(Actions& out) {
    for (const auto& [address, length] : addresses_) {
        counters_.nd_tx_announcements.add();
        out.emplace_back(packet_of(own_, address, neighbour::all_nodes,
                                   {.type = wire::icmpv6_type::neighbour_advertisement,
                                    .override_cached = true,
                                    .target = link::ipv6_of(address)},
                                   neighbour::all_nodes));
    }
}

/// Source address: one in the same network, or else any.
std::optional<Gid> IpoibDiscovery::source_for(const Gid& address) const {
    if (addresses_.empty()) return std::nullopt;
    const auto near = std::ranges::find_if(addresses_, [&](const auto& own) { return in_network(own, address); });
    return near != addresses_.end() ? near->gid : addresses_.front().gid;
}

}  // namespace verbline::ipoib
