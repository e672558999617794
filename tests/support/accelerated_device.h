// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A port of hardware made for IPoIB, of whose operations each can be missing.
///
///     send, checksums, segmentation, chains ──> AcceleratedDevice ──> frames of the soft fabric ──> frames
///     set_identity, attach_multicast ─────────> its filters ─────────<── arrive(frame)
///
/// With `send` it carries datagrams: it builds and checks headers and CRCs, as a host channel adapter does. Without, it
/// carries whatever frames it is given. It does nothing that it was not asked for by the operations it has.

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "datapath/link/arrival.h"
#include "datapath/link/mbuf.h"
#include "datapath/transport/ud.h"
#include "datapath/wire/ethernet.h"
#include "tests/support/offloading_device.h"

namespace verbline::test {

enum class DeviceOperation : std::uint8_t {
    set_identity,
    attach_multicast,
    send,
    checksums,
    segmentation,
    tunnels,  ///< segmentation inside them
    chains,
};

inline constexpr std::array device_operations = {DeviceOperation::set_identity, DeviceOperation::attach_multicast,
                                                 DeviceOperation::send,         DeviceOperation::checksums,
                                                 DeviceOperation::segmentation, DeviceOperation::tunnels,
                                                 DeviceOperation::chains};

using DeviceOperations = std::set<DeviceOperation>;

class AcceleratedDevice : public OffloadingDevice {
public:
    using Attributes = transport::UdQueuePair::Attributes;

    /// `port`: what the subnet manager told the hardware, and its queue pair.
    AcceleratedDevice(DeviceOperations has, const Attributes& port)
        : OffloadingDevice(has.contains(DeviceOperation::send) ? pmd::Carries::datagram : pmd::Carries::ethernet,
                           offloads(has), cuts(has) ? 65535 : 0),
          has_(std::move(has)),
          queue_pair_(port) {}

    std::error_code set_identity(const pmd::Identity& who) override {
        if (!has_.contains(DeviceOperation::set_identity)) return unsupported();
        return OffloadingDevice::set_identity(who);
    }
    std::error_code attach_multicast(const pmd::MulticastAddress& group) override {
        if (!has_.contains(DeviceOperation::attach_multicast)) return unsupported();
        queue_pair_.attach(group);
        return OffloadingDevice::attach_multicast(group);
    }
    std::error_code detach_multicast(const pmd::MulticastAddress& group) override {
        if (!has_.contains(DeviceOperation::attach_multicast)) return unsupported();
        queue_pair_.detach(group);
        return OffloadingDevice::detach_multicast(group);
    }

    std::uint16_t send(std::uint16_t queue, std::span<const pmd::Datagram> burst) noexcept override {
        for (const auto& datagram : burst) {
            auto before = std::exchange(frames, {});
            OffloadingDevice::send(queue, {&datagram, 1});
            for (auto& payload : frames) before.push_back(frame_of(payload, datagram));
            frames = std::move(before);
        }
        return static_cast<std::uint16_t>(burst.size());
    }

    /// A frame comes from the fabric.
    void arrive(const ByteVector& frame) {
        if (capabilities().carries == pmd::Carries::datagram) {
            if (const auto payload = open(frame)) return receive(*payload);
        } else if (passes(wire::Ethernet::parse(frame)->destination)) {
            return receive(frame);
        }
        ++filtered;
    }

    unsigned filtered = 0;  ///< frames that were not for this port

private:
    static bool cuts(const DeviceOperations& has) {
        return has.contains(DeviceOperation::segmentation) || has.contains(DeviceOperation::tunnels);
    }
    static std::uint64_t offloads(const DeviceOperations& has) {
        std::uint64_t bits = 0;
        if (has.contains(DeviceOperation::checksums))
            bits |= RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM |
                    RTE_ETH_TX_OFFLOAD_OUTER_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_OUTER_UDP_CKSUM;
        if (has.contains(DeviceOperation::segmentation)) bits |= RTE_ETH_TX_OFFLOAD_TCP_TSO;
        if (has.contains(DeviceOperation::tunnels)) {
            bits |= RTE_ETH_TX_OFFLOAD_VXLAN_TNL_TSO | RTE_ETH_TX_OFFLOAD_GENEVE_TNL_TSO |
                    RTE_ETH_TX_OFFLOAD_GRE_TNL_TSO | RTE_ETH_TX_OFFLOAD_IPIP_TNL_TSO;
        }
        if (has.contains(DeviceOperation::chains)) bits |= RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
        return bits;
    }

    ByteVector frame_of(const ByteVector& payload, const pmd::Datagram& datagram) {
        const auto& from = queue_pair_.attributes();
        const auto to = transport::ud_destination(from, *datagram.address, {}, datagram.destination, datagram.qkey);
        const auto packet = make_packet(payload);
        if (!link::prepend(*packet, to.header) || !transport::finish_datagram(*packet, to, queue_pair_.next_psn())) {
            not_offered.emplace_back("a datagram larger than a frame");
        }
        return bytes_of(packet);
    }

    /// The payload of a datagram for the queue pair. A group's need no attachment where there is none.
    std::optional<ByteVector> open(const ByteVector& frame) {
        const auto mbuf = make_packet(frame);
        transport::Packet packet{.mbuf = mbuf.get()};
        if (link::open_headers(packet.frame(), link::Carrier::soft_ib, packet.arrival) ||
            link::verify(packet.frame(), packet.arrival) || transport::parse(packet)) {
            return std::nullopt;
        }
        const auto reason = queue_pair_.discard(packet);
        const bool all_groups = !has_.contains(DeviceOperation::attach_multicast);
        if (reason && !(all_groups && *reason == transport::UdDiscard::rx_dropped_multicast)) return std::nullopt;
        return ByteVector(packet.payload.begin(), packet.payload.end());
    }

    /// Whether the filters of a device that carries frames let frames for this address pass.
    bool passes(const wire::MacAddress& mac) const {
        if (mac.multicast()) {
            return !has_.contains(DeviceOperation::attach_multicast) ||
                   std::ranges::any_of(groups, [&](const auto& group) { return group.mac == mac; });
        }
        return !has_.contains(DeviceOperation::set_identity) || identity.mac == mac;
    }

    DeviceOperations has_;
    transport::UdQueuePair queue_pair_;
};

}  // namespace verbline::test
