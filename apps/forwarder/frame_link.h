// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// An Ethernet link whose frames keep their headers: the header is stripped on receive and restored on transmit.
///
/// link::Interface does what every link needs: offloads that packets request and the device lacks (checksums,
/// segmentation: pmd/README.md) are done in software, packets that the device does not take are staged, and drops are
/// counted by reason. A link defines how its header is stripped and prepended.

#include <array>
#include <cstring>

#include <rte_mbuf.h>

#include "datapath/link/interface.h"
#include "datapath/link/mbuf.h"
#include "datapath/link/transmit.h"
#include "datapath/wire/ethernet.h"

namespace verbline::forwarder {

#define VERBLINE_FRAME_LINK_COUNTERS(X) X(rx_dropped_malformed, "frames shorter than their Ethernet header")

struct FrameLinkCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_FRAME_LINK_COUNTERS)
};

class FrameLink final : public link::Interface {
public:
    using Interface::Interface;

    void receive(link::Reception& out) noexcept override {
        out.ip_count = out.punt_count = 0;
        std::array<rte_mbuf*, pmd::max_burst> frames;
        const auto received = poll_device(frames, out);
        for (auto* frame : received) {
            // With an offload request, l2_len covers the header with its VLAN tags. Without one, tags are payload.
            const bool request = (frame->ol_flags & (RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IPV6)) != 0;
            if (!request) frame->l2_len = wire::Ethernet::size;
            if (frame->l2_len > link::Header::capacity || rte_pktmbuf_adj(frame, frame->l2_len) == nullptr) {
                frame_counters_.rx_dropped_malformed.add();
                rte_pktmbuf_free(frame);
                continue;
            }
            counters_.rx_packets.add();
            counters_.rx_bytes.add(frame->pkt_len);
            out.ip[out.ip_count++] = frame;
        }
    }

    /// The destination of `packet`: its stripped header, which still lies in the headroom.
    static link::Destination destination_of(const rte_mbuf& packet) {
        link::Destination to;
        const auto room = to.header.append(packet.l2_len);
        std::memcpy(room.data(), rte_pktmbuf_mtod(&packet, const std::byte*) - room.size(), room.size());
        return to;
    }

    void transmit(pmd::Burst packets, link::Destinations to) noexcept override {
        transmit_each(packets, to, [this](rte_mbuf& packet, const link::Destination& destination) -> Counter* {
            if (!link::prepend(packet, destination.header)) return &counters_.tx_dropped_no_room;
            link::set_link_header(packet, destination.header.size);
            return nullptr;
        });
    }
    using Interface::transmit;

    void counters(const CounterVisitor& visit) const override {
        Interface::counters(visit);
        frame_counters_.each(visit);
    }

private:
    FrameLinkCounters frame_counters_;
};

}  // namespace verbline::forwarder
