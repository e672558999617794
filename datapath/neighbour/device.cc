// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/neighbour/device.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <memory>
#include <new>
#include <tuple>
#include <utility>

#include <rte_mbuf.h>

#include "datapath/link/envelope.h"
#include "datapath/link/gid_table.h"
#include "datapath/link/ip_gid.h"
#include "datapath/neighbour/discovery.h"
#include "datapath/neighbour/echo.h"
#include "datapath/wire/ethernet.h"
#include "datapath/wire/ip.h"
#include "datapath/wire/ipv4.h"
#include "datapath/wire/ipv6.h"

namespace verbline::neighbour {
namespace {

constexpr Time never = std::numeric_limits<Time>::max(), at_once = std::numeric_limits<Time>::min();

wire::MutableBytes first_segment(rte_mbuf& packet) {
    return {rte_pktmbuf_mtod(&packet, std::byte*), packet.data_len};
}

/// Whether the packet may be ARP, ND, ICMP echo, IGMP or MLD. All else, such as RoCE, is ruled out by two loads.
bool concerns_us(const rte_mbuf& packet) {
    constexpr std::size_t type_at = 12, protocol_at = wire::Ethernet::size + 9,
                          next_header_at = wire::Ethernet::size + 6;
    constexpr std::size_t shortest = wire::Ethernet::size + wire::Ipv4::size;
    if (packet.data_len < shortest) return false;
    const wire::Bytes frame(rte_pktmbuf_mtod(&packet, const std::byte*), shortest);
    const auto is = [&](std::size_t at, wire::IpProtocol protocol) {
        return wire::load8(frame, at) == static_cast<std::uint8_t>(protocol);
    };
    switch (wire::EtherType{wire::load16(frame, type_at)}) {
        case wire::ether_type::ipv4:
            return is(protocol_at, wire::IpProtocol::icmp) || is(protocol_at, wire::IpProtocol::igmp);
        case wire::ether_type::ipv6:
            // MLD stands behind the hop-by-hop header by which it alerts routers (RFC 2710, 3).
            return is(next_header_at, wire::IpProtocol::icmpv6) || is(next_header_at, wire::IpProtocol::hop_by_hop);
        case wire::ether_type::arp: return true;
        default: return false;
    }
}

pmd::MulticastAddress group_of(const wire::Gid& group) {
    return {.mac = link::multicast_mac(link::Carrier::roce_v2_ipv6, group), .mgid = group};
}

/// Source addresses of reports: the first local IPv4 address, and the link-local one.
ReportSource source_of(const std::vector<link::InterfaceAddress>& addresses, const wire::MacAddress& mac) {
    ReportSource source{.ipv4 = {}, .link_local = {link::link_local_gid(mac).bytes}};
    for (const auto& address : addresses) {
        const auto ip = link::ipv4_of(address.gid);
        if (ip && source.ipv4 == wire::Ipv4Address{}) source.ipv4 = *ip;
    }
    return source;
}

}  // namespace

NeighbourDevice::NeighbourDevice(std::unique_ptr<pmd::NetDevice> device, const wire::MacAddress& mac, rte_mempool* pool,
                                 Clock clock)
    : pmd::Decorator(std::move(device)),
      pool_(pool),
      clock_(std::move(clock)),
      neighbours_(mac),
      groups_(wire::load32(mac.bytes, 2)),
      due_(never) {
    // Devices that receive all multicast return an error for these, which can be ignored.
    std::ignore = inner().attach_multicast(group_of(all_nodes));
    std::ignore = inner().attach_multicast(group_of(solicited_node(link::link_local_gid(mac))));
}

void NeighbourDevice::set_addresses(const std::vector<link::InterfaceAddress>& addresses) {
    const std::scoped_lock lock(mutex_);
    for (const auto& before : std::exchange(addresses_, addresses)) {
        if (family_of(before.gid) == Family::ipv6) {
            std::ignore = inner().detach_multicast(group_of(solicited_node(before.gid)));
        }
    }
    for (const auto& address : addresses) {
        if (family_of(address.gid) == Family::ipv6) {
            std::ignore = inner().attach_multicast(group_of(solicited_node(address.gid)));
        }
    }
    const auto now = clock_();
    neighbours_.set_addresses(addresses, now);
    groups_.set_source(source_of(addresses, neighbours_.mac()), now);
    schedule();
}

std::optional<wire::MacAddress> NeighbourDevice::find(const wire::Gid& gid) const {
    const std::scoped_lock lock(mutex_);
    return neighbours_.lookup(gid, clock_());
}

void NeighbourDevice::resolve(const wire::Gid& gid) {
    const std::scoped_lock lock(mutex_);
    if (std::ranges::find(requests_, gid) != requests_.end()) return;
    if (requests_.size() >= max_requests) return counters_.neighbour_requests_dropped.add();
    requests_.push_back(gid);
    schedule();
}

bool NeighbourDevice::resolving(const wire::Gid& gid) const {
    const std::scoped_lock lock(mutex_);
    return neighbours_.resolving(gid) || std::ranges::find(requests_, gid) != requests_.end();
}

void NeighbourDevice::on_answer(std::function<void()> on_answer) {
    const std::scoped_lock lock(mutex_);
    on_answer_ = std::move(on_answer);
}

std::optional<wire::Gid> NeighbourDevice::conflict() const {
    const std::scoped_lock lock(mutex_);
    return neighbours_.conflict();
}

void NeighbourDevice::join(const wire::Gid& group) {
    const std::scoped_lock lock(mutex_);
    keep(groups_.join(group, clock_()));
}

void NeighbourDevice::leave(const wire::Gid& group) {
    const std::scoped_lock lock(mutex_);
    keep(groups_.leave(group, clock_()));
}

void NeighbourDevice::keep(GroupReports::Packets packets) {
    std::ranges::move(packets, std::back_inserter(reports_));
    schedule();
}

void NeighbourDevice::schedule() {
    const auto later = std::min(neighbours_.deadline().value_or(never), groups_.deadline().value_or(never));
    due_.store(requests_.empty() && reports_.empty() ? later : at_once, std::memory_order_relaxed);
}

std::uint16_t NeighbourDevice::rx_burst(std::uint16_t queue, pmd::Burst burst) noexcept {
    send_waiting(queue);
    const auto n = inner().rx_burst(queue, burst);
    std::uint16_t kept = 0;
    for (auto* packet : burst.first(n)) {
        if (!concerns_us(*packet) || !take(queue, packet)) burst[kept++] = packet;
    }
    return kept;
}

std::uint16_t NeighbourDevice::tx_burst(std::uint16_t queue, pmd::Burst burst) noexcept {
    send_waiting(queue);
    return inner().tx_burst(queue, burst);
}

/// False: not ours, and still the caller's.
bool NeighbourDevice::take(std::uint16_t queue, rte_mbuf* packet) noexcept {
    const auto frame = first_segment(*packet);
    const std::scoped_lock lock(mutex_);
    if (const auto target = echo_target(frame, neighbours_.mac()); target && neighbours_.owns(*target)) {
        make_echo_reply(frame, neighbours_.mac());
        packet->ol_flags = 0;
        counters_.neighbour_tx_echo_replies.add();
        transmit(queue, packet);
        return true;
    }
    std::unique_ptr<rte_mbuf, decltype([](rte_mbuf* of) { rte_pktmbuf_free(of); })> taken(packet);
    try {
        const auto now = clock_();
        if (const auto ip = frame.subspan(wire::Ethernet::size); parse_group_message(ip)) {
            groups_.received(ip, now);
        } else {
            const auto outcome = neighbours_.received(frame, now);
            if (!outcome.taken) {
                std::ignore = taken.release();
                return false;
            }
            taken.reset();
            if (outcome.reply) transmit(queue, *outcome.reply);
            if (outcome.found && on_answer_) on_answer_();
        }
    } catch (const std::bad_alloc&) {  // the tables of neighbours and groups grow
        counters_.neighbour_dropped_no_memory.add();
    }
    schedule();
    return true;
}

void NeighbourDevice::send_waiting(std::uint16_t queue) noexcept {
    const auto due = due_.load(std::memory_order_relaxed);
    if (due == never) return;
    const auto now = clock_();
    if (due > now) return;
    const std::scoped_lock lock(mutex_);
    try {
        bool answered = false;
        while (!requests_.empty()) {
            const auto gid = requests_.back();
            requests_.pop_back();  // first, so that a request that fails for lack of memory is not repeated
            answered = answered || neighbours_.lookup(gid, now);
            if (const auto frame = neighbours_.solicit(gid, now)) transmit(queue, *frame);
            answered = answered || !neighbours_.resolving(gid);
        }
        const auto next = neighbours_.tick(now);
        for (const auto& frame : next.frames) transmit(queue, frame);
        answered = answered || next.failed;
        for (const auto& packet : std::exchange(reports_, {})) transmit(queue, packet);
        for (const auto& packet : groups_.tick(now)) transmit(queue, packet);
        if (answered && on_answer_) on_answer_();
    } catch (const std::bad_alloc&) {  // what is left is due in the next burst
        counters_.neighbour_dropped_no_memory.add();
    }
    schedule();
}

/// A packet of that many bytes; none: there is no room, which is counted.
rte_mbuf* NeighbourDevice::allocate(std::size_t size) noexcept {
    auto* const packet = rte_pktmbuf_alloc(pool_);
    if (packet != nullptr && rte_pktmbuf_append(packet, static_cast<std::uint16_t>(size)) != nullptr) return packet;
    rte_pktmbuf_free(packet);
    counters_.neighbour_tx_dropped.add();
    return nullptr;
}

void NeighbourDevice::transmit(std::uint16_t queue, const Frame& frame) noexcept {
    auto* const packet = allocate(frame.size);
    if (packet == nullptr) return;
    std::memcpy(rte_pktmbuf_mtod(packet, std::byte*), frame.bytes.data(), frame.size);
    transmit(queue, packet);
}

void NeighbourDevice::transmit(std::uint16_t queue, const GroupPacket& report) noexcept {
    auto* const packet = allocate(wire::Ethernet::size + report.bytes.size());
    if (packet == nullptr) return;
    const auto frame = first_segment(*packet);
    wire::Ethernet{report.destination, neighbours_.mac(), report.type}.emit(frame.first<wire::Ethernet::size>());
    std::ranges::copy(report.bytes, frame.subspan(wire::Ethernet::size).begin());
    transmit(queue, packet);
}

void NeighbourDevice::transmit(std::uint16_t queue, rte_mbuf* packet) noexcept {
    if (inner().tx_burst(queue, std::span(&packet, 1)) == 1) return;
    rte_pktmbuf_free(packet);
    counters_.neighbour_tx_dropped.add();
}

void NeighbourDevice::counters(const CounterVisitor& visit) const {
    inner().counters(visit);
    for (const auto family : {Family::ipv4, Family::ipv6}) neighbours_.counters().each(family, visit);
    groups_.counters().each(visit);
    counters_.each(visit);
}

}  // namespace verbline::neighbour
