// SPDX-License-Identifier: BSD-3-Clause
#include "control/ipoib/neighbours.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "control/sa/address_handle.h"
#include "datapath/link/ip_gid.h"
#include "datapath/neighbour/arp.h"
#include "datapath/neighbour/discovery.h"
#include "datapath/wire/ethernet.h"
#include "datapath/wire/ipoib.h"
#include "datapath/wire/text.h"

namespace verbline::ipoib {
namespace {

/// User id of the broadcast group's join by this class.
constexpr sa::UserId neighbours_themselves{1};
/// The universal bit of a modified EUI-64 (RFC 4291, appendix A).
constexpr std::byte universal{0x02};

/// Behind the IPoIB header.
std::vector<std::byte> framed(wire::EtherType type, wire::Bytes payload) {
    std::vector<std::byte> packet(wire::IpoibHeader::size + payload.size());
    wire::IpoibHeader{.type = type}.emit(std::span(packet).first<wire::IpoibHeader::size>());
    std::ranges::copy(payload, packet.begin() + wire::IpoibHeader::size);
    return packet;
}

}  // namespace

struct IpoibNeighbours::ActionVisitor {
    IpoibNeighbours& self;

    void operator()(const neighbour::Send& action) const {
        const auto& [message, to] = action;
        const bool ipv4 = neighbour::family_of(message.source.value_or(message.subject)) == neighbour::Family::ipv4;
        std::array<std::byte, std::max(neighbour::max_arp_size, neighbour::max_discovery_size)> bytes;
        const auto size = ipv4 ? write_arp(bytes, message, to) : write_discovery(bytes, message, to.has_value());
        auto packet = framed(ipv4 ? wire::ether_type::arp : wire::ether_type::ipv6, wire::Bytes(bytes).first(size));
        if (to) return self.send(std::get<wire::IpoibAddress>(*to), std::move(packet));
        if (!ipv4) return self.groups_.send(multicast_group_of(message), std::move(packet));
        if (!self.group_) return self.counters_.ipoib_tx_dropped_no_path.add();
        self.setup_.send(sa::address_handle(*self.group_, self.mgid_), wire::multicast_qpn, packet);
    }
    void operator()(const neighbour::Resolved& action) const {
        leave_solicited_node(action.address);
        self.finish(action.address, std::get<wire::IpoibAddress>(action.link).gid);
    }
    void operator()(const neighbour::Failed& action) const {
        leave_solicited_node(action.address);
        const auto ipv4 = link::ipv4_of(action.address);
        self.finish(action.address, failure(EHOSTUNREACH, fmt::format("no host answers for {}",
                                                                      ipv4 ? wire::to_string(*ipv4)
                                                                           : wire::to_string(action.address))));
    }
    void operator()(const neighbour::Removed&) const {}
    void operator()(const neighbour::Conflict&) const {}
    void operator()(const neighbour::Yielded&) const {}

