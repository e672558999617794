// SPDX-License-Identifier: BSD-3-Clause
#include "control/router/port.h"

#include <algorithm>
#include <utility>

#include <rte_mbuf.h>

#include "datapath/link/ip_gid.h"
#include "datapath/neighbour/arp.h"
#include "datapath/offload/packet.h"
#include "datapath/wire/ethernet.h"

namespace verbline::router {
namespace {

/// Of an address that came as an IPv4 address.
wire::Ipv4Address ipv4_of(const wire::Gid& gid) {
    return link::ipv4_of(gid).value_or(wire::Ipv4Address{});
}

}  // namespace

ControlPort::ControlPort(control::Loop& loop, ShardLink& shard, const Setup& setup, const neighbour::LinkAddress& like)
    : loop_(loop), shard_(shard), setup_(setup), engine_(like) {}

void ControlPort::handle(const Unresolved& event) {
    if (!up_) return shard_.send(FailNeighbour{id(), event.address});
    play(engine_.resolve(link::gid_of(event.address), loop_.now()));
}

void ControlPort::handle(const Punted& event) {
    if (event.type == wire::ether_type::arp && up_) {
        play(engine_.received(neighbour::read_arp(offload::first_segment(*event.packet), engine_.link()), loop_.now()));
    } else {
        counters_.rx_dropped_punted_type.add();
    }
    rte_pktmbuf_free(event.packet);
}

void ControlPort::set_addresses(const std::vector<wire::Ipv4Prefix>& addresses) {
    if (addresses == addresses_) return;
    addresses_ = addresses;
    shard_.send(SetAddress{id(), addresses.empty() ? wire::Ipv4Address{} : addresses.front().address});
    std::vector<link::InterfaceAddress> gids;
    for (const auto& [address, length] : addresses) gids.push_back({link::gid_of(address), length});
    play(engine_.set_addresses(gids, loop_.now()));
    announce();
}

void ControlPort::set_carrier(bool carrier) {
    if (std::exchange(carrier_, carrier) == carrier) return;
    shard_.send(SetCarrier{id(), carrier});
    const bool was_up = up_;
    carrier_changed();
    if (up_ == was_up) changed_();  // else it has been said
}

void ControlPort::announce() {
    if (up_) play(engine_.announce(loop_.now()));
}

void ControlPort::link_is_up(const neighbour::LinkAddress& hardware) {
    engine_.set_link(hardware);
    if (const auto to = broadcast(wire::ether_type::ipv4)) shard_.send(SetBroadcast{id(), *to});
    set_up(true);
    announce();
    locate_all();
}

void ControlPort::link_is_down() {
    play(engine_.clear());
    set_up(false);
}

void ControlPort::set_up(bool up) {
    if (std::exchange(up_, up) != up) changed_();
}

void ControlPort::locate_all() {
    for (const auto& [ip, hardware] : std::map(announced_)) run(neighbour::Resolved{link::gid_of(ip), hardware});
}

void ControlPort::play(const neighbour::Actions& actions) {
    for (const auto& action : actions) std::visit([this](const auto& a) { run(a); }, action);
    schedule();
}

void ControlPort::run(const neighbour::Send& action) {
    std::vector<std::byte> packet(neighbour::max_arp_size);
    packet.resize(neighbour::write_arp(packet, action.message, action.to));
    if (action.to) {
        locate(*action.to, wire::ether_type::arp,
               [this, packet](const link::Destination& to) { transmit(packet, to); });
    } else if (const auto to = broadcast(wire::ether_type::arp)) {
        transmit(packet, *to);
    } else {
        counters_.control_tx_dropped_no_path.add();
    }
}

void ControlPort::run(const neighbour::Resolved& action) {
    const auto ip = ipv4_of(action.address);
    announced_.insert_or_assign(ip, action.link);
    locate(action.link, wire::ether_type::ipv4, [this, ip, hardware = action.link](const link::Destination& to) {
        const auto announced = announced_.find(ip);
        if (announced == announced_.end() || announced->second != hardware)
            return;  // changed while the destination was resolved
        shard_.send(SetNeighbour{id(), ip, to});
    });
}

void ControlPort::run(const neighbour::Failed& action) {
    announced_.erase(ipv4_of(action.address));
    shard_.send(FailNeighbour{id(), ipv4_of(action.address)});
}

void ControlPort::run(const neighbour::Removed& action) {
    announced_.erase(ipv4_of(action.address));
    shard_.send(ForgetNeighbour{id(), ipv4_of(action.address)});
}

void ControlPort::transmit(wire::Bytes packet, const link::Destination& to) {
    auto* const mbuf = rte_pktmbuf_alloc(setup_.pool);
    if (mbuf == nullptr) return counters_.control_tx_dropped_no_mbuf.add();
    auto* const data = rte_pktmbuf_append(mbuf, static_cast<std::uint16_t>(packet.size()));
    std::ranges::copy(packet, reinterpret_cast<std::byte*>(data));
    counters_.control_tx_packets.add();
    shard_.send(Transmit{id(), mbuf, to});
}

void ControlPort::schedule() {
    const auto deadline = engine_.deadline();
    timer_ = deadline ? loop_.at(*deadline, [this] { play(engine_.tick(loop_.now())); }) : control::Timer();
}

void ControlPort::counters(const CounterVisitor& visit) const {
    counters_.each(visit);
    engine_.counters().each(neighbour::Family::ipv4, visit);
}

}  // namespace verbline::router
