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
#include "pmd/base/random.h"

namespace verbline::router {
namespace {

wire::EtherType ether_type_of(const wire::Gid& address) {
    return neighbour::family_of(address) == neighbour::Family::ipv4 ? wire::ether_type::ipv4 : wire::ether_type::ipv6;
}

/// Of a packet handed up; `like` has the link's kind of address.
neighbour::Read read(wire::EtherType type, wire::Bytes packet, const neighbour::LinkAddress& like) {
    if (type == wire::ether_type::arp) return neighbour::read_arp(packet, like);
    if (type != wire::ether_type::ipv6) return {};
    return std::visit([&]<class Address>(const Address&) { return neighbour::read_discovery<Address>(packet); }, like);
}

neighbour::Solicitation read_solicitation(const Punted& event, const neighbour::LinkAddress& like) {
    const auto packet = offload::first_segment(*event.packet);
    if (event.type != wire::ether_type::ipv6) return {};
    return std::visit([&]<class Address>(const Address&) { return neighbour::read_solicitation<Address>(packet); },
                      like);
}

neighbour::Parameters parameters_of(const ControlPort::Setup& setup) {
    return {.router = setup.forwards,
            .detect_duplicates = neighbour::Detect::ipv6,
            .nonces = random_number() | 1,  // 0 would be none
            .probe_wait = second,           // RetransTimer (RFC 4862, 5.4; RFC 4861, 10)
            .use_tentative = false,
            .virtual_addresses = setup.virtual_addresses,
            .capacity = setup.neighbours};
}

}  // namespace

ControlPort::ControlPort(control::Loop& loop, ShardLinks& shards, const Setup& setup,
                         const neighbour::LinkAddress& like)
    : loop_(loop),
      shards_(shards),
      setup_(setup),
      engine_(like, parameters_of(setup)),
      listeners_(loop,
                 {.routes = setup.multicast,
                  .send = [this](auto to, const auto& group, const auto& packet) { ask(to, group, packet); },
                  .changed = [this](const auto& group, auto side, bool in) { group_listens_(group, side, in); }}) {
    if (setup.advertises) make_advertisements();
}

void ControlPort::handle(const Unresolved& event) {
    if (!up_) return shards_.send(FailNeighbour{id(), event.address});
    if (link::is_group(event.address)) return resolve_group(event.address, false);
    const auto address = neighbour_of(event.address);
    play(engine_.resolve(address, loop_.now()));
    if (listener_ != nullptr) listener_->wanted(id(), address);
}

void ControlPort::handle(const Punted& event) {
    const auto message = read(event.type, offload::first_segment(*event.packet), engine_.link());
    const auto solicitation = advertisements_ ? read_solicitation(event, engine_.link()) : neighbour::Solicitation{};
    rte_pktmbuf_free(event.packet);
    if (solicitation != neighbour::Solicitation::none) return advertisements_->received(solicitation);
    if (message.kind == neighbour::Kind::other || !up_) return counters_.rx_dropped_punted_type.add();
    play(engine_.received(message, loop_.now()));
    const bool heard = message.kind == neighbour::Kind::resolution && !engine_.is_own(message.message);
    if (listener_ != nullptr && heard) listener_->received(id(), message.message);
}

void ControlPort::handle(const MembershipHeard& event) {
    const auto from = event.from_kernel ? multicast::Side::kernel : multicast::Side::link;
    listeners_.received(from, offload::first_segment(*event.packet));
    rte_pktmbuf_free(event.packet);
}

void ControlPort::observe_neighbours(NeighbourListener* listener) {
    listener_ = listener;
    if (listener_ != nullptr) listener_->addresses_changed(id(), addresses_);
}

void ControlPort::resolve(const wire::Gid& address) {
    if (up_) return play(engine_.resolve(address, loop_.now()));
    if (listener_ != nullptr) listener_->lost(id(), address);
}

void ControlPort::verify(const wire::Gid& address) {
    if (up_) return play(engine_.verify(address, loop_.now()));
    if (listener_ != nullptr) listener_->lost(id(), address);
}

void ControlPort::answer_for_other(const neighbour::Message& request) {
    if (up_) play(engine_.answer_for_other(request, loop_.now()));
}

void ControlPort::set_carrier(bool carrier) {
    if (std::exchange(carrier_, carrier) == carrier) return;
    shards_.send(SetCarrier{id(), carrier});
    const bool was_up = up_;
    carrier_changed();
    if (up_ == was_up) changed_();  // else already reported
}

void ControlPort::announce() {
    if (up_) play(engine_.announce(loop_.now()));
}

void ControlPort::link_is_up(const neighbour::LinkAddress& hardware) {
    engine_.set_link(hardware);
    if (const auto to = broadcast(wire::ether_type::ipv4)) {
        shards_.send(SetBroadcast{id(), *to, multicast(neighbour::all_nodes), resolves_groups()});
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
    listeners_.set_up(up);
    if (std::exchange(up_, up) != up) changed_();
}

void ControlPort::locate_all() {
    for (const auto& [address, hardware] : std::map(announced_)) run(neighbour::Resolved{address, hardware});
    for (const auto& group : sends_to_) resolve_group(group, true);
}

bool ControlPort::uses(const neighbour::LinkAddress& hardware) const {
    return std::ranges::any_of(announced_, [&](const auto& entry) { return entry.second == hardware; });
}

void ControlPort::locate_again(const neighbour::LinkAddress& hardware, bool forgets) {
    for (const auto& [address, at] : std::map(announced_)) {
        if (at != hardware) continue;
        for (const auto& name : forgets ? names_of(address) : std::vector<wire::Gid>())
            shards_.send(ForgetNeighbour{id(), name});
        run(neighbour::Resolved{address, at});
    }
}

void ControlPort::set_multicast(bool routed) {
    shards_.send(SetMulticast{id(), routed});
    listeners_.set_routes(routed);
}

void ControlPort::use_group(const multicast::Use& use) {
    if (!use.sends && sends_to_.erase(use.group) != 0) {
        forget_group(use.group);
        shards_.send(ForgetNeighbour{id(), use.group});
    }
    hear_group(use.group, use.hears);
    if (use.sends && sends_to_.insert(use.group).second) resolve_group(use.group, true);
}

void ControlPort::resolve_group(const wire::Gid& group, bool) {
    if (const auto to = multicast(group)) {
        shards_.send(SetNeighbour{id(), group, *to});
    } else {
        shards_.send(FailNeighbour{id(), group});
    }
}

/// Sends a query: about a group to its members, about all to everyone; or to our kernel.
void ControlPort::ask(multicast::Side to, const wire::Gid& group, const neighbour::GroupPacket& packet) {
    if (to == multicast::Side::kernel) {
        auto* const mbuf = make_packet(packet.bytes);
        if (mbuf == nullptr) return;
        counters_.control_to_kernel_packets.add();
        return shards_.send(Deliver{id(), mbuf});
    }
    const bool ipv4 = packet.type == wire::ether_type::ipv4;
    const auto all = ipv4 ? link::gid_of(neighbour::all_systems) : link::gid_of(neighbour::all_ipv6_nodes);
    send_to_group(group == wire::Gid{} ? all : group, packet.bytes);
}

void ControlPort::play(const neighbour::Actions& actions) {
    for (const auto& action : actions) std::visit([this](const auto& a) { run(a); }, action);
    publish_sources();
    advertise();
    schedule();
}

void ControlPort::run(const neighbour::Send& action) {
    const auto& message = action.message;
    const bool ipv4 = neighbour::family_of(message.source.value_or(message.subject)) == neighbour::Family::ipv4;
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

/// The neighbour that the shard names by this address.
wire::Gid ControlPort::neighbour_of(const wire::Gid& address) const {
    const auto ipv4 = link::ipv4_of(address);
    if (!ipv4 || setup_.ipv6_gateways == nullptr) return address;
    const auto gateway = setup_.ipv6_gateways->gateway_of(*ipv4);
    return gateway ? link::gid_of(*gateway) : address;
}

/// The addresses by which the shard may name a neighbour.
std::vector<wire::Gid> ControlPort::names_of(const wire::Gid& neighbour) const {
    std::vector<wire::Gid> names{neighbour};
    if (setup_.ipv6_gateways == nullptr) return names;
    if (const auto stand_in = setup_.ipv6_gateways->find(link::ipv6_of(neighbour)))
        names.push_back(link::gid_of(*stand_in));
    return names;
}

void ControlPort::run(const neighbour::Resolved& action) {
    announced_.insert_or_assign(action.address, action.link);
    if (listener_ != nullptr) listener_->resolved(id(), action.address);
    for (const auto& name : names_of(action.address)) {
        reach(action.link, ether_type_of(name), [this, name, action](const link::Destination& to) {
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
    if (listener_ != nullptr) listener_->lost(id(), action.address);
}

void ControlPort::run(const neighbour::Removed& action) {
    announced_.erase(action.address);
    for (const auto& name : names_of(action.address)) shards_.send(ForgetNeighbour{id(), name});
    if (listener_ != nullptr) listener_->lost(id(), action.address);
}

std::optional<link::Destination> ControlPort::multicast(const wire::Gid& group) const {
    return broadcast(ether_type_of(group));
}

void ControlPort::send_to_group(const wire::Gid& group, std::vector<std::byte> packet) {
    if (const auto to = multicast(group)) {
        transmit(packet, *to);
    } else {
        counters_.control_tx_dropped_no_path.add();
    }
}

void ControlPort::transmit(wire::Bytes packet, const link::Destination& to) {
    auto* const mbuf = make_packet(packet);
    if (mbuf == nullptr) return;
    counters_.control_tx_packets.add();
    shards_.send(Transmit{id(), mbuf, to});
}

rte_mbuf* ControlPort::make_packet(wire::Bytes packet) {
    auto* const mbuf = rte_pktmbuf_alloc(setup_.pool);
    if (mbuf == nullptr) return counters_.control_tx_dropped_no_mbuf.add(), nullptr;
    auto* const data = rte_pktmbuf_append(mbuf, static_cast<std::uint16_t>(packet.size()));
    std::ranges::copy(packet, reinterpret_cast<std::byte*>(data));
    return mbuf;
}

void ControlPort::schedule() {
    const auto deadline = up_ ? engine_.deadline() : std::nullopt;  // probes wait for the link
    timer_ = deadline ? loop_.at(*deadline, [this] { play(engine_.tick(loop_.now())); }) : control::Timer();
}

void ControlPort::counters(const CounterVisitor& visit) const {
    counters_.each(visit);
    listeners_.counters(visit);
    engine_.counters().each(neighbour::Family::ipv4, visit);
    engine_.counters().each(neighbour::Family::ipv6, visit);
    if (advertisements_) advertisements_->counters(visit);
}

}  // namespace verbline::router
