// SPDX-License-Identifier: BSD-3-Clause
#include "control/router/port.h"

#include <algorithm>
#include <utility>

#include <rte_mbuf.h>

#include "datapath/link/ip_gid.h"
#include "datapath/neighbour/arp.h"
#include "datapath/neighbour/discovery.h"
#include "datapath/offload/packet.h"
#include "datapath/wire/ethernet.h"

namespace verbline::router {
namespace {

constexpr auto all_routers = wire::Gid::of(0xff02'0000'0000'0000, wire::Guid{2});  // RFC 4291, 2.7.1

wire::EtherType ether_type_of(const wire::Gid& address) {
    return neighbour::family_of(address) == neighbour::Family::ipv4 ? wire::ether_type::ipv4 : wire::ether_type::ipv6;
}

/// Of a packet handed up; `like` has the link's kind of address.
neighbour::Read read(wire::EtherType type, wire::Bytes packet, const neighbour::LinkAddress& like) {
    if (type == wire::ether_type::arp) return neighbour::read_arp(packet, like);
    if (type != wire::ether_type::ipv6) return {};
    return std::visit([&]<class Address>(const Address&) { return neighbour::read_discovery<Address>(packet); }, like);
}

neighbour::Parameters parameters_of(const ControlPort::Setup& setup) {
    return {.router = setup.forwards};
}

}  // namespace

ControlPort::ControlPort(control::Loop& loop, ShardLinks& shards, const Setup& setup,
                         const neighbour::LinkAddress& like)
    : loop_(loop), shards_(shards), setup_(setup), engine_(like, parameters_of(setup)) {}

void ControlPort::handle(const Unresolved& event) {
    if (!up_) return shards_.send(FailNeighbour{id(), event.address});
    play(engine_.resolve(neighbour_of(event.address), loop_.now()));
}

void ControlPort::handle(const Punted& event) {
    const auto message = read(event.type, offload::first_segment(*event.packet), engine_.link());
    rte_pktmbuf_free(event.packet);
    if (message.kind == neighbour::Kind::other || !up_) return counters_.rx_dropped_punted_type.add();
    play(engine_.received(message, loop_.now()));
}

void ControlPort::set_addresses(const std::vector<link::InterfaceAddress>& addresses) {
    if (addresses == addresses_) return;
    addresses_ = addresses;
    SetAddress sources{.port = id()};
    for (const auto& [gid, length] : addresses) {
        const auto ipv4 = link::ipv4_of(gid);
        const auto ipv6 = link::ipv6_of(gid);
        auto& source = wire::is_link_local(ipv6) ? sources.link_local : sources.ipv6;
        if (ipv4 && sources.address == wire::Ipv4Address{}) sources.address = *ipv4;
        if (!ipv4 && source == wire::Ipv6Address{}) source = ipv6;
    }
    shards_.send(sources);
    auto groups = neighbour::groups_of(addresses);
    if (setup_.forwards) groups.push_back(all_routers);
    listen(groups);
    play(engine_.set_addresses(addresses, loop_.now()));
    announce();
}

void ControlPort::set_carrier(bool carrier) {
    if (std::exchange(carrier_, carrier) == carrier) return;
    shards_.send(SetCarrier{id(), carrier});
    const bool was_up = up_;
    carrier_changed();
    if (up_ == was_up) changed_();  // else it has been said
}

void ControlPort::announce() {
    if (up_) play(engine_.announce(loop_.now()));
}

void ControlPort::link_is_up(const neighbour::LinkAddress& hardware) {
    engine_.set_link(hardware);
    if (const auto to = broadcast(wire::ether_type::ipv4)) {
        shards_.send(SetBroadcast{id(), *to, multicast(link::ipv6_of(neighbour::all_nodes))});
    }
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
    for (const auto& [address, hardware] : std::map(announced_)) run(neighbour::Resolved{address, hardware});
}

void ControlPort::play(const neighbour::Actions& actions) {
    for (const auto& action : actions) std::visit([this](const auto& a) { run(a); }, action);
    schedule();
}

void ControlPort::run(const neighbour::Send& action) {
    const auto& message = action.message;
    const bool ipv4 = neighbour::family_of(message.speaker.value_or(message.subject)) == neighbour::Family::ipv4;
    std::vector<std::byte> packet(std::max(neighbour::max_arp_size, neighbour::max_discovery_size));
    packet.resize(ipv4 ? neighbour::write_arp(packet, message, action.to)
                       : neighbour::write_discovery(packet, message, action.to.has_value()));
    if (action.to) {
        locate(*action.to, ipv4 ? wire::ether_type::arp : wire::ether_type::ipv6,
               [this, packet](const link::Destination& to) { transmit(packet, to); });
    } else if (!ipv4) {
        send_to_group(neighbour::multicast_group_of(message), std::move(packet));
    } else if (const auto to = broadcast(wire::ether_type::arp)) {
        transmit(packet, *to);
    } else {
        counters_.control_tx_dropped_no_path.add();
    }
}

/// What the shard asks for by this address.
wire::Gid ControlPort::neighbour_of(const wire::Gid& address) const {
    const auto ipv4 = link::ipv4_of(address);
    if (!ipv4 || setup_.ipv6_gateways == nullptr) return address;
    const auto gateway = setup_.ipv6_gateways->gateway_of(*ipv4);
    return gateway ? link::gid_of(*gateway) : address;
}

/// The addresses by which the shard may ask for a neighbour.
std::vector<wire::Gid> ControlPort::names_of(const wire::Gid& neighbour) const {
    std::vector<wire::Gid> names{neighbour};
    if (setup_.ipv6_gateways == nullptr) return names;
    if (const auto stand_in = setup_.ipv6_gateways->find(link::ipv6_of(neighbour)))
        names.push_back(link::gid_of(*stand_in));
    return names;
}

void ControlPort::run(const neighbour::Resolved& action) {
    announced_.insert_or_assign(action.address, action.link);
    for (const auto& name : names_of(action.address)) {
        locate(action.link, ether_type_of(name), [this, name, action](const link::Destination& to) {
            const auto announced = announced_.find(action.address);
            if (announced == announced_.end() || announced->second != action.link)
                return;  // changed while the destination was resolved
            shards_.send(SetNeighbour{id(), name, to});
        });
    }
}

void ControlPort::run(const neighbour::Failed& action) {
    announced_.erase(action.address);
    for (const auto& name : names_of(action.address)) shards_.send(FailNeighbour{id(), name});
}

void ControlPort::run(const neighbour::Removed& action) {
    announced_.erase(action.address);
    for (const auto& name : names_of(action.address)) shards_.send(ForgetNeighbour{id(), name});
}

std::optional<link::Destination> ControlPort::multicast(const wire::Ipv6Address&) const {
    return broadcast(wire::ether_type::ipv6);
}

void ControlPort::send_to_group(const wire::Gid& group, std::vector<std::byte> packet) {
    if (const auto to = multicast(link::ipv6_of(group))) {
        transmit(packet, *to);
    } else {
        counters_.control_tx_dropped_no_path.add();
    }
}

void ControlPort::transmit(wire::Bytes packet, const link::Destination& to) {
    auto* const mbuf = rte_pktmbuf_alloc(setup_.pool);
    if (mbuf == nullptr) return counters_.control_tx_dropped_no_mbuf.add();
    auto* const data = rte_pktmbuf_append(mbuf, static_cast<std::uint16_t>(packet.size()));
    std::ranges::copy(packet, reinterpret_cast<std::byte*>(data));
    counters_.control_tx_packets.add();
    shards_.send(Transmit{id(), mbuf, to});
}

void ControlPort::schedule() {
    const auto deadline = engine_.deadline();
    timer_ = deadline ? loop_.at(*deadline, [this] { play(engine_.tick(loop_.now())); }) : control::Timer();
}

void ControlPort::counters(const CounterVisitor& visit) const {
    counters_.each(visit);
    engine_.counters().each(neighbour::Family::ipv4, visit);
    engine_.counters().each(neighbour::Family::ipv6, visit);
}

}  // namespace verbline::router
