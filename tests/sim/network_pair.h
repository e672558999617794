// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Two hosts on a simulated network, and numbered frames from one to the other.

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <rte_mbuf.h>

#include <gtest/gtest.h>

#include "datapath/wire/ethernet.h"
#include "tests/sim/network.h"
#include "tests/support/packet.h"

namespace verbline::sim {

constexpr wire::MacAddress mac(unsigned host) {
    return {{std::byte{2}, {}, {}, {}, std::byte(host >> 8), std::byte(host)}};
}

/// A frame with a number in it, where neither addresses nor type are.
inline test::ByteVector numbered(wire::MacAddress to, wire::MacAddress from, std::uint32_t number,
                                 std::size_t size = 100) {
    auto bytes = test::pattern(size, number);
    wire::Ethernet{to, from, wire::EtherType{0x88b6}}.emit(std::span(bytes).first<wire::Ethernet::size>());
    wire::store32(bytes, wire::Ethernet::size, number);
    return bytes;
}

struct Received {
    Time at;
    test::ByteVector bytes;
    std::uint32_t number() const { return wire::load32(bytes, wire::Ethernet::size); }
    bool operator==(const Received&) const = default;
};

/// Host 0 and host 1, known to the switch.
struct Pair {
    explicit Pair(PortSetup a_setup = {}, PortSetup b_setup = {}, std::uint64_t seed = 1)
        : network(Seed{seed}, *test::packet_pool()), a(add(std::move(a_setup), 0)), b(add(std::move(b_setup), 1)) {}

    SimulatedPort& add(PortSetup setup, unsigned host) {
        setup.mac = mac(host);
        return network.add_port(std::move(setup));
    }
    bool send(const test::ByteVector& bytes) {
        auto* packet = test::make_packet(bytes).release();
        if (a.tx_burst(0, std::span(&packet, 1)) == 1) return true;
        rte_pktmbuf_free(packet);
        return false;
    }
    void send(std::uint32_t number, std::size_t size = 100) {
        ASSERT_TRUE(send(numbered(mac(1), mac(0), number, size)));
    }
    void collect(SimulatedPort& port, std::vector<Received>& into) {
        rte_mbuf* packets[8];
        while (const auto n = port.rx_burst(0, packets)) {
            for (auto* const packet : std::span(packets).first(n)) {
                into.push_back({network.now(), test::bytes_of(packet)});
                rte_pktmbuf_free(packet);
            }
        }
    }
    /// Everything that B gets until nothing is under way.
    std::vector<Received> run() {
        std::vector<Received> received;
        while (const auto next = network.next_event()) {
            network.advance(*next);
            collect(b, received);
        }
        return received;
    }

    Network network;
    SimulatedPort &a, &b;
};

}  // namespace verbline::sim
