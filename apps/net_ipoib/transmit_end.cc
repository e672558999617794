// SPDX-License-Identifier: BSD-3-Clause
#include "apps/net_ipoib/transmit_end.h"

#include <algorithm>
#include <thread>
#include <utility>

#include <rte_mbuf.h>

#include "apps/net_ipoib/group_addresses.h"
#include "apps/net_ipoib/translate.h"
#include "datapath/link/ip_gid.h"
#include "datapath/link/mbuf.h"
#include "datapath/offload/packet.h"
#include "datapath/wire/ethernet.h"
#include "datapath/wire/ip.h"
#include "datapath/wire/ipv4.h"
#include "datapath/wire/ipv6.h"
#include "pmd/base/clock.h"

namespace verbline::net_ipoib {
namespace {

using offload::first_segment;
using wire::Ethernet, wire::MacAddress;

constexpr wire::EtherType vlan_tag{0x8100}, service_tag{0x88a8};
constexpr Time longest_wait = 2 * millisecond;
/// Behind a packet, which is to lie in one buffer: padding, ICRC and VCRC.
constexpr std::uint16_t trailer = 3 + 4 + 2;

/// IGMP, or MLD behind its hop-by-hop option (RFC 3810, 5).
bool may_report_membership(wire::Bytes packet, wire::EtherType type) {
    if (type == wire::ether_type::ipv4) {
        constexpr std::uint8_t igmp = 2;
        return wire::load8(packet, 9) == igmp;
    }
    constexpr std::uint8_t hop_by_hop = 0;
    return wire::load8(packet, 6) == hop_by_hop;
}

}  // namespace

TransmitEnd::TransmitEnd(const Setup& setup)
    : link_(*setup.device, setup.queue, *setup.pool),
      pool_(*setup.pool),
      mtu_(setup.mtu),
      table_({.capacity = 2 * setup.hosts}, table_counters_),
      events_(*setup.events, setup.wake) {}

/// The first bytes of a group's address are never these.
TransmitEnd::Table::NeighbourKey TransmitEnd::key_of(MacAddress mac, wire::EtherType type) {
    Table::NeighbourKey key{.interface = forward::InterfaceId{type == wire::ether_type::ipv6}};
    std::ranges::copy(mac.bytes, key.address.bytes.begin() + 10);
    key.address.bytes[0] = std::byte{0x02};
    return key;
}

TransmitEnd::Table::NeighbourKey TransmitEnd::key_of(const wire::Gid& group) {
    return {.interface = forward::InterfaceId{!link::ipv4_of(group).has_value()}, .address = {group.bytes}};
}

/// While the control thread is on the same CPU, it gets on only if we yield.
bool TransmitEnd::enter() noexcept {
    if (gate_.enter()) [[likely]]
        return true;
    for (const auto until = monotonic_now() + longest_wait; monotonic_now() < until; std::this_thread::yield())
        if (gate_.enter()) return true;
    counters_.tx_refused_bursts.add();
    return false;
}

void TransmitEnd::leave() noexcept {
    const bool unfinished = link_.staged() > 0 || table_.pending() > 0;
    if (unfinished != unfinished_.load(std::memory_order_relaxed)) [[unlikely]]
        unfinished_.store(unfinished, std::memory_order_relaxed);
    gate_.leave();
}

std::uint16_t TransmitEnd::transmit(std::span<rte_mbuf*> frames) noexcept {
    if (!enter()) return 0;
    std::size_t taken = 0;
    if (link_.congested()) link_.flush();
    while (taken < frames.size() && !link_.congested()) {
        std::array<rte_mbuf*, pmd::max_burst> packets;
        std::array<const link::Destination*, pmd::max_burst> to;
        std::size_t ready = 0;
        const auto burst = frames.subspan(taken, std::min(frames.size() - taken, pmd::max_burst));
        for (auto* frame : burst) {
            if (const auto* destination = route(frame)) [[likely]] {
                packets[ready] = frame;
                to[ready++] = destination;
            }
        }
        taken += burst.size();
        if (ready > 0) link_.transmit(pmd::Burst(packets).first(ready), link::Destinations(to).first(ready));
        link_.flush();
    }
    if (std::exchange(emitted_, false)) [[unlikely]]
        events_.wake_control(true, monotonic_now());
    leave();
    return static_cast<std::uint16_t>(taken);
}

const link::Destination* TransmitEnd::drop(rte_mbuf& frame, Counter& why) noexcept {
    why.add();
    rte_pktmbuf_free(&frame);
    return nullptr;
}

const link::Destination* TransmitEnd::route(rte_mbuf*& frame) noexcept {
    if (frame->data_len < Ethernet::size) [[unlikely]]
        return drop(*frame, counters_.tx_dropped_malformed);
    const auto header = offload::checked_header<Ethernet>(*frame);
    const auto type = header.get<&Ethernet::type>();
    const auto mac = header.get<&Ethernet::destination>();
    if (type == wire::ether_type::ipv4 || type == wire::ether_type::ipv6) [[likely]] {
        const auto least = type == wire::ether_type::ipv4 ? wire::Ipv4::size : wire::Ipv6::size;
        if (frame->data_len < Ethernet::size + least) return drop(*frame, counters_.tx_dropped_malformed);
        if (type == wire::ether_type::ipv6 && is_discovery(first_segment(*frame).subspan(Ethernet::size))) [[unlikely]]
            return punt(*frame, type), nullptr;
        const bool large = (frame->ol_flags & RTE_MBUF_F_TX_TCP_SEG) != 0;
        if (!large && frame->pkt_len > mtu_ + Ethernet::size) return drop(*frame, counters_.tx_dropped_too_long);
        if (!own(frame)) return nullptr;
        return mac.multicast() ? route_group(*frame, type) : route_unicast(*frame, mac, type);
    }
    if (type == wire::ether_type::arp) return punt(*frame, type), nullptr;
    const bool tagged = type == vlan_tag || type == service_tag;
    return drop(*frame, tagged ? counters_.tx_dropped_vlan : counters_.tx_dropped_ethertype_of_program);
}

/// Sees to it that the frame may be written to, and has room for the link's headers. False: it was dropped.
bool TransmitEnd::own(rte_mbuf*& frame) noexcept {
    const bool ours = rte_mbuf_refcnt_read(frame) == 1 && RTE_MBUF_DIRECT(frame);
    const bool large = (frame->ol_flags & RTE_MBUF_F_TX_TCP_SEG) != 0;  // its segments are written elsewhere
    const bool room =
        large || (frame->nb_segs == 1 && rte_pktmbuf_headroom(frame) + Ethernet::size >= ipoib::frame_overhead &&
                  rte_pktmbuf_tailroom(frame) >= trailer);
    if (ours && room) [[likely]]
        return true;
    auto* const copied = rte_pktmbuf_copy(frame, &pool_, 0, UINT32_MAX);
    if (copied == nullptr) return drop(*frame, counters_.tx_dropped_no_copy) != nullptr;
    counters_.tx_copied.add();
    rte_pktmbuf_free(std::exchange(frame, copied));
    return true;
}

const link::Destination* TransmitEnd::route_unicast(rte_mbuf& frame, MacAddress to, wire::EtherType type) noexcept {
    const auto* const found = table_.lookup(key_of(to, type));
    if (found == nullptr) [[unlikely]]
        return drop(frame, counters_.tx_dropped_unknown_mac);
    strip(frame);
    return found;
}

const link::Destination* TransmitEnd::route_group(rte_mbuf& frame, wire::EtherType type) noexcept {
    const auto mac = offload::checked_header<Ethernet>(frame).get<&Ethernet::destination>();
    const auto packet = first_segment(frame).subspan(Ethernet::size);
    if (mac == wire::broadcast_mac) {
        if (!broadcast_ || type != wire::ether_type::ipv4) return drop(frame, counters_.tx_dropped_group_mismatch);
        strip(frame);
        return &*broadcast_;
    }
    const auto group = group_of_packet(packet, type);
    if (!group) return drop(frame, counters_.tx_dropped_group_mismatch);
    strip(frame);
    if (may_report_membership(first_segment(frame), type)) report_membership(frame);
    const auto* const found = table_.lookup(key_of(*group));
    if (found == nullptr) wait_for_group(frame, *group);
    return found;
}

/// Takes the header off, and counts.
void TransmitEnd::strip(rte_mbuf& frame) noexcept {
    counters_.tx_frames.add();
    counters_.tx_frame_bytes.add(frame.pkt_len);
    rte_pktmbuf_adj(&frame, Ethernet::size);
    link::set_link_header(frame, 0);
}

void TransmitEnd::wait_for_group(rte_mbuf& packet, const wire::Gid& group) noexcept {
    const auto key = key_of(group);
    if (table_.enqueue(key, &packet, monotonic_now()) != forward::Enqueued::first) return;
    emitted_ = true;
    if (events_.emit(router::Unresolved{.address = group})) return;
    counters_.tx_dropped_control_busy.add();
    table_.remove(key);
}

/// With its Ethernet header, which says for whom it is.
void TransmitEnd::punt(rte_mbuf& frame, wire::EtherType type) noexcept {
    counters_.tx_frames.add();
    counters_.tx_frame_bytes.add(frame.pkt_len);
    emitted_ = true;
    if (events_.emit(router::Punted{.type = type, .packet = &frame})) return;
    drop(frame, counters_.tx_dropped_control_busy);
}

/// A copy: the packet itself goes on.
void TransmitEnd::report_membership(const rte_mbuf& packet) noexcept {
    auto* const copied = rte_pktmbuf_copy(&packet, &pool_, 0, UINT32_MAX);
    if (copied == nullptr) return;
    emitted_ = true;
    if (!events_.emit(router::MembershipHeard{.from_kernel = true, .packet = copied})) rte_pktmbuf_free(copied);
}

void TransmitEnd::set_host(MacAddress mac, const link::Destination& ipv4, const link::Destination& ipv6) {
    table_.set(key_of(mac, wire::ether_type::ipv4), ipv4);
    table_.set(key_of(mac, wire::ether_type::ipv6), ipv6);
}

void TransmitEnd::forget_host(MacAddress mac) {
    table_.remove(key_of(mac, wire::ether_type::ipv4));
    table_.remove(key_of(mac, wire::ether_type::ipv6));
}

void TransmitEnd::set_group(const wire::Gid& group, const link::Destination& to) {
    auto [stored, waited] = table_.set(key_of(group), to);
    for (auto* packet : waited.span()) link_.transmit(packet, to);
    link_.flush();
}

void TransmitEnd::fail_group(const wire::Gid& group) {
    auto waited = table_.fail(key_of(group));
    for (auto* packet : waited.span()) rte_pktmbuf_free(packet);
    table_.remove(key_of(group));
}

void TransmitEnd::send(rte_mbuf* packet, const link::Destination& to) {
    link_.transmit(packet, to);
    link_.flush();
}

void TransmitEnd::look_after(Time now) {
    table_.expire(now, [](const auto&, auto waited) {
        for (auto* packet : waited.span()) rte_pktmbuf_free(packet);
    });
    if (link_.staged() > 0) link_.flush();
    unfinished_.store(link_.staged() > 0 || table_.pending() > 0, std::memory_order_relaxed);
}

void TransmitEnd::counters(const CounterVisitor& visit) const {
    link_.counters(visit);
    counters_.each(visit);
    table_counters_.each(visit);
}

}  // namespace verbline::net_ipoib