    void leave_solicited_node(const wire::Gid& address) const {
        if (neighbour::family_of(address) == neighbour::Family::ipv6)
            self.groups_.leave(neighbour::solicited_node(address));
    }
};

wire::Gid ipv6_link_local_of(const wire::Gid& port) {
    auto address = wire::Gid::of(wire::default_subnet_prefix, port.interface_id());
    address.bytes[8] |= universal;
    return address;
}

IpoibNeighbours::IpoibNeighbours(control::Loop& loop, sa::Agent& agent, Setup setup)
    : loop_(loop),
      agent_(agent),
      setup_(std::move(setup)),
      mgid_(wire::ipoib_broadcast_mgid(setup_.pkey)),
      engine_(own_link(), {.use = neighbour::Use::on_demand}),
      groups_(agent,
              {.pkey = setup_.pkey, .on_joined = setup_.on_group, .send = [this](const auto& to, wire::Bytes packet) {
                   setup_.send(to, wire::multicast_qpn, packet);
               }}) {
    play(engine_.set_addresses(setup_.addresses, loop_.now()));
    port_events_ = agent_.on_event([this](mad::PortEvent what) {
        if (what == mad::PortEvent::gid_change) follow_gid();
        if (refused_ && what != mad::PortEvent::port_down) join_broadcast_group();
    });
    join_broadcast_group();
}

void IpoibNeighbours::join_broadcast_group() {
    refused_ = false;
    agent_.groups().join(mgid_, neighbours_themselves, wire::join_state::full_member,
                         {.pkey = setup_.pkey, .create_like = {}},
                         [this](const auto& answer) { broadcast_granted(answer); });
}

IpoibNeighbours::~IpoibNeighbours() {
    agent_.groups().leave(mgid_, neighbours_themselves);
}

void IpoibNeighbours::broadcast_granted(const std::expected<sa::Group, sa::SaStatus>& answer) {
    if (!answer) {
        refused_ = true;  // until the port has changed, as by being let into the partition
        const auto refused =
            failure(ENETDOWN, fmt::format("the subnet administrator refuses the broadcast group {}: {}",
                                          wire::to_string(mgid_), sa::describe(answer.error())));
        for (auto& [ticket, waiting] : std::exchange(waiting_, {})) waiting.found(refused);
        return;
    }
    group_ = *answer;
    setup_.on_group(mgid_, *group_);
    groups_.set_broadcast(mgid_, *group_);
    for (const auto& group : neighbour::groups_of(setup_.addresses)) groups_.listen(group);
    engine_.set_link(own_link());
    play(engine_.announce(loop_.now()));
    std::vector<wire::Gid> asked;
    asked.reserve(waiting_.size());
    for (const auto& [ticket, waiting] : waiting_) asked.push_back(waiting.address);
    for (const auto& address : asked) ask(address);
}

/// Neighbours that know an address of ours have its old GID.
void IpoibNeighbours::follow_gid() {
    engine_.set_link(own_link());
    if (group_) play(engine_.announce(loop_.now()));
}

void IpoibNeighbours::find(Ticket ticket, const wire::Gid& address, Found found) {
    if (std::ranges::find(setup_.addresses, address, &link::InterfaceAddress::gid) != setup_.addresses.end()) {
        return found(agent_.port().gid());
    }
    waiting_.insert_or_assign(ticket, Waiting{address, std::move(found)});
    // Before the broadcast group is joined, requests wait; on joining, all are sent.
    if (group_) ask(address);
}

void IpoibNeighbours::ask(const wire::Gid& address) {
    play(engine_.resolve(address, loop_.now()));
}

void IpoibNeighbours::cancel(Ticket ticket) {
    waiting_.erase(ticket);
}

void IpoibNeighbours::received(wire::Bytes packet) {
    const auto header = wire::IpoibHeader::parse(packet);
    if (!header) return counters_.ipoib_rx_dropped_short.add();
    const auto payload = packet.subspan(wire::IpoibHeader::size);
    neighbour::Read read;
    if (header->type == wire::ether_type::arp) {
        read = neighbour::read_arp(payload, engine_.link());
    } else if (header->type == wire::ether_type::ipv6) {
        read = neighbour::read_discovery<wire::IpoibAddress>(payload);
        if (read.kind == neighbour::Kind::other) return counters_.nd_rx_dropped_type.add();
    } else {
        return counters_.ipoib_rx_dropped_type.add();
    }
    play(engine_.received(read, loop_.now()));
}

void IpoibNeighbours::play(const neighbour::Actions& actions) {
    for (const auto& action : actions) std::visit(ActionVisitor{*this}, action);
    schedule();
}

void IpoibNeighbours::send(const wire::IpoibAddress& to, std::vector<std::byte> packet) {
    agent_.paths().resolve(agent_.paths().key(to.gid, setup_.pkey),
                           [this, alive = std::weak_ptr(alive_), qpn = to.qpn,
                            packet = std::move(packet)](const sa::Answer<wire::PathRecord>& path) {
                               if (alive.expired()) return;
                               if (!path) return counters_.ipoib_tx_dropped_no_path.add();
                               setup_.send(sa::address_handle(*path), qpn, packet);
                           });
}

void IpoibNeighbours::finish(const wire::Gid& address, const Result<wire::Gid>& result) {
    std::vector<Found> answered;
    std::erase_if(waiting_, [&](auto& entry) {
        if (entry.second.address != address) return false;
        answered.push_back(std::move(entry.second.found));
        return true;
    });
    for (const auto& found : answered) found(result);
}

void IpoibNeighbours::schedule() {
    const auto due = engine_.deadline();
    if (!due) return timer_.cancel();
    timer_ = loop_.at(*due, [this] { play(engine_.tick(loop_.now())); });
}

void IpoibNeighbours::counters(const CounterVisitor& visit) const {
    counters_.each(visit);
    groups_.counters(visit);
    engine_.counters().each(neighbour::Family::ipv4, visit);
    engine_.counters().each(neighbour::Family::ipv6, visit);
}

}  // namespace verbline::ipoib
