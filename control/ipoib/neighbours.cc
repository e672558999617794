// SPDX-License-Identifier: BSD-3-Clause
#include "control/ipoib/neighbours.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "control/sa/address_handle.h"
#include "datapath/link/ip_gid.h"
#include "datapath/wire/ethernet.h"
#include "datapath/wire/ipoib.h"
#include "datapath/wire/text.h"

namespace verbline::ipoib {
namespace {

/// User id of the broadcast group's join by this class.
constexpr sa::UserId neighbours_themselves{1};
/// The universal bit of a modified EUI-64 (RFC 4291, appendix A).
constexpr std::byte universal{0x02};

std::vector<wire::Ipv4Prefix> ipv4_of(const std::vector<link::InterfaceAddress>& addresses) {
    std::vector<wire::Ipv4Prefix> out;
    for (const auto& [gid, length] : addresses) {
        if (const auto ip = link::ipv4_of(gid)) out.push_back({*ip, length});
    }
    return out;
}

/// Behind the IPoIB header.
std::vector<std::byte> framed(wire::EtherType type, wire::Bytes payload) {
    std::vector<std::byte> packet(wire::IpoibHeader::size + payload.size());
    wire::IpoibHeader{.type = type}.emit(std::span(packet).first<wire::IpoibHeader::size>());
    std::ranges::copy(payload, packet.begin() + wire::IpoibHeader::size);
    return packet;
}

}  // namespace

struct IpoibNeighbours::Play {
    IpoibNeighbours& self;

    void operator()(const host::Arp::SendArp& action) const {
        std::array<std::byte, host::ArpMessage::max_size> message;
        auto packet = framed(wire::ether_type::arp, wire::Bytes(message).first(action.message.emit(message)));
        if (action.to) return self.send(std::get<wire::IpoibAddress>(*action.to), std::move(packet));
        if (!self.group_) return self.counters_.ipoib_tx_dropped_no_path.add();
        self.setup_.send(sa::address_handle(*self.group_, self.mgid_), wire::multicast_qpn, packet);
    }
    void operator()(const host::Arp::Resolved& action) const {
        self.finish(link::gid_of(action.ip), std::get<wire::IpoibAddress>(action.link).gid);
    }
    void operator()(const host::Arp::Failed& action) const {
        self.finish(link::gid_of(action.ip),
                    failure(EHOSTUNREACH, fmt::format("nobody answers for {}", wire::to_string(action.ip))));
    }
    void operator()(const host::Arp::Removed&) const {}

    void operator()(const IpoibDiscovery::Send& action) const {
        auto packet = framed(wire::ether_type::ipv6, action.packet);
        if (const auto* group = std::get_if<wire::Gid>(&action.to))
            self.groups_.send(*group, std::move(packet));
        else
            self.send(std::get<wire::IpoibAddress>(action.to), std::move(packet));
    }
    void operator()(const IpoibDiscovery::Resolved& action) const {
        self.groups_.leave(neighbour::solicited_node(action.address));
        self.finish(action.address, action.link.gid);
    }
    void operator()(const IpoibDiscovery::Failed& action) const {
        self.groups_.leave(neighbour::solicited_node(action.address));
        self.finish(action.address,
                    failure(EHOSTUNREACH, fmt::format("nobody answers for {}", wire::to_string(action.address))));
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
      arp_(own_link()),
      discovery_(own_link()),
      groups_(agent,
              {.pkey = setup_.pkey, .on_joined = setup_.on_group, .send = [this](const auto& to, wire::Bytes packet) {
                   setup_.send(to, wire::multicast_qpn, packet);
               }}) {
    discovery_.set_addresses(setup_.addresses);
    play(arp_.set_addresses(ipv4_of(setup_.addresses)));
    agent_.groups().join(mgid_, neighbours_themselves, wire::join_state::full_member,
                         {.pkey = setup_.pkey, .create_like = {}},
                         [this](const auto& answer) { broadcast_granted(answer); });
}

IpoibNeighbours::~IpoibNeighbours() {
    agent_.groups().leave(mgid_, neighbours_themselves);
}

void IpoibNeighbours::broadcast_granted(const std::expected<sa::Group, sa::SaStatus>& answer) {
    if (!answer) {
        const auto refused =
            failure(ENETDOWN, fmt::format("the subnet administrator refuses the broadcast group {}: {}",
                                          wire::to_string(mgid_), sa::describe(answer.error())));
        for (auto& [ticket, waiting] : std::exchange(waiting_, {})) waiting.found(refused);
        return;
    }
    group_ = *answer;
    setup_.on_group(mgid_, *group_);
    groups_.set_broadcast(mgid_, *group_);
    for (const auto& group : discovery_.groups()) groups_.listen(group);
    arp_.set_link(own_link());
    discovery_.set_link(own_link());
    play(arp_.announce(loop_.now()));
    discovery_.announce(loop_.now());
    std::vector<wire::Gid> asked;
    asked.reserve(waiting_.size());
    for (const auto& [ticket, waiting] : waiting_) asked.push_back(waiting.address);
    for (const auto& address : asked) ask(address);
    schedule();
}

void IpoibNeighbours::find(Ticket ticket, const wire::Gid& address, Found found) {
    if (std::ranges::find(setup_.addresses, address, &link::InterfaceAddress::gid) != setup_.addresses.end()) {
        return found(agent_.port().gid());
    }
    waiting_.insert_or_assign(ticket, Waiting{address, std::move(found)});
    // Who may not ask yet waits; once let in, all are asked for.
    if (group_) ask(address);
}

void IpoibNeighbours::ask(const wire::Gid& address) {
    if (const auto ip = link::ipv4_of(address)) return play(arp_.resolve(*ip, loop_.now()));
    play(discovery_.resolve(address, loop_.now()));
}

void IpoibNeighbours::cancel(Ticket ticket) {
    waiting_.erase(ticket);
}

void IpoibNeighbours::received(wire::Bytes packet) {
    const auto header = wire::IpoibHeader::parse(packet);
    if (!header) return counters_.ipoib_rx_dropped_short.add();
    const auto payload = packet.subspan(wire::IpoibHeader::size);
    if (header->type == wire::ether_type::arp) return play(arp_.received(payload, loop_.now()));
    if (header->type == wire::ether_type::ipv6) return play(discovery_.received(payload, loop_.now()));
    counters_.ipoib_rx_dropped_type.add();
}

void IpoibNeighbours::play(const host::Arp::Actions& actions) {
    for (const auto& action : actions) std::visit(Play{*this}, action);
    schedule();
}

void IpoibNeighbours::play(const IpoibDiscovery::Actions& actions) {
    for (const auto& action : actions) std::visit(Play{*this}, action);
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
    auto due = arp_.deadline();
    if (const auto other = discovery_.deadline()) due = due ? std::min(*due, *other) : *other;
    if (!due) return timer_.cancel();
    timer_ = loop_.at(*due, [this] {
        play(arp_.tick(loop_.now()));
        play(discovery_.tick(loop_.now()));
    });
}

void IpoibNeighbours::counters(const CounterVisitor& visit) const {
    counters_.each(visit);
    groups_.counters(visit);
    arp_.counters().each(visit);
    discovery_.counters().each(visit);
}

}  // namespace verbline::ipoib
