// SPDX-License-Identifier: BSD-3-Clause
#include "apps/net_ipoib/control.h"

#include <algorithm>
#include <utility>

#include <rte_mbuf.h>

#include "apps/net_ipoib/group_addresses.h"
#include "apps/net_ipoib/roce_link.h"
#include "apps/net_ipoib/subnet_link.h"
#include "control/ipoib/neighbours.h"
#include "datapath/link/envelope.h"
#include "datapath/link/ip_gid.h"
#include "datapath/neighbour/discovery.h"
#include "datapath/offload/packet.h"
#include "datapath/wire/arp.h"
#include "datapath/wire/ethernet.h"

namespace verbline::net_ipoib {
namespace {

using wire::Ethernet, wire::IpoibAddress, wire::MacAddress;

constexpr Time upkeep_period = 50 * millisecond;
constexpr unsigned events_per_turn = 256;
constexpr std::size_t most_own_groups = 64, most_groups = 512;

/// All bytes of an event's packet, which is freed.
Packet take(rte_mbuf* packet) {
    Packet bytes;
    bytes.reserve(packet->pkt_len);
    offload::for_each_piece(*packet, 0, packet->pkt_len,
                            [&](wire::Bytes piece) { bytes.insert(bytes.end(), piece.begin(), piece.end()); });
    rte_pktmbuf_free(packet);
    return bytes;
}

/// A buffer with these bytes; null if there is none, or they do not fit.
rte_mbuf* make_packet(rte_mempool& pool, wire::Bytes bytes) {
    auto* const packet = rte_pktmbuf_alloc(&pool);
    if (packet == nullptr) return nullptr;
    auto* const at = rte_pktmbuf_append(packet, static_cast<std::uint16_t>(bytes.size()));
    if (at == nullptr) return rte_pktmbuf_free(packet), nullptr;
    std::ranges::copy(bytes, reinterpret_cast<std::byte*>(at));
    return packet;
}

wire::Ipv6Address address_at(wire::Bytes packet, std::size_t at) {
    wire::Ipv6Address address;
    std::ranges::copy(packet.subspan(at, address.bytes.size()), address.bytes.begin());
    return address;
}

}  // namespace

Control::Control(control::Loop& loop, sa::Agent* agent, Queues& queues, Setup setup)
    : loop_(loop),
      queues_(queues),
      setup_(std::move(setup)),
      own_{.mac = setup_.mac, .link = {}},
      hosts_(setup_.hosts),
      link_(make_link(agent)),
      listeners_(loop, {.routes = false,
                        .send =
                            [this](auto, const auto&, const neighbour::GroupPacket& query) {
                                deliver(query.type, ReceiveEnd::unknown_sender, query.bytes);
                            },
                        .changed =
                            [this](const wire::Gid& group, auto, bool listens) {
                                if (listens)
                                    reported_.insert(group);
                                else
                                    reported_.erase(group);
                                hear_groups();
                            }}) {
    set_mac(setup_.mac);
}

Control::~Control() {
    events_.cancel();
    upkeep_.cancel();
}

Result<void> Control::start() {
    auto watch = loop_.watch(setup_.wake->get(), [this](std::uint32_t) {
        setup_.wake->drain();
        drain();
    });
    if (!watch) return std::unexpected(watch.error());
    events_ = std::move(*watch);
    upkeep_ = loop_.every(upkeep_period, [this] { upkeep(); });
    link_->start();
    return {};
}

/// Calls `change(end)` for each, while the program is outside of it.
template <class Change>
void Control::change_receivers(Change change) {
    for (auto& [events, end] : queues_.receive) {
        const pmd::QuiescentGate::Hold hold(end->gate());
        change(*end);
    }
}
template <class Change>
void Control::change_transmitters(Change change) {
    for (auto& [events, end] : queues_.transmit) {
        const pmd::QuiescentGate::Hold hold(end->gate());
        change(*end);
    }
}

std::unique_ptr<Link> Control::make_link(sa::Agent* agent) {
    if (agent != nullptr) return std::make_unique<SubnetLink>(loop_, *agent, link_setup());
    return std::make_unique<RoceLink>(link_setup(), setup_.device->mac().value_or(setup_.link_mac));
}

Link::Setup Control::link_setup() {
    return {.pkey = setup_.pkey,
            .qpn = setup_.qpn,
            .device = setup_.device,
            .identify =
                [this](const auto& identity) {
                    change_receivers([&](auto& end) { end.link().set_port(identity); });
                    change_transmitters([&](auto& end) { end.link().set_port(identity); });
                },
            .attach = [this](const auto& group) { change_receivers([&](auto& end) { end.link().attach(group); }); },
            .detach = [this](const auto& group) { change_receivers([&](auto& end) { end.link().detach(group); }); },
            .up = [this] { came_up(); },
            .down =
                [this] {
                    listeners_.set_up(false);
                    update_link();
                },
            .paths_changed = [this] { locate_all(); },
            .located =
                [this](const wire::Gid& group, const link::Destination& to) {
                    change_transmitters([&](auto& end) { end.set_group(group, to); });
                },
            .unreachable =
                [this](const wire::Gid& group) { change_transmitters([&](auto& end) { end.fail_group(group); }); },
            .groups_changed = [this] { hear_groups(); },
            .send = [this](wire::Bytes packet, const link::Destination& to) { send(packet, to); },
            .log = setup_.log};
}

void Control::came_up() {
    own_.link = link_->address();
    if (const auto to = link_->broadcast(wire::ether_type::ipv4))
        change_transmitters([&](auto& end) { end.set_broadcast(*to); });
    listeners_.set_addresses({}, link::ipv6_of(ipoib::ipv6_link_local_of(own_.link.gid)));
    listeners_.set_up(true);
    locate_all();
    look_for_groups();
    update_link();
}

void Control::set_mac(MacAddress mac) {
    own_.mac = mac;
    hosts_.reserve(mac);
    change_receivers([&](auto& end) { end.set_mac(mac); });
}

void Control::update_link() {
    const bool up = carrier_ && link_->up();
    if (std::exchange(up_, up) != up) setup_.link(up);
}

void Control::upkeep() {
    const bool carrier = setup_.device->link_up();
    if (std::exchange(carrier_, carrier) != carrier) link_->carrier_changed(carrier);
    update_link();
    const auto now = loop_.now();
    for (auto& [events, end] : queues_.transmit) {
        if (!end->unfinished()) continue;
        const pmd::QuiescentGate::Hold hold(end->gate());
        end->look_after(now);
    }
    drain();  // what a busy queue has not woken us for
}

// events

/// A queue that is flooded must not keep the loop from what else it has to do.
void Control::drain() {
    bool more = false;
    for (auto& [events, end] : queues_.receive) {
        unsigned n = 0;
        for (; n < events_per_turn; ++n) {
            const auto event = events->pop();
            if (!event) break;
            from_link(*event);
        }
        more |= n == events_per_turn;
    }
    for (auto& [events, end] : queues_.transmit) {
        unsigned n = 0;
        for (; n < events_per_turn; ++n) {
            const auto event = events->pop();
            if (!event) break;
            from_program(*event);
        }
        more |= n == events_per_turn;
    }
    if (more) setup_.wake->signal();  // the rest, after others
}

void Control::from_link(const router::Event& event) {
    if (const auto* punted = std::get_if<router::Punted>(&event)) resolve_for_program(*punted);
}

void Control::from_program(const router::Event& event) {
    if (const auto* punted = std::get_if<router::Punted>(&event)) return resolve_for_link(*punted);
    if (const auto* group = std::get_if<router::Unresolved>(&event)) return link_->resolve(group->address);
    if (const auto* heard = std::get_if<router::MembershipHeard>(&event))
        listeners_.received(multicast::Side::kernel, take(heard->packet));
}

/// From the link. The program gets it when it can answer.
void Control::resolve_for_program(const router::Punted& event) {
    const auto type = event.type;
    const auto packet = take(event.packet);
    auto got =
        type == wire::ether_type::arp ? arp_from_link(packet, own_, hosts_) : discovery_from_link(packet, own_, hosts_);
    if (!got) return untranslated_[got.error()].add();
    for (const auto forgotten : got->forgotten) forget(forgotten);
    if (!got->named) return deliver(type, ReceiveEnd::unknown_sender, got->packet);
    const auto mac = hosts_.of(*got->named).mac;
    know(*got->named, [this, type, mac, bytes = std::move(got->packet)] { deliver(type, mac, bytes); });
}

/// Of the program, with its Ethernet header.
void Control::resolve_for_link(const router::Punted& event) {
    const auto frame = take(event.packet);
    const auto to = Ethernet::parse(frame)->destination;  // its length was checked
    const auto packet = wire::Bytes(frame).subspan(Ethernet::size);
    if (!link_->up()) return counters_.tx_dropped_resolution_down.add();
    const bool arp = event.type == wire::ether_type::arp;
    auto sent = arp ? arp_to_link(packet, own_, hosts_) : discovery_to_link(packet, own_, hosts_);
    if (!sent) return untranslated_[sent.error()].add();
    if (!arp) learn_own(*sent);
    if (!to.multicast()) return send_to_host(to, event.type, std::move(*sent));
    counters_.tx_resolutions.add();
    if (arp) return send(*sent, *link_->broadcast(wire::ether_type::arp));
    const auto group = link::gid_of(address_at(*sent, 24));
    link_->send_to_group(group, std::move(*sent));
}

void Control::send_to_host(MacAddress mac, wire::EtherType type, Packet packet) {
    const auto host = hosts_.find(mac);
    if (!host) return counters_.tx_dropped_resolution_unknown_mac.add();
    link_->locate(*host, type, [this, packet = std::move(packet)](const link::Destination& to) {
        counters_.tx_resolutions.add();
        send(packet, to);
    });
}

void Control::send(wire::Bytes bytes, const link::Destination& to) {
    auto* const packet = make_packet(*setup_.pool, bytes);
    if (packet == nullptr) return counters_.tx_dropped_no_buffer.add();
    auto& end = *queues_.transmit.front().end;
    const pmd::QuiescentGate::Hold hold(end.gate());
    end.send(packet, to);
}

void Control::deliver(wire::EtherType type, MacAddress from, const Packet& packet) {
    auto to = own_.mac;
    if (type == wire::ether_type::arp) {
        const auto arp = wire::EthernetArp::parse(packet);
        if (arp && arp->target_link != own_.mac) to = wire::broadcast_mac;
    } else if (const auto group = group_of_packet(packet, type)) {
        to = group_mac(*group);
    }
    Packet frame(Ethernet::size);
    Ethernet{.destination = to, .source = from, .type = type}.emit(std::span(frame).first<Ethernet::size>());
    frame.insert(frame.end(), packet.begin(), packet.end());
    auto& end = *queues_.receive.front().end;
    auto* const made = make_packet(end.packets(), frame);
    if (made == nullptr) return counters_.rx_dropped_no_buffer.add();
    counters_.rx_resolutions.add();
    end.deliver(made);
}

// hosts

/// Sees to it that the ends know the way to a host, and calls `then`; never, if there is none. `again`: they are told
/// in any case.
void Control::know(const IpoibAddress& host, std::function<void()> then, Again again) {
    link_->find(host, [this, host, again, then = std::move(then)](const Way& way) {
        const auto proxy = hosts_.of(host);
        if (proxy.forgotten) forget(*proxy.forgotten);
        const auto known = ways_.find(proxy.mac);
        if (known == ways_.end() || again == Again::yes || known->second.to != way.ipv4.address)
            set_way(proxy.mac, way);
        then();
    });
}

void Control::set_way(MacAddress mac, const Way& way) {
    forget_sender(mac);
    ways_.insert_or_assign(mac, Known{.to = way.ipv4.address, .sender = way.sender});
    change_receivers([&](auto& end) { end.set_sender(way.sender, mac); });
    change_transmitters([&](auto& end) { end.set_host(mac, way.ipv4, way.ipv6); });
}

void Control::forget_sender(MacAddress mac) {
    const auto known = ways_.find(mac);
    if (known == ways_.end()) return;
    change_receivers([&](auto& end) { end.set_sender(known->second.sender, std::nullopt); });
}

void Control::forget(MacAddress mac) {
    forget_sender(mac);
    ways_.erase(mac);
    change_transmitters([&](auto& end) { end.forget_host(mac); });
}

/// What packets carry of the port, or the paths, may have changed.
void Control::locate_all() {
    std::vector<IpoibAddress> hosts;
    for (const auto& [mac, way] : ways_)
        if (const auto host = hosts_.find(mac)) hosts.push_back(*host);
    for (const auto& host : hosts) know(host, [] {}, Again::yes);
}

/// The solicited-node groups of the program's addresses, by which it is asked for them: it says which these are when
/// it probes for them, and whenever it solicits or advertises.
void Control::learn_own(wire::Bytes discovery) {
    const auto read = neighbour::read_discovery<IpoibAddress>(discovery);
    if (read.kind != neighbour::Kind::resolution) return;
    const auto& message = read.message;
    const auto group = neighbour::solicited_node(message.source.value_or(message.subject));
    if (std::ranges::find(own_groups_, group) != own_groups_.end()) return;
    if (own_groups_.size() == most_own_groups) own_groups_.erase(own_groups_.begin());
    own_groups_.push_back(group);
    hear_groups();
}

// groups

void Control::set_groups(std::vector<MacAddress> groups) {
    listed_ = std::move(groups);
    look_for_groups();
}

void Control::look_for_groups() {
    for (const auto& mac : listed_)
        for (const auto& group : groups_of(mac))
            if (link::ipv4_of(group)) link_->look_for(group);
    hear_groups();
}

void Control::receive_all_groups(bool all) {
    all_groups_ = all;
    hear_groups();
}

/// A MAC address of IPv4 stands for 32 groups: of these, those that somebody has made.
std::set<wire::Gid> Control::wanted_groups() {
    std::set<wire::Gid> wanted(own_groups_.begin(), own_groups_.end());
    wanted.insert(neighbour::all_nodes);
    wanted.insert(reported_.begin(), reported_.end());
    for (const auto& mac : listed_) {
        const auto groups = groups_of(mac);
        for (const auto& group : groups)
            if (groups.size() == 1 || heard_.contains(group) || link_->exists(group)) wanted.insert(group);
    }
    if (all_groups_) {
        for (const auto& group : link_->others()) wanted.insert(group);
        wanted.insert(heard_.begin(), heard_.end());
    }
    while (wanted.size() > most_groups) wanted.erase(std::prev(wanted.end()));
    return wanted;
}

void Control::hear_groups() {
    if (!link_->up()) return;
    const auto wanted = wanted_groups();
    const auto before = std::exchange(heard_, wanted);
    for (const auto& group : before)
        if (!wanted.contains(group)) link_->hear(group, false);
    for (const auto& group : wanted)
        if (!before.contains(group)) link_->hear(group, true);
}

void Control::counters(const CounterVisitor& visit) const {
    counters_.each(visit);
    untranslated_.each(visit);
    hosts_.counters(visit);
    link_->counters(visit);
    listeners_.counters(visit);
}

}  // namespace verbline::net_ipoib
