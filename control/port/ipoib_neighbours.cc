// SPDX-License-Identifier: BSD-3-Clause
#include "control/port/ipoib_neighbours.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "control/sa/address_handle.h"
#include "datapath/link/ip_gid.h"
#include "datapath/wire/ethernet.h"
#include "datapath/wire/ipoib.h"
#include "datapath/wire/text.h"

namespace verbline::port {
namespace {

/// The only user of the broadcast group on our port, as far as this process goes.
constexpr sa::UserId neighbours_themselves{1};
/// The universal bit of a modified EUI-64 (RFC 4291, appendix A).
constexpr std::byte universal{0x02};

}  // namespace

wire::Gid ipv6_link_local_of(const wire::Gid& port) {
    auto address = wire::Gid::of(wire::default_subnet_prefix, port.interface_id());
    address.bytes[8] |= universal;
    return address;
}

std::optional<wire::Gid> port_of_ipv6_link_local(const wire::Gid& address, std::uint64_t subnet_prefix) {
    if (address.prefix() != wire::default_subnet_prefix) return std::nullopt;
    auto port = wire::Gid::of(subnet_prefix, address.interface_id());
    port.bytes[8] &= ~universal;
    return port;
}

IpoibNeighbours::IpoibNeighbours(control::Loop& loop, sa::Agent& agent, Setup setup)
    : loop_(loop),
      agent_(agent),
      setup_(std::move(setup)),
      mgid_(wire::ipoib_broadcast_mgid(setup_.pkey)),
      arp_(wire::IpoibAddress{.qpn = setup_.qpn, .gid = agent.port().gid()}) {
    play(arp_.set_addresses(setup_.addresses));
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
    setup_.on_broadcast_group(mgid_, *group_);
    arp_.set_link(wire::IpoibAddress{.qpn = setup_.qpn, .gid = agent_.port().gid()});
    play(arp_.announce(loop_.now()));
    std::vector<wire::Ipv4Address> asked;
    for (const auto& [ticket, waiting] : waiting_) asked.push_back(waiting.ip);
    for (const auto ip : asked) play(arp_.resolve(ip, loop_.now()));
}

void IpoibNeighbours::find(Ticket ticket, const wire::Gid& address, Found found) {
    const auto& port = agent_.port();
    const auto ip = link::ipv4_of(address);
    if (!ip) {
        if (const auto gid = port_of_ipv6_link_local(address, port.subnet_prefix)) return found(*gid);
        return found(failure(EAFNOSUPPORT, fmt::format("{}: of IPv6, only link-local addresses are known on a soft "
                                                       "fabric; use one of those, or IPv4",
                                                       wire::to_string(address))));
    }
    if (std::ranges::any_of(setup_.addresses, [&](const auto& own) { return own.address == *ip; })) {
        return found(port.gid());
    }
    waiting_.insert_or_assign(ticket, Waiting{*ip, std::move(found)});
    // Who may not ask yet waits; once let in, all are asked for.
    if (group_) play(arp_.resolve(*ip, loop_.now()));
}

void IpoibNeighbours::cancel(Ticket ticket) {
    waiting_.erase(ticket);
}

void IpoibNeighbours::received(wire::Bytes packet) {
    const auto header = wire::IpoibHeader::parse(packet);
    if (!header) return counters_.ipoib_rx_dropped_short.add();
    if (header->type != wire::ether_type::arp) return counters_.ipoib_rx_dropped_type.add();
    play(arp_.received(packet.subspan(wire::IpoibHeader::size), loop_.now()));
}

void IpoibNeighbours::play(const host::Arp::Actions& actions) {
    for (const auto& action : actions) std::visit([this](const auto& each) { run(each); }, action);
    schedule();
}

void IpoibNeighbours::run(const host::Arp::SendArp& action) {
    std::vector<std::byte> packet(wire::IpoibHeader::size + host::ArpMessage::max_size);
    wire::IpoibHeader{.type = wire::ether_type::arp}.emit(std::span(packet).first<wire::IpoibHeader::size>());
    packet.resize(wire::IpoibHeader::size + action.message.emit(std::span(packet).subspan(wire::IpoibHeader::size)));
    if (!action.to) {
        if (!group_) return counters_.ipoib_tx_dropped_no_path.add();
        return setup_.send(sa::address_handle(*group_, mgid_), wire::multicast_qpn, packet);
    }
    const auto& to = std::get<wire::IpoibAddress>(*action.to);
    agent_.paths().resolve(agent_.paths().key(to.gid, setup_.pkey),
                           [this, alive = std::weak_ptr(alive_), qpn = to.qpn,
                            packet = std::move(packet)](const sa::Answer<wire::PathRecord>& path) {
                               if (alive.expired()) return;
                               if (!path) return counters_.ipoib_tx_dropped_no_path.add();
                               setup_.send(sa::address_handle(*path), qpn, packet);
                           });
}

void IpoibNeighbours::run(const host::Arp::Resolved& action) {
    finish(action.ip, std::get<wire::IpoibAddress>(action.link).gid);
}

void IpoibNeighbours::run(const host::Arp::Failed& action) {
    finish(action.ip, failure(EHOSTUNREACH, fmt::format("nobody answers for {}", wire::to_string(action.ip))));
}

void IpoibNeighbours::finish(wire::Ipv4Address ip, const Result<wire::Gid>& result) {
    std::vector<Found> told;
    std::erase_if(waiting_, [&](auto& entry) {
        if (entry.second.ip != ip) return false;
        told.push_back(std::move(entry.second.found));
        return true;
    });
    for (const auto& found : told) found(result);
}

void IpoibNeighbours::schedule() {
    const auto deadline = arp_.deadline();
    timer_ = deadline ? loop_.at(*deadline, [this] { play(arp_.tick(loop_.now())); }) : control::Timer();
}

void IpoibNeighbours::counters(const CounterVisitor& visit) const {
    counters_.each(visit);
    arp_.counters().each(visit);
}

}  // namespace verbline::port
