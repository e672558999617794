// SPDX-License-Identifier: BSD-3-Clause
#include "apps/net_ipoib/receive_end.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <rte_mbuf.h>
#include <rte_mbuf_ptype.h>

#include <fmt/format.h>

#include "apps/net_ipoib/group_addresses.h"
#include "apps/net_ipoib/translate.h"
#include "datapath/offload/checksum.h"
#include "datapath/offload/packet.h"
#include "datapath/wire/ethernet.h"
#include "datapath/wire/ipv4.h"
#include "pmd/append.h"
#include "pmd/base/clock.h"

namespace verbline::net_ipoib {
namespace {

using offload::first_segment;
using wire::Ethernet, wire::MacAddress;

constexpr unsigned deliveries_capacity = 256;

}  // namespace

Result<std::unique_ptr<ReceiveEnd>> ReceiveEnd::create(const Setup& setup) {
    auto deliveries = pmd::HandoverRing::create(fmt::format("ipoib{}_rx{}", setup.port, setup.queue), SOCKET_ID_ANY,
                                                deliveries_capacity);
    if (!deliveries) return std::unexpected(deliveries.error());
    return std::unique_ptr<ReceiveEnd>(new ReceiveEnd(setup, std::move(*deliveries)));
}

ReceiveEnd::ReceiveEnd(const Setup& setup, pmd::HandoverRing deliveries)
    : link_(*setup.device, setup.queue, *setup.frames),
      packets_(*setup.packets),
      copies_(setup.packets != setup.frames),
      checksums_(setup.checksums),
      chains_(setup.chains),
      port_(setup.port),
      subnet_senders_({.capacity = setup.hosts, .max_pending = 1}, sender_counters_),
      roce_senders_({.capacity = setup.hosts, .max_pending = 1}, sender_counters_),
      events_(*setup.events, setup.wake),
      deliveries_(std::move(deliveries)) {}

ReceiveEnd::~ReceiveEnd() {
    for (auto i = taken_; i < ready_count_; ++i) rte_pktmbuf_free(ready_[i]);
}

std::uint16_t ReceiveEnd::receive(std::span<rte_mbuf*> out) noexcept {
    if (!gate_.enter()) return 0;
    if (taken_ == ready_count_) poll();
    const auto n = std::min<std::size_t>(out.size(), ready_count_ - taken_);
    std::copy_n(ready_.begin() + taken_, n, out.begin());
    taken_ = static_cast<std::uint16_t>(taken_ + n);
    std::uint64_t bytes = 0;
    for (const auto* frame : out.first(n)) bytes += frame->pkt_len;
    if (n > 0) {
        counters_.rx_frames.add(n);
        counters_.rx_frame_bytes.add(bytes);
    }
    gate_.leave();
    return static_cast<std::uint16_t>(n);
}

/// What the control thread has for the program comes first; it is rare.
void ReceiveEnd::poll() noexcept {
    taken_ = 0;
    ready_count_ = deliveries_.pop(ready_);
    if (ready_count_ > 0) [[unlikely]]
        return;
    link_.receive(received_, origins_);
    if (received_.frames == 0) return events_.wake_control(false, 0);
    accept(pmd::Burst(received_.ip).first(received_.ip_count), origins_.ip, wire::ether_type::ipv4);
    accept(pmd::Burst(received_.ipv6).first(received_.ipv6_count), origins_.ipv6, wire::ether_type::ipv6);
    for (const auto& [type, packet] : std::span(received_.punts).first(received_.punt_count)) punt(type, packet);
    if (std::exchange(emitted_, false)) events_.wake_control(true, monotonic_now());
}

void ReceiveEnd::accept(pmd::Burst packets, std::span<const ipoib::Origin> origins, wire::EtherType type) noexcept {
    for (std::size_t i = 0; i < packets.size(); ++i) {
        auto* packet = packets[i];
        if (type == wire::ether_type::ipv6 && is_discovery(first_segment(*packet))) [[unlikely]] {
            punt(type, packet);
        } else if (finish(packet, origins[i], type)) {
            ready_[ready_count_++] = packet;
        }
    }
}

void ReceiveEnd::punt(wire::EtherType type, rte_mbuf* packet) noexcept {
    emitted_ = true;
    if (events_.emit(router::Punted{.type = type, .packet = packet})) return;
    counters_.rx_dropped_control_busy.add();
    rte_pktmbuf_free(packet);
}

/// Makes it the program's: in its own buffer, with an Ethernet header. False: it was dropped and counted.
bool ReceiveEnd::finish(rte_mbuf*& packet, const ipoib::Origin& origin, wire::EtherType type) noexcept {
    if (checksums_) verify(*packet, type);
    const auto destination = destination_of(*packet, origin, type);
    if (copies_) {
        auto* const copied = copy(*packet);
        rte_pktmbuf_free(packet);
        if (copied == nullptr) return false;
        packet = copied;
    }
    auto* const at = reinterpret_cast<std::byte*>(rte_pktmbuf_prepend(packet, Ethernet::size));  // was longer before
    Ethernet{.destination = destination, .source = sender_of(origin), .type = type}.emit(
        std::span<std::byte, Ethernet::size>(at, Ethernet::size));
    packet->port = port_;
    packet->packet_type = RTE_PTYPE_L2_ETHER | (type == wire::ether_type::ipv4 ? RTE_PTYPE_L3_IPV4_EXT_UNKNOWN
                                                                               : RTE_PTYPE_L3_IPV6_EXT_UNKNOWN);
    return true;
}

MacAddress ReceiveEnd::destination_of(const rte_mbuf& packet, const ipoib::Origin& origin,
                                      wire::EtherType type) const noexcept {
    if (!origin.to_group) [[likely]]
        return mac_;
    const auto group = group_of_packet(first_segment(packet), type);
    return group ? group_mac(*group) : wire::broadcast_mac;
}

MacAddress ReceiveEnd::sender_of(const ipoib::Origin& origin) noexcept {
    if (const auto* known = find_sender(origin)) [[likely]]
        return *known;
    counters_.rx_unknown_sender.add();
    return unknown_sender;
}

void ReceiveEnd::verify(rte_mbuf& packet, wire::EtherType type) noexcept {
    packet.ol_flags &= ~(RTE_MBUF_F_RX_IP_CKSUM_MASK | RTE_MBUF_F_RX_L4_CKSUM_MASK);
    if (type == wire::ether_type::ipv4) {
        const auto bytes = first_segment(packet);
        const auto ip = wire::Ipv4::parse(bytes);
        const bool good = ip && offload::header_verifies(bytes.first(std::size_t{wire::load8(bytes, 0) & 0xfu} * 4));
        packet.ol_flags |= good ? RTE_MBUF_F_RX_IP_CKSUM_GOOD : RTE_MBUF_F_RX_IP_CKSUM_BAD;
        if (!good) return counters_.rx_checksum_bad.add();
    }
    const auto verdict = offload::verify_l4(packet);
    if (verdict == offload::L4Verdict::good) packet.ol_flags |= RTE_MBUF_F_RX_L4_CKSUM_GOOD;
    if (verdict != offload::L4Verdict::bad) return;
    packet.ol_flags |= RTE_MBUF_F_RX_L4_CKSUM_BAD;
    counters_.rx_checksum_bad.add();
}

/// Into the program's buffers: its pool may keep data of the program's beside each, and its size is the program's.
rte_mbuf* ReceiveEnd::copy(const rte_mbuf& packet) noexcept {
    auto* const copied = rte_pktmbuf_alloc(&packets_);
    if (copied == nullptr) return counters_.rx_dropped_no_mbuf.add(), nullptr;
    copied->ol_flags = packet.ol_flags;
    if (!chains_ && rte_pktmbuf_tailroom(copied) < packet.pkt_len) {
        counters_.rx_dropped_too_long.add();
        return rte_pktmbuf_free(copied), nullptr;
    }
    auto* tail = copied;
    bool whole = true;
    offload::for_each_piece(packet, 0, packet.pkt_len,
                            [&](wire::Bytes piece) { whole = whole && pmd::append(*copied, tail, piece, &packets_); });
    if (whole) return copied;
    counters_.rx_dropped_no_mbuf.add();
    return rte_pktmbuf_free(copied), nullptr;
}

ReceiveEnd::SubnetSenders::NeighbourKey ReceiveEnd::subnet_key(const ipoib::Origin& origin) noexcept {
    return {forward::InterfaceId{std::to_underlying(origin.lid)}, wire::Ipv4Address{std::to_underlying(origin.qpn)}};
}

ReceiveEnd::RoceSenders::NeighbourKey ReceiveEnd::roce_key(const ipoib::Origin& origin) noexcept {
    wire::Ipv6Address address;
    std::memcpy(address.bytes.data(), &origin.qpn, sizeof origin.qpn);
    std::memcpy(address.bytes.data() + sizeof origin.qpn, origin.mac.bytes.data(), origin.mac.bytes.size());
    return {{}, address};
}

const MacAddress* ReceiveEnd::find_sender(const ipoib::Origin& origin) noexcept {
    if (origin.lid != wire::Lid{}) [[likely]]
        return subnet_senders_.lookup(subnet_key(origin));
    return roce_senders_.lookup(roce_key(origin));
}

void ReceiveEnd::set_sender(const ipoib::Origin& origin, std::optional<MacAddress> mac) {
    const auto change = [&](auto& senders, const auto& key) {
        if (mac) {
            senders.set(key, *mac);
        } else {
            senders.remove(key);
        }
    };
    if (origin.lid != wire::Lid{})
        change(subnet_senders_, subnet_key(origin));
    else
        change(roce_senders_, roce_key(origin));
}

void ReceiveEnd::deliver(rte_mbuf* frame) noexcept {
    frame->port = port_;
    if (deliveries_.push({&frame, 1}) == 1) return;
    delivery_counters_.rx_dropped_program_busy.add();
    rte_pktmbuf_free(frame);
}

void ReceiveEnd::counters(const CounterVisitor& visit) const {
    link_.counters(visit);
    counters_.each(visit);
    delivery_counters_.each(visit);
}

}  // namespace verbline::net_ipoib
