// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// IP on an Ethernet link (RFC 894): strips the header on receive, prepends it on transmit.
///
/// receive ──> poll ──> frames ──> sort ──> IP packets, punts
///
/// A caller that forwards frames as they are does so between the two, counts them, and has them sent by transmit_frames
/// of any Ethernet interface.

#include <array>
#include <cstring>
#include <optional>

#include "datapath/link/interface.h"
#include "datapath/offload/packet.h"
#include "datapath/wire/ethernet.h"

namespace verbline::link {

#define VERBLINE_ETHERNET_COUNTERS(X)                                    \
    X(rx_dropped_malformed, "frames shorter than their Ethernet header") \
    X(rx_dropped_not_ours, "unicast frames for another MAC address")

struct EthernetCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_ETHERNET_COUNTERS)
};

/// Builds a destination on an Ethernet link, for packets of EtherType `type`.
Destination ethernet_destination(wire::MacAddress from, wire::MacAddress to, wire::EtherType type);
/// Makes any destination on an Ethernet link that of a group (RFC 1112, 6.4; RFC 2464, 7).
void set_ethernet_group(Destination& destination, wire::Ipv4Address group);
void set_ethernet_group(Destination& destination, const wire::Ipv6Address& group);

class EthernetInterface final : public Interface {
public:
    using Interface::Interface;

    /// Sets the interface's own address; while there is none, nothing is received or sent. Shard thread.
    void set_mac(std::optional<wire::MacAddress> mac) { mac_ = mac; }

    /// Whether it has an address.
    bool is_up() const noexcept { return mac_.has_value(); }

    void receive(Reception& out) noexcept override {
        std::array<rte_mbuf*, pmd::max_burst> frames;
        sort(poll(frames, out), out);
    }
    void transmit(pmd::Burst packets, Destinations to) noexcept override;
    using Interface::transmit;
    void counters(const CounterVisitor& visit) const override;

    // The two halves of `receive`, and what is done with frames in between.

    /// Receives one burst, with the headers on. Sets `out.frames` and `out.idle`.
    pmd::Burst poll(std::array<rte_mbuf*, pmd::max_burst>& frames, Reception& out) noexcept {
        return poll_device(frames, out);
    }
    /// Takes ownership of frames of a poll: strips their headers, and sets all else of `out`.
    void sort(pmd::Burst frames, Reception& out) noexcept;
    /// The EtherType; none of a frame shorter than its header.
    static std::optional<wire::EtherType> type_of(const rte_mbuf& frame) noexcept {
        if (frame.data_len < wire::Ethernet::size) return std::nullopt;
        return offload::checked_header<wire::Ethernet>(frame).get<&wire::Ethernet::type>();
    }
    /// The version of the IP packet in a frame that `sort` takes for this interface's; 0 of others.
    unsigned ip_version_of(const rte_mbuf& frame) const noexcept;
    /// Whether the frame, which has a whole header, is to this interface's own address.
    bool is_own(const rte_mbuf& frame) const noexcept {
        return mac_ &&
               std::memcmp(rte_pktmbuf_mtod(&frame, const std::byte*), mac_->bytes.data(), mac_->bytes.size()) == 0;
    }
    /// Counts frames of a poll that were not sorted, with as many bytes behind their headers.
    void count_received(std::size_t frames, std::uint64_t bytes) noexcept {
        counters_.rx_packets.add(frames);
        counters_.rx_bytes.add(bytes);
    }
    /// Takes ownership of frames, at most pmd::max_burst, in one buffer each, that want no offload and have the headers
    /// with which they leave, and so many bytes behind these. The interface must be up.
    void transmit_frames(pmd::Burst frames, std::uint64_t bytes) noexcept {
        counters_.tx_bytes.add(bytes);
        emit(frames, {});
    }

private:
    bool is_for_us(const rte_mbuf& frame) const noexcept;
    void receive_other(rte_mbuf* frame, Reception& out) noexcept;
    void discard(rte_mbuf* frame, Counter& why) noexcept;

    std::optional<wire::MacAddress> mac_;
    EthernetCounters ethernet_counters_;
};

}  // namespace verbline::link
