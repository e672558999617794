// SPDX-License-Identifier: BSD-3-Clause
#include "control/router/port.h"

#include <algorithm>
#include <array>
#include <utility>

#include <rte_mbuf.h>

#include "datapath/offload/packet.h"
#include "datapath/wire/ethernet.h"

namespace verbline::router {

Port::Port(control::Loop& loop, ShardLink& shard, const Setup& setup, const host::HardwareAddress& like)
    : loop_(loop), shard_(shard), setup_(setup), arp_(like) {}

void Port::handle(const Unresolved& event) {
    if (!up_) return shard_.send(FailNeighbour{id(), event.address});
    play(arp_.resolve(event.address, loop_.now()));
}

void Port::handle(const Punted& event) {
    if (event.type == wire::ether_type::arp && up_) {
        play(arp_.received(offload::first_segment(*event.packet), loop_.now()));
    } else {
        counters_.rx_dropped_punted_type.add();
    }
    rte_pktmbuf_free(event.packet);
}

void Port::set_addresses(const std::vector<wire::Ipv4Prefix>& addresses) {
    if (addresses == addresses_) return;
    addresses_ = addresses;
    shard_.send(SetAddress{id(), addresses.empty() ? wire::Ipv4Address{} : addresses.front().address});
    play(arp_.set_addresses(addresses));
    announce();
}

void Port::set_carrier(bool carrier) {
    if (std::exchange(carrier_, carrier) == carrier) return;
    const bool was_up = up_;
    carrier_changed();
    if (up_ == was_up) changed_();  // else it has been said
}

void Port::announce() {
    if (up_) play(arp_.announce(loop_.now()));
}

void Port::link_is_up(const host::HardwareAddress& hardware) {
    arp_.set_link(hardware);
    if (const auto to = broadcast(wire::ether_type::ipv4)) shard_.send(SetBroadcast{id(), *to});
    set_up(true);
    announce();
    locate_all();
}

void Port::link_is_down() {
    play(arp_.clear());
    set_up(false);
}

void Port::set_up(bool up) {
    if (std::exchange(up_, up) != up) changed_();
}

void Port::locate_all() {
    for (const auto& [ip, hardware] : std::map(announced_)) run(host::Arp::Resolved{ip, hardware});
}

void Port::play(const host::Arp::Actions& actions) {
    for (const auto& action : actions) std::visit([this](const auto& a) { run(a); }, action);
    schedule();
}

void Port::run(const host::Arp::SendArp& action) {
    std::array<std::byte, host::ArpMessage::max_size> buffer;
    const std::vector<std::byte> packet(buffer.begin(),
                                        buffer.begin() + static_cast<std::ptrdiff_t>(action.message.emit(buffer)));
    if (action.to) {
        locate(*action.to, wire::ether_type::arp,
               [this, packet](const link::Destination& to) { transmit(packet, to); });
    } else if (const auto to = broadcast(wire::ether_type::arp)) {
        transmit(packet, *to);
    } else {
        counters_.control_tx_dropped_no_path.add();
    }
}

void Port::run(const host::Arp::Resolved& action) {
    announced_.insert_or_assign(action.ip, action.link);
    locate(action.link, wire::ether_type::ipv4, [this, action](const link::Destination& to) {
        const auto announced = announced_.find(action.ip);
        if (announced == announced_.end() || announced->second != action.link)
            return;  // changed while the destination was resolved
        shard_.send(SetNeighbour{id(), action.ip, to});
    });
}

void Port::run(const host::Arp::Failed& action) {
    announced_.erase(action.ip);
    shard_.send(FailNeighbour{id(), action.ip});
}

void Port::run(const host::Arp::Removed& action) {
    announced_.erase(action.ip);
    shard_.send(ForgetNeighbour{id(), action.ip});
}

void Port::transmit(wire::Bytes packet, const link::Destination& to) {
    auto* const mbuf = rte_pktmbuf_alloc(setup_.pool);
    if (mbuf == nullptr) return counters_.control_tx_dropped_no_mbuf.add();
    auto* const data = rte_pktmbuf_append(mbuf, static_cast<std::uint16_t>(packet.size()));
    std::ranges::copy(packet, reinterpret_cast<std::byte*>(data));
    counters_.control_tx_packets.add();
    shard_.send(Transmit{id(), mbuf, to});
}

void Port::schedule() {
    const auto deadline = arp_.deadline();
    timer_ = deadline ? loop_.at(*deadline, [this] { play(arp_.tick(loop_.now())); }) : control::Timer();
}

void Port::counters(const CounterVisitor& visit) const {
    counters_.each(visit);
    arp_.counters().each(visit);
}

}  // namespace verbline::router
