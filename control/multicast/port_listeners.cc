// SPDX-License-Identifier: BSD-3-Clause
#include "control/multicast/port_listeners.h"

#include <algorithm>
#include <utility>

#include "datapath/link/ip_gid.h"

namespace verbline::multicast {
namespace {

ListenerParameters parameters_of(Side side) {
    return {.link_scope = side == Side::kernel};
}

}  // namespace

PortListeners::PortListeners(control::Loop& loop, Setup setup)
    : loop_(loop),
      setup_(std::move(setup)),
      parties_{Party{Side::link, true, {parameters_of(Side::link), counters_}},
               Party{Side::link, false, {parameters_of(Side::link), counters_}},
               Party{Side::kernel, true, {parameters_of(Side::kernel), counters_}},
               Party{Side::kernel, false, {parameters_of(Side::kernel), counters_}}},
      routes_(setup_.routes) {}

void PortListeners::set_addresses(wire::Ipv4Address ipv4, const wire::Ipv6Address& link_local) {
    ipv4_ = ipv4;
    link_local_ = link_local;
    addressed_ = true;
    address_all();
}

/// The kernel takes no IPv4 packet that says to be from itself, but one of a switch without an address (RFC 4541,
/// 2.1.1).
void PortListeners::address(Party& party) {
    std::optional<wire::Gid> own;
    const bool asks = party.side == Side::kernel ? addressed_ : routes_ && up_;
    if (party.ipv4) {
        own = link::gid_of(party.side == Side::kernel ? wire::Ipv4Address{} : ipv4_);
    } else if (link_local_ != wire::Ipv6Address{}) {
        own = link::gid_of(link_local_);
    }
    play(party.side, party.listeners.set_address(asks ? own : std::nullopt, loop_.now()));
}

/// Link listeners stay only while the link's hosts are asked.
void PortListeners::address_all() {
    for (auto& party : parties_) {
        if (!(routes_ && up_) && party.side == Side::link) play(party.side, party.listeners.clear());
        address(party);
    }
    schedule();
}

void PortListeners::set_up(bool up) {
    if (std::exchange(up_, up) != up) address_all();
}

void PortListeners::set_routes(bool routes) {
    if (std::exchange(routes_, routes) != routes) address_all();
}

void PortListeners::received(Side from, wire::Bytes ip_packet) {
    const auto message = neighbour::read_membership(ip_packet);
    if (!message || (from == Side::link && !routes_)) return counters_.membership_ignored.add();
    const bool ipv4 = wire::load8(ip_packet, 0) >> 4 == 4;
    const auto party =
        std::ranges::find_if(parties_, [&](const auto& each) { return each.side == from && each.ipv4 == ipv4; });
    // What our kernel asks of a link's hosts is for a router there, which we are.
    if (from == Side::kernel && std::holds_alternative<neighbour::MembershipQuery>(*message)) return;
    play(from, std::visit([&](const auto& m) { return party->listeners.received(m, loop_.now()); }, *message));
    schedule();
}

void PortListeners::play(Side side, const ListenerActions& actions) {
    for (const auto& action : actions) {
        if (const auto* query = std::get_if<SendQuery>(&action)) {
            setup_.send(side, query->query.group, neighbour::query_packet(query->query));
        } else if (const auto* joined = std::get_if<Joined>(&action)) {
            setup_.changed(joined->group, side, true);
        } else if (const auto* left = std::get_if<Left>(&action)) {
            setup_.changed(left->group, side, false);
        }
    }
}

void PortListeners::schedule() {
    std::optional<Time> first;
    for (const auto& party : parties_) {
        const auto deadline = party.listeners.deadline();
        if (deadline) first = first ? std::min(*first, *deadline) : *deadline;
    }
    if (!first) return timer_.cancel();
    timer_ = loop_.at(*first, [this] {
        for (auto& party : parties_) play(party.side, party.listeners.tick(loop_.now()));
        schedule();
    });
}

std::vector<PortListeners::Shown> PortListeners::show() const {
    std::vector<Shown> list;
    for (const auto& party : parties_)
        for (const auto& shown : party.listeners.show(loop_.now())) list.push_back({shown, party.side});
    return list;
}

}  // namespace verbline::multicast
