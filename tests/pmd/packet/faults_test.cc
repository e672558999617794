// SPDX-License-Identifier: BSD-3-Clause
// A packet socket on one end of a veth pair, another at the other, while each of their calls fails once.
#include "tests/support/faults.h"

#include <array>
#include <memory>

#include <gtest/gtest.h>

#include "datapath/wire/ethernet.h"
#include "pmd/packet/packet.h"
#include "tests/support/faulty_pool.h"
#include "tests/support/namespace.h"
#include "tests/support/packet.h"

namespace verbline::pmd {
namespace {

using test::Outcome, test::WithoutFaults;

test::Packet frame() {
    auto bytes = test::pattern(100);
    wire::Ethernet{{{std::byte{2}}}, {{std::byte{2}, {}, {}, {}, {}, std::byte{1}}}, wire::ether_type::roce_v1}.emit(
        std::span(bytes).first<14>());
    return test::make_packet(bytes);
}

Outcome carry(NetDevice& from, NetDevice& to) {
    rte_mbuf* packet;
    {
        const WithoutFaults making;
        packet = frame().release();
    }
    for (unsigned round = 0; round < 10; ++round) {
        if (from.tx_burst(0, std::span(&packet, 1)) == 1) break;
        EXPECT_LT(round, 9u) << "is never taken";
    }
    std::array<rte_mbuf*, 8> burst;
    for (unsigned poll = 0; poll < 100; ++poll) rte_pktmbuf_free_bulk(burst.data(), to.rx_burst(0, burst));
    return {};
}

TEST(PacketFaults, ASocketIsOpenedWhollyOrNotAtAllAndDropsByName) {
    SKIP_UNLESS_ROOT();
    const test::Namespace space;
    space.run("ip link add v0 address 02:00:00:00:00:00 type veth peer name v1 address 02:00:00:00:00:01");
    space.run("ip link set v0 up");
    space.run("ip link set v1 up");
    space.enter([] {
        const auto tally = test::expect_survives_faults("packet socket", []() -> Outcome {
            std::array<std::unique_ptr<AfPacket>, 2> ends;
            for (std::size_t i = 0; i < 2; ++i) {
                auto opened = AfPacket::create({.interface = i == 0 ? "v0" : "v1"}, test::faulty_pool());
                if (!opened) return opened.error();
                ends[i] = std::move(*opened);
                if (auto up = ends[i]->up(); !up) return up.error();
            }
            std::ignore = ends[0]->attach_multicast({.mac = {{std::byte{3}}}});
            std::ignore = ends[0]->detach_multicast({.mac = {{std::byte{3}}}});
            std::ignore = ends[0]->set_identity({.mac = {{std::byte{2}, std::byte{7}}}});
            std::ignore = ends[0]->link_up();
            if (auto failed = carry(*ends[1], *ends[0])) return failed;
            ends[0]->down();
            return {};
        });
        EXPECT_GT(tally.errors, 10u);
    });
}

}  // namespace
}  // namespace verbline::pmd
