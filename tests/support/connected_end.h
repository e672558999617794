// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// One end of IPoIB in connected mode: an interface and its connections on a device.

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "datapath/ipoib/connections.h"
#include "datapath/ipoib/interface.h"
#include "datapath/rdma/queue_pair.h"
#include "tests/support/cable.h"
#include "tests/support/counter.h"
#include "tests/support/packet.h"

namespace verbline::test {

constexpr ipoib::Identity connected_identity(std::uint16_t lid) {
    return {.port = {.carrier = link::Carrier::soft_ib,
                     .gid = wire::Gid::of(wire::default_subnet_prefix, wire::Guid{0x100000U + lid}),
                     .lid = wire::Lid{lid}},
            .qpn = wire::Qpn{0x48},
            .qkey = wire::QKey{0xb1b}};
}

struct ConnectedEnd {
    ConnectedEnd(const ipoib::Identity& who, std::unique_ptr<pmd::NetDevice> end)
        : identity(who), device(std::move(end)) {
        auto made = ipoib::Connections::create({.name = "rc" + std::to_string(static_cast<unsigned>(who.port.lid)),
                                                .device = device.get(),
                                                .pool = packet_pool()});
        EXPECT_TRUE(made) << made.error().what;
        connections = std::move(*made);
        link.emplace(*device, 0, *packet_pool(), connections.get());
        link->set_port(who);
    }

    /// What the control thread does before it connects queue pairs.
    void take_address() {
        auto& rdma = connections->device();
        rdma.set_lid(identity.port.lid);
        rdma.change_gids([&](link::GidTable& gids) {
            gids.add_interface(1, {});
            gids.set_addresses(1, std::array{identity.port.gid});
        });
    }

    link::Destination to(const ConnectedEnd& other, ipoib::ConnectionNumber connection,
                         wire::EtherType type = wire::ether_type::ipv4) const {
        auto destination = ipoib::destination(identity, {.dlid = other.identity.port.lid}, other.identity.qpn, type);
        destination.connection = connection;
        return destination;
    }
    void send(const ByteVector& packet, const link::Destination& where, std::size_t piece = 2304) {
        link->transmit(make_packet(packet, piece).release(), where);
    }
    /// One poll of the shard's.
    void poll(Time now) {
        link::Reception received;
        link->receive(received);
        for (unsigned i = 0; i < received.ip_count; ++i) arrived.emplace_back(received.ip[i]);
        for (unsigned i = 0; i < received.ipv6_count; ++i) arrived.emplace_back(received.ipv6[i]);
        for (unsigned i = 0; i < received.punt_count; ++i) arrived.emplace_back(received.punts[i].packet);
        link->flush();
        connections->poll(now);
    }
    std::uint64_t counter(std::string_view name) const { return test::counter(*connections, name); }

    ipoib::Identity identity;
    std::unique_ptr<pmd::NetDevice> device;
    std::unique_ptr<ipoib::Connections> connections;
    std::optional<ipoib::IpoibInterface> link;
    std::vector<Packet> arrived;
};

}  // namespace verbline::test
