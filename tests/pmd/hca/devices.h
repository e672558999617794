// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Two adapters on one fabric, with a device of ours at each, and what tests do with them.

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pmd/hca/hca.h"
#include "tests/pmd/hca/fake_adapters.h"
#include "tests/support/counter.h"
#include "tests/support/packet.h"

namespace verbline::test {

inline constexpr wire::QKey link_qkey{0x0b1b};
inline constexpr pmd::Identity link_identity{.pkey = wire::PKey{0xffff}, .qkey = link_qkey};

/// ff12:401b:ffff::GROUP
inline wire::Gid group_gid(std::uint8_t group) {
    wire::Gid gid = wire::Gid::of(0xff12'401b'ffff'0000, wire::Guid{group});
    return gid;
}

struct HcaDevices : ::testing::Test {
    HcaDevices() : left(adapters.add("left0", 1)), right(adapters.add("right0", 2)) {}
    ~HcaDevices() override {
        a.reset();
        b.reset();
        EXPECT_EQ(adapters.objects(), 0u) << "objects of the library's are left";
    }

    Result<std::unique_ptr<pmd::Hca>> open(pmd::HcaOptions options) {
        options.library = FakeAdapters::library();
        return pmd::Hca::create(options, packet_pool());
    }
    /// Up, with its identity.
    std::unique_ptr<pmd::Hca> started(pmd::HcaOptions options) {
        auto device = open(std::move(options));
        if (!device) throw std::runtime_error(device.error().what);
        EXPECT_TRUE((*device)->up());
        EXPECT_FALSE((*device)->set_identity(link_identity));
        return std::move(*device);
    }
    void start_both() {
        a = started({.device = "left0", .clock = [] { return now; }});
        b = started({.device = "right0", .clock = [] { return now; }});
    }

    /// Towards the queue pair of a device, or a group.
    static wire::AddressHandle to(const wire::Gid& gid) { return {.global = true, .dgid = gid}; }
    static bool send(pmd::Hca& from, const wire::AddressHandle& address, wire::Qpn number, Packet packet,
                     std::uint16_t queue = 0, wire::QKey qkey = link_qkey) {
        const pmd::Datagram datagram{packet.release(), &address, number, qkey};
        if (from.send(queue, {&datagram, 1}) == 1) return true;
        rte_pktmbuf_free(datagram.payload);
        return false;
    }
    static bool send(pmd::Hca& from, const pmd::Hca& to_device, const ByteVector& payload, std::size_t segment = 2304) {
        const auto end = *to_device.datagram_end();
        return send(from, to(end.gid), end.qpn, make_packet(payload, segment));
    }
    static Packet receive(pmd::Hca& device) {
        rte_mbuf* packet = nullptr;
        device.rx_burst(0, {&packet, 1});
        return Packet(packet);
    }
    static bool crosses(pmd::Hca& from, pmd::Hca& to_device, const ByteVector& payload = pattern(100)) {
        if (!send(from, to_device, payload)) return false;
        const auto packet = receive(to_device);
        return packet != nullptr && bytes_of(packet) == payload;
    }

    static inline Time now = 0;
    FakeAdapters adapters;
    FakeDevice &left, &right;
    std::unique_ptr<pmd::Hca> a, b;
};

}  // namespace verbline::test
